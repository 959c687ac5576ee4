"""Which field holds the tokens of a sample, as ids or as words."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.sources.arrays import TOKENS as NAMED

PADDED = 2
"""The fewest tokens at the end that are padding, and no word that ends a text."""


def ids_of(context: Context) -> str | None:
    """The field of token ids, [length], by its name; None without one."""
    rows = [f.name for f in context.fields if len(f.shape) == 1 and "int" in f.dtype]
    return next((n for n in rows if n.lower() in NAMED or n.lower().endswith("input_ids")), None)


WORDS = ("tokens", "words", "token", "word", "forms", "form", "text")
"""Names of the field with the words of a sentence, the likeliest first."""


def words_of(context: Context) -> str:
    """The field whose values are lists of words, by its name or else its place; empty without one."""
    lists = [f.name for f in context.fields if f.kind == "other" and f.dtype == "list"]
    return next((name for name in (*WORDS, *lists) if name in lists), "")


def without_tail(row: Any) -> Any:
    """A sequence without its padding: the run of one token at its end."""
    import numpy as np

    other = np.flatnonzero(row != row[-1])
    last = int(other[-1]) + 1 if len(other) else 0
    return row[:last] if len(row) - last >= PADDED else row
