"""Records, such as lines of JSON, as columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.sources.arrays import stacked
from dataloader_expert.sources.base import Column, Field


def columns_of_records(
    records: list[dict[str, Any]], known: list[str], fields: Iterable[Field] = ()
) -> dict[str, Column]:
    """Columns of a run of records; a key that a record lacks is null, and so is NaN among texts, for so pandas writes one that is missing."""
    import numpy as np

    names = list(dict.fromkeys([*known, *(k for r in records for k in r)]))
    texts = {f.name for f in fields if f.dtype == "str"}
    columns = {}
    for name in names:
        values = [r.get(name) for r in records]
        if name in texts or any(type(v) is str for v in values):
            values = [None if type(v) is float and v != v else v for v in values]
        absent = np.array([v is None for v in values])
        nulls = absent if absent.any() else None
        present = [v for v in values if v is not None]
        if present and all(type(v) is bool for v in present):
            columns[name] = Column(np.array([bool(v) for v in values]), nulls)
        elif present and all(type(v) is int and abs(v) < 1 << 63 for v in present):
            columns[name] = Column(np.array([v or 0 for v in values], np.int64), nulls)
        elif present and all(type(v) is int and 0 <= v < 1 << 64 for v in present):
            # hashes, which floats do not tell apart
            columns[name] = Column(np.array([v or 0 for v in values], np.uint64), nulls)
        elif present and all(type(v) in (int, float) for v in present):
            columns[name] = Column(np.array([0.0 if v is None else float(v) for v in values]), nulls)
        else:
            columns[name] = Column(as_arrays(values), nulls)
    return columns


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
