"""Arrays that say which rows of others a split has: a truth value for each row, as ``train_mask``, or row numbers, as ``test_idx``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.arrays import MASK, NEARLY_ALL, Part
from dataloader_expert.sources.base import Column
from dataloader_expert.sources.layout import without_split


def problems_of(part: Part, arrays: Mapping[str, Any], file: str) -> list[Unreadable] | None:
    """Rows that two splits name, and numbers of rows that are not there; None if the arrays say something else."""
    import numpy as np

    problems: list[Unreadable] = []
    held: dict[str, Any] = {}
    for split, key in part.members:
        rows = _rows(np.asarray(arrays[key]), key, part.samples)
        if rows is None:
            return None
        there = rows[(rows >= 0) & (rows < part.samples)]
        if len(there) < NEARLY_ALL * len(rows):
            return None  # ids, such as those of users
        if beyond := len(rows) - len(there):
            said = f"{beyond:,} row numbers lie" if beyond > 1 else "1 row number lies"
            text = f"{said} outside 0 … {part.samples - 1:,}"
            problems.append(Unreadable("out-of-range-ids", text, file=file, field=key))
        held[split] = np.union1d(held.get(split, there), there)
    for (one, rows), (other, others) in itertools.combinations(held.items(), 2):
        if len(both := np.intersect1d(rows, others)):
            said = f"{len(both):,} rows are" if len(both) > 1 else "1 row is"
            text = f"{said} in {one} and in {other}, the first is row {both[0]:,}"
            problems.append(Unreadable("splits-overlap", text, file=file))
    return problems


def column_of(part: Part, arrays: Mapping[str, Any], first: int) -> Column:
    """The split of each sample of a part that begins at this row; nothing of those that no array names."""
    import numpy as np

    found = np.full(part.samples, None, object)
    for split, key in part.members:
        rows = _rows(np.asarray(arrays[key]), key, first + part.samples)
        here = rows[(rows >= first) & (rows < first + part.samples)] - first if rows is not None else []
        found[here] = split
    nulls = np.array([split is None for split in found], bool)
    return Column(list(found), nulls if nulls.any() else None)


def _rows(values: Any, key: str, samples: int) -> Any:
    """The row numbers, of a mask those below ``samples``; None of a mask with other values than 0 and 1."""
    import numpy as np

    if values.dtype == bool:
        return np.flatnonzero(values[:samples])
    if without_split(key).lower() != MASK:
        return values.astype(np.int64)
    return np.flatnonzero(values[:samples]) if np.isin(values, (0, 1)).all() else None
