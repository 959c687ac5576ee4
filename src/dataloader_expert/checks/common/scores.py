"""Numbers by their ranks, how they go together, and how they are rounded."""

from __future__ import annotations

import math
from typing import Any

FEWEST = 10
"""The fewest rows with both numbers of which a correlation says anything."""
DECIMALS, ROUNDED, MOSTLY = 6, 0.51, 0.95
"""The most decimals of a rounded number, by how much of the last one it may differ, and the share of numbers that show it."""
RATINGS = {"rating", "ratings", "rate", "stars", "star", "score", "grade", "overall"}
"""Words of what users give things: more or less of it."""


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


def by_group(x: Any, y: Any, which: Any) -> list[float]:
    """The correlation in each group; 0 where one of both does not vary."""
    import numpy as np

    both = np.isfinite(x) & np.isfinite(y)
    x, y, of = x[both], y[both], which[both]
    sizes = np.maximum(np.bincount(of, minlength=int(which.max()) + 1), 1)

    def mean(values: Any) -> Any:
        return np.bincount(of, values, minlength=len(sizes)) / sizes

    a, b = mean(x), mean(y)
    spread = np.sqrt(np.maximum((mean(x * x) - a * a) * (mean(y * y) - b * b), 0.0))
    found: list[float] = np.where(spread > 1e-9, (mean(x * y) - a * b) / np.maximum(spread, 1e-9), 0.0).tolist()
    return found


def worth(x: Any, y: Any) -> float:
    """How many rows drawn by themselves would tell as much of the correlation (Bartlett's formula, by the neighbours alone)."""
    alike = correlation(x[1:], x[:-1]) * correlation(y[1:], y[:-1])
    return len(x) * (1 - alike) / (1 + alike) if 0 < alike < 1 else float(len(x))


def nearness(x: Any) -> float:
    """By how much a number may differ from what it is, as it is rounded."""
    import numpy as np

    known = x[np.isfinite(x)][:1000]
    if not len(known):
        return 0.0
    size = float(np.abs(known).max())
    for decimals in range(DECIMALS + 1):
        scaled = known * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) <= 1e-9 * np.maximum(1.0, np.abs(scaled))).mean() >= MOSTLY:
            return float(ROUNDED * 10.0**-decimals + 1e-9 * size)
    return 1e-6 * size


def apart(one: Any, other: Any) -> float:
    """The largest distance of the distributions of two samples (Kolmogorov and Smirnov's)."""
    import numpy as np

    every = np.concatenate([one, other])
    shares = [np.searchsorted(np.sort(part), every, "right") / len(part) for part in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


def chance_apart(n: int, others: int, chance: float) -> float:
    """The distance that samples of one distribution have by so small a chance (Dvoretzky, Kiefer and Wolfowitz's bound)."""
    return float((-math.log(chance / 2) / 2 * (n + others) / (n * others)) ** 0.5)
