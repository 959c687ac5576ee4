"""Tool calls as data: cases are JSON files, run through a real client against a real server. See README.md here."""
