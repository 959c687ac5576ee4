"""Labels of which a sample has several: columns that each say whether it has one, as ``toxic``, ``threat`` and ``insult`` of a comment; and
cells that list numbers of classes, as ``2,19``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from dataloader_expert.errors import listed
from dataloader_expert.sources.base import Column, Field, LabelColumns

PAIRS: tuple[set[Any], ...] = ({0, 1}, {-1, 1})
"""What such columns hold; as booleans or in floats as well."""
UNCERTAIN: set[Any] = {-1, 0, 1}
"""The same where -1 says that it is unknown, as of CheXpert."""
_LISTED = re.compile(r"\d{1,9}(?:,\d{1,9})*")
FEWEST = 3
"""So many columns with both values are labels; of two, each may be anything."""
RISING = 6
"""So many lists of numbers of one digit, each in rising order, are no fractions with a comma, which half of the time would fall."""


def flags(columns: Iterable[Mapping[str, Column]], uncertain: bool = False) -> LabelColumns | None:
    """The columns, in order, that hold the same two numbers and no others, with those that hold one of these alone; None where there are
    too few. ``columns``: of each block of training, in others some labels may be unknown; ``uncertain``: they may also hold -1 beside 0 and
    1, which is unknown."""
    found: dict[str, set[Any]] = {}
    others: set[str] = set()
    for block in columns:
        for name, column in block.items():
            values = _held(column)
            if values is None:
                others.add(name)
            else:
                found.setdefault(name, set()).update(values)
    doubtful = uncertain and any(values == UNCERTAIN for name, values in found.items() if name not in others)
    for pair in [UNCERTAIN] if doubtful else PAIRS:
        able = [name for name, values in found.items() if name not in others and values and values <= pair]
        both = (pair, PAIRS[0]) if doubtful else (pair,)  # some labels may be known of all samples
        if sum(found[name] in both for name in able) >= FEWEST:
            return LabelColumns(tuple(able), 0 if 0 in pair else -1)
    return None


def said_of(found: LabelColumns) -> str:
    """How labels are known that these columns tell."""
    return f"{len(found.names)} columns say which labels a sample has ({listed(found.names, 3)}); pass label= for one of them"


def _held(column: Column) -> set[Any] | None:
    """The known numbers of a column, at most four of them; None of other values."""
    import numpy as np

    values = column.values
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "biuf":
        return None
    known = values if column.nulls is None else values[~column.nulls]
    return {float(v) for v in np.unique(known)[:4] if v == v}


def say_all(names: Sequence[str], fields: Sequence[Field], aside: set[str], columns: Mapping[str, Column]) -> bool:
    """Whether these columns stand side by side, and the others of a table make no sample without them: texts, pictures, strings that
    hardly recur, and ``aside``, such as keys. ``columns``: some of their values."""
    at = [i for i, f in enumerate(fields) if f.name in names]
    others = [f for f in fields if f.name not in names and f.name not in aside]
    rich = [f for f in others if f.kind in ("text", "image", "audio", "bytes") or _is_content(f, columns)]
    return bool(at) and at == list(range(at[0], at[0] + len(names))) and bool(rich) and rich == others


def _is_content(field: Field, columns: Mapping[str, Column]) -> bool:
    """Whether it holds strings that hardly recur, such as formulas and sequences."""
    values = columns[field.name].values if field.dtype == "str" and field.name in columns else []
    return len(values) >= FEWEST and 2 * len({*values}) > len(values)


def are_lists(texts: Collection[str], alone: Collection[str]) -> bool:
    """Whether texts such as ``2,19`` list numbers that are values ``alone`` as well, and are no fractions: some have several digits after the
    comma, or all rise."""
    parts = [text.split(",") for text in texts]
    several = any(len(part) > 1 for of in parts for part in of[1:])
    rising = len(parts) >= RISING and all(
        int(a) < int(b) for of in parts if all(map(str.isdecimal, of)) for a, b in itertools.pairwise(of)
    )
    return len(parts) >= FEWEST and (several or rising) and all({*of} <= {*alone} for of in parts)


def numbers_listed(cells: Iterable[Any]) -> list[list[int] | None] | None:
    """The numbers of classes that each cell lists; None where cells hold anything else."""
    plain = [cell.strip() if isinstance(cell, str) and cell.strip() else None for cell in cells]
    if not all(cell is None or _LISTED.fullmatch(cell) for cell in plain):
        return None
    return [None if cell is None else [int(part) for part in cell.split(",")] for cell in plain]
