"""Which field holds the token ids of a sample."""

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


def without_tail(row: Any) -> Any:
    """A sequence without its padding: the run of one token at its end."""
    import numpy as np

    other = np.flatnonzero(row != row[-1])
    last = int(other[-1]) + 1 if len(other) else 0
    return row[:last] if len(row) - last >= PADDED else row
