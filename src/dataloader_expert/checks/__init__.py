"""Checks, each of one property of the samples (see ``base``)."""
