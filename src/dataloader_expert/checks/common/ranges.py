"""Two numbers that each have a range of their own, and rows in which each lies in the other's."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.common.core import core_of
from dataloader_expert.sources.roles import words

LEAST, VALUES, OUTSIDE = 30, 10, 0.005
"""The fewest rows that tell ranges, the fewest distinct values of each number, and the share of rows that is left out at either end."""
FEWEST, APART, THERE, ROOM = 3, 0.05, 0.9, 0.05
"""The fewest rows in which two numbers are swapped; the largest share of the other rows in which one lies where the other does, and the
least of these rows; and by how much of itself a range is widened."""
NEAR = 0.1
"""By how much of the gap between two ranges each is widened: what lies so near to one of them is far from the other, as the latitudes of
another region are from all longitudes."""

SIDES = {"width", "height", "length", "depth", "w", "h", "l", "rows", "cols", "columns", "row", "col", "x", "y"}
"""What is swapped where a thing is turned."""


SOME = 1_000
"""Numbers that are looked at first, since most fields have many values among them."""


def many_values(numbers: Any, least: int) -> bool:
    """Whether there are so many distinct numbers."""
    import numpy as np

    return any(len(np.unique(part)) >= least for part in (numbers[:SOME], numbers))


def turned(one: str, other: str) -> bool:
    """Whether two names are those of the sides of one thing, which are swapped where it is turned."""
    a, b = words(one), words(other)
    return {*a} != {*b} and {*a} ^ {*b} <= SIDES


def swapped(x: Any, y: Any, odd: Any, others: Any) -> bool:
    """Whether two numbers lie apart in most rows, and each where the other one does in the odd ones. Numbers of few values, such as
    votes for and against, have no ranges of their own."""
    import numpy as np

    if odd.sum() < FEWEST or others.sum() < LEAST or not all(many_values(v[others], VALUES) for v in (x, y)):
        return False
    # other foreign values, such as places at (0, 0), are in the range of neither
    bulks = [v[(v >= low) & (v <= high)] for v in (x[others], y[others]) for low, high in (core_of(v),)]
    (x0, x1), (y0, y1) = (np.quantile(bulk, [OUTSIDE, 1 - OUTSIDE]) for bulk in bulks)
    gap = NEAR * max(0.0, float(max(x0, y0) - min(x1, y1)))

    def share(values: Any, low: float, high: float) -> float:
        room = max(ROOM * (high - low), gap)
        return float(((values >= low - room) & (values <= high + room)).mean())

    apart = share(x[others], y0, y1) <= APART and share(y[others], x0, x1) <= APART
    return apart and share(x[odd], y0, y1) >= THERE and share(y[odd], x0, x1) >= THERE
