"""Rows in the order of time: gaps, stuck sensors, shifts, clocks."""
