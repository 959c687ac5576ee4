"""Setting up clients: their configuration files, changed in place and undone exactly."""
