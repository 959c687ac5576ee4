"""Whether counts follow probabilities, by Pearson's statistic; no library of statistics is needed for that."""

from __future__ import annotations

from typing import Any

import numpy as np


def surprise(counts: Any, shares: Any) -> float:
    """Standard deviations by which Pearson's statistic is above what ``shares`` let expect.

    By Wilson and Hilferty (1931) the cube root of a chi-square number over its degrees of freedom is nearly normal.
    Cells that expect fewer than ten are counted as one, since the statistic is of no use on them.

    Args:
        counts: how often each came, [cells].
        shares: probabilities, [cells]; what is impossible must not have come.
    """
    counts, shares = np.asarray(counts, float), np.asarray(shares, float)
    assert not counts[shares == 0].any(), "what has no probability came"
    expected = shares / shares.sum() * counts.sum()
    rare = expected < 10
    seen = np.append(counts[~rare], counts[rare].sum())
    due = np.append(expected[~rare], expected[rare].sum())
    seen, due = seen[due > 0], due[due > 0]
    free = len(due) - 1
    if free < 1:
        return 0.0
    statistic = float(((seen - due) ** 2 / due).sum())
    center, width = 1 - 2 / (9 * free), float(np.sqrt(2 / (9 * free)))
    return (float(np.cbrt(statistic / free)) - center) / width
