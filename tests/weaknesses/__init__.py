"""Weaknesses of the systems that went before, each with the test that guards against it and a way to plant it.

``python -m tests.weaknesses`` shows that every guard passes, and that it fails once its weakness is planted.
A module of this folder that has ``WEAKNESSES`` is a table; nothing is registered a second time.
"""
