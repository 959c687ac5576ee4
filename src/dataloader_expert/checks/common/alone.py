"""A value that several samples share and that lies alone outside the range of all others: a 0 where nothing was measured, or -9.999.

Numbers that are measured have neighbours at either end, however far their tails reach. One that comes again and again with none near it was
written for something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.common.quantiles import quantile
from dataloader_expert.checks.common.treatments import FURTHER, customary

APART, FEWEST, OTHERS = 3, 5, 12
"""How many times as wide as between its nearest others the gap beside it is; in how many samples it is, and how many other values there
are at least."""
INSIDE = 0.01
"""The share of the others that is left out at either end of their range."""


@dataclass(frozen=True)
class Alone:
    value: float
    count: int
    nearest: float
    """The one of the other values that is nearest."""
    far: bool
    """Whether it lies as far from the others as these do from one another."""
    other_sign: bool
    """Whether it is negative, and none of the others is."""


def alone(levels: Any, weights: Any) -> Alone | None:
    """The least or the largest of sorted ``levels`` that occur ``weights`` times, if it lies alone; None if neither does."""
    return _least(levels, weights) or _largest(levels, weights)


def _least(levels: Any, weights: Any) -> Alone | None:
    return _first(levels, weights, 1) if len(levels) > OTHERS else None


def _largest(levels: Any, weights: Any) -> Alone | None:
    """Large numbers may be rare things of one kind, such as an expensive product: only one more frequent than those below it counts, or nines
    far beyond all others, since prices end in nines too."""
    if len(levels) <= OTHERS:
        return None
    found = _first(-levels[::-1], weights[::-1], -1)
    if found is None or weights[-1] >= APART * weights[-1 - OTHERS : -1].max():
        return found
    beyond = found.value - found.nearest >= FURTHER * (found.nearest - float(levels[0]))
    return found if beyond and customary(found.value) else None


def _first(levels: Any, weights: Any, sign: int) -> Alone | None:
    """The first of ascending levels, if it lies alone; values are ``sign`` times these."""
    import numpy as np

    n = int(weights[0])
    if n < FEWEST or 2 * n > weights.sum():
        return None
    others, weigh = levels[1:], weights[1:]
    low, q1, q3, high = quantile(others, weigh, [INSIDE, 0.25, 0.75, 1 - INSIDE]).tolist()
    gap, steps = float(others[0] - levels[0]), np.diff(others[:OTHERS])
    other_sign = sign > 0 and bool(levels[0] < 0 <= others[0])
    if not q1 < q3 or gap < APART * float(steps.max()) or not (gap >= q3 - q1 or other_sign):
        return None
    return Alone(sign * float(levels[0]), n, sign * float(others[0]), gap >= high - low, other_sign)
