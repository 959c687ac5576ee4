"""Experiments: each compares one change with the present state and measures its gain."""
