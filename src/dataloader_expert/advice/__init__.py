"""One setting each: facts in, Advice out. Pure: no file, no clock, no torch."""
