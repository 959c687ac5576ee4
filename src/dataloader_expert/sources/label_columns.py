"""Columns that each say whether a sample has one label, as ``toxic``, ``threat`` and ``insult`` of a comment: several of 0 and 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dataloader_expert.sources.base import Column, Field

PAIRS: tuple[set[Any], ...] = ({0, 1}, {-1, 1})
"""What such columns hold; as booleans or in floats as well."""
UNCERTAIN: set[Any] = {-1, 0, 1}
"""The same where -1 says that it is unknown, as of CheXpert."""
FEWEST = 3
"""So many columns with both values are labels; of two, each may be anything."""


def flags(columns: Iterable[Mapping[str, Column]], uncertain: bool = False) -> list[str]:
    """The columns, in order, that hold the same two numbers and no others, with those that hold one of these alone; none where there are
    too few. ``columns``: of each block; ``uncertain``: they may also hold -1 beside 0 and 1, and no value where nothing is said."""
    found: dict[str, set[Any]] = {}
    others: set[str] = set()
    for block in columns:
        for name, column in block.items():
            values = _held(column, uncertain)
            if values is None:
                others.add(name)
            else:
                found.setdefault(name, set()).update(values)
    for pair in (*PAIRS, *([UNCERTAIN] if uncertain else [])):
        able = [name for name, values in found.items() if name not in others and values and values <= pair]
        if sum(found[name] == pair for name in able) >= FEWEST:
            return able
    return []


def _held(column: Column, absent: bool) -> set[Any] | None:
    """The numbers of a column, at most four of them; None of other values, and where some are missing unless they may be ``absent``."""
    import numpy as np

    values = column.values
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "biuf":
        return None
    if column.nulls is not None and column.nulls.any():
        if not absent or column.nulls.all():
            return None
        values = values[~column.nulls]
    return {float(v) for v in np.unique(values)[:4]}


def ends_in(flagged: Sequence[str], fields: Sequence[Field], aside: set[str]) -> bool:
    """Whether a table ends in these columns, and what stands before them makes no sample without them: texts, pictures, and ``aside``,
    such as keys."""
    before = fields[: len(fields) - len(flagged)]
    rich = ("text", "image", "audio", "bytes")
    return (
        [f.name for f in fields[len(before) :]] == list(flagged)
        and any(f.kind in rich for f in before)
        and all(f.kind in rich or f.name in aside for f in before)
    )
