"""Records, such as lines of JSON, as columns."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import Any

from dataloader_expert.sources.arrays import stacked
from dataloader_expert.sources.base import Column, Field, few_texts

NONE = type(None)
FEW, ALIKE = 1_000, 64
"""The fewest values of which some tell whether they are few texts that recur, and how many of these some hold at most."""
INT64, UINT64 = 1 << 63, 1 << 64


def columns_of_records(
    records: list[dict[str, Any]], known: list[str], fields: Iterable[Field] = ()
) -> dict[str, Column]:
    """Columns of a run of records; a key that a record lacks is null, and so is NaN among texts, for so pandas writes one that is missing."""
    names = dict.fromkeys(itertools.chain(known, itertools.chain.from_iterable(records)))
    texts = {f.name for f in fields if f.dtype == "str"}
    return {name: _column(_values(records, name), name in texts) for name in names}


def _values(records: list[dict[str, Any]], name: str) -> list[Any]:
    try:
        return [*map(operator.itemgetter(name), records)]
    except KeyError:
        return [r.get(name) for r in records]


def _column(values: list[Any], texts: bool) -> Column:
    """The column of these values; ``texts``: whether those of other records are."""
    import numpy as np

    kinds = set(map(type, values))
    if float in kinds and (texts or str in kinds):
        values = [None if type(v) is float and v != v else v for v in values]
        kinds = set(map(type, values))
    nulls = np.array([v is None for v in values]) if NONE in kinds else None
    kinds -= {NONE}
    if kinds == {bool}:
        return Column(np.array([*map(bool, values)]), nulls)
    if kinds == {int}:
        numbers = values if nulls is None else [v or 0 for v in values]
        low, high = min(numbers), max(numbers)
        if low > -INT64 and high < INT64:
            return Column(np.array(numbers, np.int64), nulls)
        if low >= 0 and high < UINT64:  # hashes, which floats do not tell apart
            return Column(np.array(numbers, np.uint64), nulls)
    if kinds and kinds <= {int, float}:
        return Column(np.array([0.0 if v is None else float(v) for v in values]), nulls)
    if kinds == {str}:
        return Column(values, nulls, coded=_coded(values))
    return Column(as_arrays(values) if list in kinds or np.ndarray in kinds else values, nulls)


def _coded(values: list[str | None]) -> tuple[Any, list[str | None]] | None:
    """Which of a few texts each value is, and the texts; None where there are many."""
    import numpy as np

    if len(values) < FEW or len(set(values[:FEW])) > ALIKE:
        return None
    places = {text: k for k, text in enumerate(dict.fromkeys(values))}
    if not few_texts(len(places), len(values)):
        return None
    return np.fromiter(map(places.__getitem__, values), np.int64, len(values)), [*places]


def as_arrays(values: list[Any], floats: Any = None) -> Any:
    """Lists of numbers as arrays, stacked if their shapes agree, with NaN for those that are missing; other values stay as they are.

    ``floats``: the type of lists of numbers with fractions.
    """
    import numpy as np

    out: list[Any] = []
    for value in values:
        if isinstance(value, list):
            try:
                made = np.asarray(value)
                if (
                    made.ndim == 1
                    and made.dtype == object
                    and {*map(type, value)} - {int, float} == {type(None)} < {*map(type, value)}
                ):
                    made = np.array([np.nan if x is None else x for x in value], float)
                made = made.astype(floats) if floats is not None and made.dtype.kind == "f" else made
            except ValueError:
                made = None
            out.append(value if made is None or made.dtype.kind not in "biuf" else made)
        else:
            out.append(value)
    if any(isinstance(value, list) for value in out):  # an empty list among lists of texts holds no numbers
        out = [[] if isinstance(value, np.ndarray) and not value.size else value for value in out]
    return stacked(out)
