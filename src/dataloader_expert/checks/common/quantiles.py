"""Quantiles of weighted values, and buckets of values: the sketch that stores large numbers of values.

A bucket holds the values that agree in the upper 16 bits of their float32: within 0.4 % of its middle.
"""

from __future__ import annotations

from typing import Any

BUCKETS = 1 << 16


def buckets(values: Any, weights: Any = None) -> Any:
    """Counts of values by their upper 16 float32 bits, shape [65536], int64."""
    import numpy as np

    return np.bincount(bucket_keys(values), weights, minlength=BUCKETS).astype(np.int64, copy=False)


def bucket_keys(values: Any) -> Any:
    """The bucket of each value, uint16."""
    import numpy as np

    with np.errstate(over="ignore"):
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def bucket_value(keys: Any) -> Any:
    """The middle of each bucket, float64."""
    import numpy as np

    middle = (keys.astype(np.uint32) << 16) | np.where(keys & 0x7FFF, 0x8000, 0).astype(np.uint32)
    return middle.view(np.float32).astype(np.float64)


def quantile(levels: Any, weights: Any, at: list[float]) -> Any:
    """Quantiles of weighted values by linear interpolation between order statistics, as ``numpy.quantile``."""
    import numpy as np

    ends = np.cumsum(weights)
    rank = np.asarray(at) * (ends[-1] - 1)
    lower = np.floor(rank).astype(np.int64)
    part = rank - lower
    a = levels[np.searchsorted(ends, lower, side="right")]
    b = levels[np.searchsorted(ends, np.minimum(lower + 1, ends[-1] - 1), side="right")]
    return a + (b - a) * part
