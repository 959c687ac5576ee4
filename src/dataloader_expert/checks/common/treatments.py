"""What to do with a field with outliers or skewed values, and what that changes: the same statistics before and after.

Outliers are more than three times the interquartile range beyond the quartiles. Three treatments are tried on the values
themselves: one repeated outlier as missing (a placeholder such as -999), outliers clipped (winsorised), or log(1 + x). A
customary placeholder that lies apart from all other values is treated as missing however often it occurs, since quartiles
that it sets itself show no outlier.
The weight of the tails is the absolute skewness plus the excess kurtosis if positive: 0 for a normal distribution.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from dataloader_expert.checks.common.core import core
from dataloader_expert.checks.common.quantiles import quantile
from dataloader_expert.facts import Json

SKEWED = 1.0
"""Absolute skewness from which a treatment is tried without outliers (Bulmer, "Principles of Statistics", 1979)."""
HELPS = 0.5
"""A treatment is proposed if it leaves at most this share of the tails' weight."""
FEW = 0.01
"""The share of values that may be errors: clipping more changes the distribution rather than its errors."""
SHAPED = 0.005
"""The share of far values from which they are of the distribution's shape: a logarithm of all for fewer changes all for a few."""
REPEATED = 3
"""The fewest times that a placeholder occurs."""
OTHERS = 3
"""The fewest other distinct values."""
FURTHER = 10
"""Times the range of the others that positive nines lie apart."""
MINUS_ONE, COUNTS, OFTEN, SMALL = -1.0, 10, 2, 2.0
"""What stands for none among counts; the fewest distinct counts and rows with it; how many times as frequent it is, at least, as each count up
to ``SMALL``."""
REASONS = 3
"""How far below the nines other reasons are numbered."""
MOST_DIGITS = 16
"""Digits of whole numbers from which on not each is a float."""
LOOKED_AT = 32
"""Distinct values at either end among which placeholders are looked for."""
AS_MISSING = "treat as missing"
ENDS = {*(float(s * 2**b - (s > 0)) for b in (15, 31, 63) for s in (-1, 1)), 65535.0, 4294967295.0}
"""The least and the largest values of integer types."""


@dataclass(frozen=True)
class Effect:
    """Population statistics; ``far``: number of values beyond the bounds found before."""

    mean: float
    std: float
    skewness: float | None
    kurtosis: float | None
    far: int

    @property
    def tails(self) -> float:
        return abs(self.skewness or 0.0) + max(self.kurtosis or 0.0, 0.0)


def treatment(levels: Any, weights: Any, outliers: dict[str, Json] | None) -> dict[str, Json] | None:
    """The proposed treatment of distinct values ``levels`` that occur ``weights`` times; None if none helps or is needed.

    Returns:
        ``{do, arguments, changed, before, after}``.
    """
    import numpy as np

    marks = placeholders(levels, weights)
    if marks:
        kept = ~np.isin(levels, marks)
        after = effect(levels[kept], weights[kept], None)
        before = effect(levels, weights, None)
        if before is not None and after is not None:
            changed = int(weights[~kept].sum())
            named: dict[str, Json] = {"value" if not i else f"value_{i + 1}": mark for i, mark in enumerate(marks)}
            return {"do": AS_MISSING, "arguments": named, "changed": changed, **_told(before, after)}
    low, high = (outliers or {}).get("low"), (outliers or {}).get("high")
    if not isinstance(low, float) or not isinstance(high, float):
        return None
    bounds = (low, high)
    before = effect(levels, weights, bounds)
    if before is None or (not before.far and abs(before.skewness or 0.0) < SKEWED):
        return None
    tried: list[tuple[str, dict[str, Json], int, Effect | None]] = []
    for side in (levels < low, levels > high):
        if side.sum() == 1 and weights[side][0] >= REPEATED:
            kept = ~side
            left = effect(levels[kept], weights[kept], bounds)
            tried.append((AS_MISSING, {"value": float(levels[side][0])}, int(weights[side][0]), left))
    if before.far <= FEW * weights.sum() and before.far:
        clipped = effect(np.clip(levels, low, high), weights, bounds)
        tried.append(("clip", {"low": low, "high": high}, before.far, clipped))
    if levels[0] >= 0 and not 0 < before.far < SHAPED * weights.sum():  # a few say nothing of all
        with np.errstate(over="ignore"):
            logs = effect(np.log1p(levels), weights, None)
        if logs is not None and logs.far <= before.far:  # else it makes outliers of the small values
            tried.append(("log1p", {}, int(weights.sum()), logs))
    for do, arguments, changed, after in tried:  # the one that changes least comes first
        if after is not None and after.tails <= HELPS * before.tails:
            return {"do": do, "arguments": arguments, "changed": changed, **_told(before, after)}
    return None


