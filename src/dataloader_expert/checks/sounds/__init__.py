"""Audio recordings."""
