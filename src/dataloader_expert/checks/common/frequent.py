"""How many distinct values a field has, and the most frequent of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

COMMON = 5
"""So many of the most frequent values are told."""


def most_common(levels: Any, weights: Any) -> dict[str, Any]:
    """How many distinct values there are, and the most frequent of them, the smaller first where they are equally frequent."""
    import numpy as np

    k = min(COMMON, len(levels))
    least = np.partition(weights, len(weights) - k)[-k]  # in a column of distinct values a sort would take a second
    more, equal = np.flatnonzero(weights > least), np.flatnonzero(weights == least)[:k]
    first = [*more[np.argsort(-weights[more], kind="stable")], *equal][:k]
    common = [{"value": float(levels[i]), "count": int(weights[i])} for i in first]
    return {"distinct": len(levels), "common": common}


def common_texts(counts: Counter[str]) -> dict[str, Any]:
    """How many distinct texts there are, and the most frequent of them, in the order of the alphabet where they are equally frequent."""
    first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:COMMON]
    return {"distinct": len(counts), "common": [{"value": text, "count": n} for text, n in first]}


def as_stored(values: dict[str, Any], dtype: str, whole: bool) -> dict[str, Any]:
    """The values as they are stored: whole numbers without a fraction, floats of 32 bits with as many digits as they have."""
    import numpy as np

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            return value
        if dtype == "bool":
            return bool(value)
        return int(value) if whole else float(str(np.float32(value))) if dtype == "float32" else value

    return {**values, "common": [{**one, "value": plain(one["value"])} for one in values["common"]]}