def placeholders(levels: Any, weights: Any) -> list[float]:
    """-1 among counts; else the values that are customary for missing ones, repeated, and at least as far from the bulk of the others as these are from one
    another: ``FURTHER`` times as far if positive, as prices end in nines. Several of them, and other foreign values, hide none."""
    import numpy as np

    if is_none_of_counts(levels, weights):
        return [MINUS_ONE]
    ends = {*range(min(LOOKED_AT, len(levels))), *range(max(0, len(levels) - LOOKED_AT), len(levels))}
    known = {float(levels[k]) for k in ends if customary(float(levels[k]))}
    marks = [k for k in sorted(ends) if float(levels[k]) in known or goes_with_nines(float(levels[k]), known)]
    if not known:
        return []
    others, weigh = np.delete(levels, marks), np.delete(weights, marks)
    if len(others) < OTHERS:
        return []
    low, high = core(others, weigh)
    if np.count_nonzero((others >= low) & (others <= high)) < OTHERS:  # nearly all are one value
        low, high = float(others[0]), float(others[-1])
    found = []
    for k in marks:
        mark = float(levels[k])
        apart = (FURTHER if mark > 0 and mark not in ENDS else 1) * (high - low)
        clear = float(np.abs(others - mark).min()) >= high - low  # of a long tail there would be some near it
        if weights[k] >= REPEATED and clear and max(low - mark, mark - high) >= apart:
            found.append(mark)
    return found


def is_none_of_counts(levels: Any, weights: Any) -> bool:
    """Whether -1 is the only negative number among many whole ones, and no end of their distribution: counts near zero are rarer."""
    import numpy as np

    if len(levels) <= COUNTS or levels[0] != MINUS_ONE or levels[1] < 0 or weights[0] < COUNTS:
        return False
    near = weights[1:][levels[1:] <= SMALL]
    return bool(weights[0] >= OFTEN * near.max(initial=1) and (np.mod(levels, 1) == 0).all())


def marks_of(treated: dict[str, Any] | None) -> list[float]:
    """The values that a proposed treatment takes for missing ones."""
    given = treated["arguments"] if treated is not None and treated["do"] == AS_MISSING else {}
    return [mark for name, mark in given.items() if name.startswith("value")]


def customary(value: float) -> bool:
    """Whether a number is one that stands for missing values: nines, or an end of an integer type."""
    digits = f"{abs(value):.0f}" if math.isfinite(value) else ""
    return value in ENDS or (value.is_integer() and len(digits) > 1 and set(digits) == {"9"})


def is_mark(value: float) -> bool:
    """Whether a number is customary for missing values and hardly measured: -999, but no 99, which may be a percentage."""
    return customary(value) and not 0 <= value < 100


def goes_with_nines(value: float, known: set[float]) -> bool:
    """Whether a number stands for another reason why a value is missing, beside the nines among those known: refused is 99, and 98, or 88, who
    does not know."""
    digits = f"{abs(value):.0f}" if math.isfinite(value) and value.is_integer() else ""
    nines = math.copysign(10.0 ** len(digits) - 1, value) if 1 < len(digits) < MOST_DIGITS else 0.0
    return nines in known and (abs(nines - value) <= REASONS or set(digits) in ({"7"}, {"8"}))


def effect(values: Any, weights: Any, bounds: tuple[float, float] | None) -> Effect | None:
    """Statistics of weighted values; None if nothing varies. Without bounds, those from the values' own quartiles are used."""
    import numpy as np

    n = float(weights.sum())
    if len(values) < 2:
        return None
    if bounds is None:
        q1, q3 = quantile(values, weights, [0.25, 0.75]).tolist()
        bounds = q1 - 3 * (q3 - q1), q3 + 3 * (q3 - q1)
    mean = float(np.dot(values, weights)) / n
    off = values - mean
    m2 = float(np.dot(off**2, weights)) / n
    if not 0 < m2 * m2 < math.inf:
        return None
    m3, m4 = (float(np.dot(off**p, weights)) / n for p in (3, 4))
    far = int(weights[(values < bounds[0]) | (values > bounds[1])].sum())
    return Effect(mean, math.sqrt(m2), m3 / m2**1.5, m4 / m2**2 - 3, far)


def _told(before: Effect, after: Effect) -> dict[str, Json]:
    return {"before": asdict(before), "after": asdict(after)}
