"""Setting up clients: their configuration files are changed in place and restored exactly."""
