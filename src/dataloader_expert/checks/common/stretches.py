"""Stretches of rows in which something holds more than elsewhere."""

from __future__ import annotations

from typing import Any


def highest(gain: Any) -> tuple[int, int]:
    """The run of the largest sum: its first row, and the one behind its last."""
    import numpy as np

    sums = np.concatenate([[0], np.cumsum(gain)])
    end = int(np.argmax(sums - np.minimum.accumulate(sums)))
    return int(np.argmin(sums[: end + 1])), end


def decay(gain: Any) -> float:
    """The largest t up to 1 with which the mean of exp(t gain) is at most 1; 0 if there is none. Chance makes a run of so large a sum S among
    n rows of such gains with a probability of at most n exp(-t S)."""
    import numpy as np

    low, high = 0.0, 1.0
    if float(gain.mean()) >= 0:
        return 0.0
    with np.errstate(over="ignore"):
        if float(np.exp(gain).mean()) <= 1:
            return 1.0
        for _ in range(20):
            t = (low + high) / 2
            low, high = (t, high) if float(np.exp(t * gain).mean()) <= 1 else (low, t)
    return low
