"""Where samples come from: one reader per format behind one small interface (see ``base``)."""
