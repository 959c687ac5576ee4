"""Collators: samples in, a batch out."""
