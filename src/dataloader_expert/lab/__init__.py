"""The door: everything that touches files, torch or the user's code runs behind it, in a child process."""
