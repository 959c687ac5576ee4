"""Files and records: what cannot be read, keys, names, references between files and tables."""
