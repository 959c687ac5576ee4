"""Faults of a loader, detected before and while workers run."""
