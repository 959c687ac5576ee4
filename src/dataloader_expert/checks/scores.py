"""Numbers by their ranks, and how they go together."""

from __future__ import annotations

import math
from typing import Any

FEWEST = 10
"""The fewest rows with both numbers of which a correlation says anything."""


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
