"""What people see at a terminal: colours, tables, plots, progress."""
