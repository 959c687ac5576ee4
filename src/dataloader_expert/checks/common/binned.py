"""Counts of weighted values in bins of equal width."""

from __future__ import annotations

import math
from typing import Any

from dataloader_expert.facts import Json

BINS = 20
LARGEST = 1 << 52
"""From here on floats do not hold the halves between whole numbers."""
FAR = 4.0
"""If all values span this many times the range of the middle 98 %, the bins cover that range, and the rest is counted separately."""


def binned(levels: Any, weights: Any, middle: tuple[float, float] | None = None, bins: int = BINS) -> Json:
    """Bins over sorted ``levels``, each counted ``weights`` times.

    Args:
        middle: the range of the middle 98 % of the values, if known.

    Returns:
        ``edges`` (one more than ``counts``), ``counts``, and how many values are ``below`` and ``above`` the edges;
        None without values, or if the range exceeds floats.
    """
    import numpy as np

    levels, weights = np.asarray(levels, np.float64), np.asarray(weights)
    if not len(levels):
        return None
    low, high = float(levels[0]), float(levels[-1])
    if middle is not None and middle[1] > middle[0] and high - low > FAR * (middle[1] - middle[0]):
        low, high = middle
    if not math.isfinite(high - low):
        return None  # a bin of such a range has no width
    exact = max(abs(low), abs(high)) < LARGEST
    whole = exact and len(levels) <= 1 << 16 and bool((levels == np.rint(levels)).all())
    if whole and high - low < bins:  # a bin for each integer
        edges = np.arange(np.floor(low) - 0.5, np.floor(high) + 1)
    elif whole:  # each bin covers the same number of integers, or some would stand out
        step = int(np.ceil((high - low + 1) / bins))
        edges = np.floor(low) - 0.5 + step * np.arange(int(np.ceil((high - low + 1) / step)) + 1)
        edges[-1] = np.floor(high) + 0.5  # the last one is narrower if they do not divide the range
    else:
        edges = np.linspace(low, high, bins + 1)
    width = float(edges[1] - edges[0])
    digits = 4 - math.floor(math.log10(width)) if width > 0 else 16  # five digits of a bin's width, at any magnitude
    upto = np.concatenate([[0], np.cumsum(weights)])  # levels are sorted: a bin is a difference of two sums
    at = np.searchsorted(levels, edges)
    at[-1] = np.searchsorted(levels, edges[-1], side="right")
    return {
        "edges": [round(float(e), digits) for e in edges],
        "counts": [int(n) for n in np.diff(upto[at])],
        "below": int(upto[at[0]]),
        "above": int(upto[-1] - upto[at[-1]]),
    }
