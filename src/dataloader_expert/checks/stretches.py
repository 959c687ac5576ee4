"""Stretches of rows in which something holds more than elsewhere."""

from __future__ import annotations

from typing import Any


def highest(gain: Any) -> tuple[int, int]:
    """The run of the largest sum: its first row, and the one behind its last."""
    import numpy as np

    sums = np.concatenate([[0], np.cumsum(gain)])
    end = int(np.argmax(sums - np.minimum.accumulate(sums)))
    return int(np.argmin(sums[: end + 1])), end
