"""Texts, conversations, tokens and their tags."""
