"""Tiny data sets whose truth is known because it was put in, faults to plant in them, and an independent oracle."""
