"""Numbers by their ranks, how they go together, and how they are rounded."""

from __future__ import annotations

import math
from typing import Any

FEWEST = 10
"""The fewest rows with both numbers of which a correlation says anything."""
DECIMALS, ROUNDED, MOSTLY = 6, 0.51, 0.95
"""The most decimals of a rounded number, by how much of the last one it may differ, and the share of numbers that show it."""


def normal_scores(numbers: Any) -> Any:
    """Numbers as what normal ones of the same rank would be, nearly; NaN where there is none. Equal ones have the mean of their ranks."""
    import numpy as np

    made = np.full(len(numbers), np.nan)
    there = np.isfinite(numbers)
    if there.any():
        _, whose, counts = np.unique(numbers[there], return_inverse=True, return_counts=True)
        share = ((np.cumsum(counts) - counts / 2) / counts.sum())[whose]
        made[there] = (np.power(share, 0.135) - np.power(1 - share, 0.135)) / 0.1975  # Tukey's lambda
    return made


def correlation(x: Any, y: Any) -> float:
    """Of scores; 0 where too few are there or one does not vary."""
    import numpy as np

    there = np.isfinite(x) & np.isfinite(y)
    if there.sum() < FEWEST:
        return 0.0
    x, y = x[there] - x[there].mean(), y[there] - y[there].mean()
    size = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / size if size > 0 else 0.0


def nearness(x: Any) -> float:
    """By how much a number may differ from what it is, as it is rounded."""
    import numpy as np

    known = x[np.isfinite(x)][:1000]
    size = float(np.abs(known).max()) if len(known) else 0.0
    for decimals in range(DECIMALS + 1):
        scaled = known * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(1.0, np.abs(scaled))).mean() >= MOSTLY:
            return float(ROUNDED * 10.0**-decimals + 1e-9 * size)
    return 1e-6 * size
