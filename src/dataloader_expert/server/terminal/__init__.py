"""Output at a terminal: colours, tables, plots, progress."""
