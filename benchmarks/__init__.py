"""Benchmarks: one command per claim; see README.md."""
