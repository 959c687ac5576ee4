"""Rows of the two tables of judgements: a module for each room of checks, and one for tokens, whose rows are many."""
