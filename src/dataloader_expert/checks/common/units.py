"""Numbers in another unit: groups and stretches of rows whose numbers lie apart from the others, and among them once converted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import mul
from typing import Any

from dataloader_expert.checks.common.recorded import few

LEAST, GROUPS, MOST_GROUPS = 30, 3, 50
"""The fewest rows of a group, and the fewest and most groups of a field."""
INSIDE = 0.02
"""The share of rows at either end that is left out where two groups are compared."""
CLOSE = 0.25
"""Interquartile ranges by which quantiles may differ after the conversion, for about the same distribution."""
ONE_KIND = 0.9
"""The share of a stretch that is of one kind, and of the other rows that are not, if the stretch is that kind."""
AGREE = 0.1
"""How far the medians of the other groups lie from theirs at most, as a share of the gap, if they agree."""
SIGNS = 0.2
"""The least share of numbers below zero, and above, of a measure that swings around it."""
OVERLAP, FROM_FAR = 1.0, 100
"""Interquartile ranges by which they may differ if before they differed by so many times as many: a factor of a thousand leaves no doubt."""
APART, CLEARLY = 10.0, 3.0
"""Or by so many before, if by any other conversion they would differ so many times as much."""
DISTINCT = 10
"""The fewest distinct numbers on both sides, where no conversion is known: flags and prices step."""
DEGREES, AS_WIDE = ("°F to °C", "°C to °F", "K to °C", "°C to K"), 1.25
"""Conversions that are more than a factor, and how many times as wide a group may reach as others, or these as it, once converted."""
BEYOND = 3.0
"""How many times the width of the other rows' numbers a stretch lies away from them, if it does not matter that these drift, nor
whether a conversion is known."""
LARGEST = 1e150
"""Numbers beyond have no square."""
AS_LARGE, CLEAR = 0.5, 0.25
"""Interquartile ranges by which quantiles of sizes may differ where only signs do; and how far from zero, as a share of their median, nearly all
numbers lie whose sign is more than that of a deviation."""
RUNS, FEWEST = 24, 6
"""The most runs of rows, and the fewest, in which a change from one row on is looked for."""
TAIL = 0.1
"""The share of the other rows' numbers at either end in which no run of them has its middle: they do not drift."""
PURE = 0.95
"""The share of the rows of a stretch that lie on its side, and of the others that lie on theirs."""
UNITS = {"unit", "units", "currency", "scale", "metric", "measure"}
"""Words in the names of fields that say what a number counts: another scale is then meant."""
FACTORS: dict[str, float] = {
    "inches to centimetres": 2.54, "pounds to kilograms": 0.45359, "miles to kilometres": 1.60934, "feet to metres": 0.3048,
    "m/s to km/h": 3.6, "g to m/s²": 9.80665, "mmol/l to mg/dl (glucose)": 18.016, "minutes to seconds": 60.0,
    "hours to seconds": 3600.0, "square feet to square metres": 0.092903, "gallons to litres": 3.78541, "ounces to grams": 28.3495,
    "kcal to kJ": 4.184, "mmHg to kPa": 0.133322, "mg/dl to µmol/l (creatinine)": 88.42,
    "years to months": 12.0, "weeks to days": 7.0, "years to days": 365.25, "days to hours": 24.0, "nitrogen to nitrate": 4.4268,
    "phosphorus to phosphate": 3.0662, "psi to kPa": 6.89476, "inHg to hPa": 33.8639, "knots to m/s": 0.514444, "mph to m/s": 0.44704,
    "knots to km/h": 1.852, "acres to hectares": 0.404686, "degrees to radians": math.pi / 180, "mmol/l to mg/dl (cholesterol)": 38.67,
    "kWh to MJ": 3.6, "mmol/l Hb to g/dl": 1.6114,
}  # fmt: skip
BY_TEN = ("times 10", "divided by 10")
"""Conversions that are taken for one only where a name says that something is measured: millimetres and centimetres, g/l and g/dl."""


REACH = 0.15
"""By how much of the range of the others the quantiles of converted numbers may differ from theirs."""


def _conversions() -> dict[str, Callable[[Any], Any]]:
    """By what they do: functions of arrays of numbers."""
    found: dict[str, Callable[[Any], Any]] = {
        "°F to °C": lambda x: (x - 32) / 1.8,
        "°C to °F": lambda x: x * 1.8 + 32,
        "K to °C": lambda x: x - 273.15,
        "°C to K": lambda x: x + 273.15,
    }
    for name, factor in FACTORS.items():
        source, target = name.split(" to ", 1)
        found[name], found[f"{target} to {source}"] = partial(mul, factor), partial(mul, 1 / factor)
    for factor in (10, 100, 1000):  # deci or centi, percent, milli, kilo
        found[f"times {factor:,}"], found[f"divided by {factor:,}"] = partial(mul, factor), partial(mul, 1 / factor)
    return found


def anything(how: str) -> bool:
    """That any conversion may be meant, but those that a name must suggest."""
    return how not in BY_TEN


def odd_groups(
    numbers: Any, whose: Any, n: int, fits: Callable[[str], bool] = anything
) -> Iterator[tuple[int, str | None, float, float]]:
    """The groups whose numbers lie apart from all others and among them once converted, how (None: by no usual conversion, but they lie far
    from all), and the medians of both. ``fits``: whether a conversion is one of what the field measures."""
    import numpy as np

    sizes, placed = np.bincount(whose, minlength=n), _placed(numbers)
    large = [k for k in range(n) if sizes[k] >= LEAST]
    if len(large) < GROUPS:
        return
    reach = {k: np.quantile(placed[whose == k], [INSIDE, 0.5, 1 - INSIDE]) for k in large}
    beside = _minority({k: float(reach[k][1]) for k in large})
    for k in large:
        low, middle_of, high = reach[k]
        near = beside if k in beside else [k]
        apart = np.ones(n, bool)
        apart[near] = False
        rest = apart[whose]
        if not few(len(near), len(large)) or 2 * rest.sum() < len(numbers):
            continue
        lows, middles, highs = np.array([reach[j] for j in large if j not in near]).T
        if not bool(((high < lows) | (low > highs)).all()):
            continue
        others = float(np.median(placed[rest]))
        # each has its middle within the reach of all, or all are close together
        alike = lows.max() <= middles.min() and middles.max() <= highs.min()
        alike |= bool(np.abs(middles - np.median(middles)).max() <= AGREE * abs(middle_of - others))
        if not alike and (len(near) > 1 or abs(middle_of - others) < BEYOND * _width(placed[rest])):
            continue
        how = conversion(numbers[whose == k], numbers[rest], fits)
        if how is None and len(near) == 1:
            how = _degrees(reach[k], np.array([lows, middles, highs]), fits)
        far = abs(middle_of - others) >= BEYOND * _width(placed[rest]) > 0 and alike
        if how is not None or (
            far and min(len(np.unique(v)) for v in (numbers[whose == k], numbers[rest])) >= DISTINCT
        ):
            yield k, how, float(middle_of), others


def _degrees(own: Any, others: Any, fits: Callable[[str], bool]) -> str | None:
    """Which other degrees a group's numbers are in, where groups have levels of their own, of which its own is one once converted, and its
    reach is as wide as that of the others: by a factor alone, as of larger things, no level and reach agree.

    Args:
        own, others: the low, the middle and the high end of the group, [3], and of the others, [3, n].
    """
    import numpy as np

    width = float(np.median(others[2] - others[0]))
    for how in filter(fits, DEGREES):
        low, middle_of, high = _conversions()[how](own)
        among = others[1].min() <= middle_of <= others[1].max() and low >= others[0].min() and high <= others[2].max()
        if among and width > 0 and 1 / AS_WIDE <= (high - low) / width <= AS_WIDE:
            return how
    return None


def _minority(middles: dict[int, float]) -> list[int]:
    """The groups on that side of the widest gap between medians, of logarithms if these are positive, on which fewer are."""
    import numpy as np

    order = sorted(middles, key=lambda k: middles[k])
    at = np.array([middles[k] for k in order])
    cut = int(np.diff(np.log(at) if at[0] > 0 else at).argmax()) + 1
    return min(order[:cut], order[cut:], key=len)


def flipped_groups(numbers: Any, whose: Any, n: int) -> list[tuple[int, float, float, bool]]:
    """A few groups, of ``n``, in which numbers have the other sign, which are of one sign in all others; the medians of both, and whether all
    groups have numbers of the same size."""
    import numpy as np

    sizes = np.bincount(whose, minlength=n)
    large = np.flatnonzero(sizes >= LEAST)
    if len(large) < GROUPS:
        return []
    below = np.bincount(whose[numbers < 0], minlength=n)[large] / sizes[large]
    turned = below if np.median(below) <= 0.5 else 1 - below
    odd = large[turned > 0.5]
    if not few(len(odd), len(large)) or turned[turned <= 0.5].max() > INSIDE:
        return []
    rest, size = ~np.isin(whose, odd), np.abs(numbers)
    usual = size[rest & np.isin(whose, large)]
    if np.quantile(usual, TAIL) < CLEAR * np.median(usual):
        return []  # they go on to zero, and may go on below
    agree = all(_as_large(size[whose == k], usual) for k in large)
    return [(int(k), float(np.median(numbers[whose == k])), float(np.median(numbers[rest])), agree) for k in odd]


def _as_large(own: Any, usual: Any) -> bool:
    """Whether quantiles of sizes differ by little, of their spread or of what a sign makes of them."""
    import numpy as np

    a, b = (np.quantile(x, [0.1, 0.25, 0.5, 0.75, 0.9]) for x in (own, usual))
    return _distance(own, usual) <= AS_LARGE or float(np.abs(a - b).max()) <= AGREE * 2 * float(b[2])


def _distance(one: Any, two: Any) -> float:
    """The largest difference of five quantiles, in interquartile ranges of the narrower."""
    import numpy as np

    a, b = (np.quantile(x, [0.1, 0.25, 0.5, 0.75, 0.9]) for x in (one, two))
    spread = min(a[3] - a[1], b[3] - b[1])
    return float(np.abs(a - b).max() / spread) if spread > 0 else math.inf


@dataclass(frozen=True)
class Stretch:
    """Rows ``first`` to ``last`` whose numbers fit the others' once converted, and the medians of both (of sizes, if they have both signs)."""

    first: int
    last: int
    how: str | None
    """None: no usual conversion brings them there, but they lie far from all others."""
    own: float
    others: float


def odd_stretch(
    numbers: Any, usual: Callable[[], float] | None = None, fits: Callable[[str], bool] = anything
) -> Stretch | None:
    """The stretch of rows, in the order of which ``numbers`` are given, that is in another unit; None if there is none.

    ``usual``: gives the median of other rows' numbers, which tells which side is odd; else it is the smaller one.

    The other rows must agree among themselves from the first to the last: a trend has no unit, nor have rows sorted by a class.
    """
    import numpy as np

    n, placed = len(numbers), _placed(numbers)
    runs, moved = min(RUNS, n // LEAST), np.diff(numbers)
    if runs < FEWEST or (moved >= 0).all() or (moved <= 0).all():
        return None  # what only rises has no usual level
    begins = -(-np.arange(runs + 1) * n // runs)
    sizes = np.diff(begins)
    of_size = [placed[begins[:-1][sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]
    middles = np.sort(np.concatenate([np.median(parts, axis=1) for parts in of_size]))
    widest = int(np.diff(middles).argmax())
    low, high = middles[widest], middles[widest + 1]
    above = placed > (math.sqrt(low) * math.sqrt(high) if low > 0 else (low + high) / 2)
    runs_apart = {high_one: _run_apart(above == high_one) for high_one in (True, False)}
    if not any(runs_apart.values()):
        return None
    if usual is None:
        few = bool(above.sum() * 2 < n)
    else:
        level = usual()
        few = abs(level - high) > abs(level - low)
    run = runs_apart[few]
    if run is None:
        return None
    first, end = run
    inside = np.zeros(n, bool)
    inside[first:end] = True
    own, rest = numbers[inside], numbers[~inside]
    usual_width = _width(placed[~inside])
    gap = abs(float(np.median(placed[inside])) - float(np.median(placed[~inside])))
    pieces = np.array_split(placed[~inside], runs - runs * (end - first) // n)
    least, most = np.quantile(placed[~inside], [TAIL, 1 - TAIL])
    if gap < BEYOND * usual_width and not all(least <= np.median(piece) <= most for piece in pieces):
        return None
    how = conversion(own, rest, fits)
    several = min(len(np.unique(own)), len(np.unique(rest))) >= DISTINCT
    if how is None and not (several and usual_width > 0 and gap >= BEYOND * usual_width):
        return None
    return Stretch(first, end - 1, how, float(np.median(placed[inside])), float(np.median(placed[~inside])))


def _run_apart(odd: Any) -> tuple[int, int] | None:
    """The run that holds nearly all odd rows and hardly another one, its first row, and the one after its last; None if there is none."""
    import numpy as np

    first, end = _densest(odd)
    if not LEAST <= end - first <= len(odd) - LEAST * FEWEST // 2:
        return None
    of_all, within = int(np.count_nonzero(odd)), int(np.count_nonzero(odd[first:end]))
    sound = within >= PURE * (end - first) and of_all - within <= (1 - PURE) * (len(odd) - (end - first))
    return (first, end) if sound else None


def tells(kinds: Any, first: int, last: int) -> bool:
    """Whether the rows from ``first`` to ``last`` are those of one kind, or of some by which rows are sorted: these may have sizes of
    their own."""
    import numpy as np

    inside = np.zeros(len(kinds), bool)
    inside[first : last + 1] = True
    values, counts = np.unique(kinds[inside], return_counts=True)
    usual = kinds == values[counts.argmax()]
    if usual[inside].mean() >= ONE_KIND and usual[~inside].mean() <= 1 - ONE_KIND:
        return True
    begins = np.flatnonzero(np.concatenate([[True], kinds[1:] != kinds[:-1]]))  # of rows that are sorted by kind
    ends = {0, len(kinds), *begins.tolist()}
    return len(begins) * LEAST <= len(kinds) and first in ends and last + 1 in ends


def _width(placed: Any) -> float:
    """The range of nearly all."""
    import numpy as np

    low, high = np.quantile(placed, [INSIDE, 1 - INSIDE])
    return float(high - low)


def middle(numbers: Any) -> float:
    """The median of where numbers lie."""
    import numpy as np

    return float(np.median(_placed(numbers)))


def _placed(numbers: Any) -> Any:
    """Where numbers lie: those of both signs by their size, since another unit leaves them around zero."""
    import numpy as np

    negative = (numbers < 0).mean() if len(numbers) else 0.0
    return np.abs(numbers) if SIGNS <= negative <= 1 - SIGNS else numbers


def _densest(marks: Any) -> tuple[int, int]:
    """The run of rows with the most marks over those without: its first row, and the one after its last."""
    import numpy as np

    total = np.concatenate([[0], np.cumsum(np.where(marks, 1, -1))])
    lowest = np.minimum.accumulate(total)
    end = int((total - lowest).argmax())
    return int(total[: end + 1].argmin()), end


def lies_among(own: Any, rest: Any, how: str) -> bool:
    """Whether numbers reach as far as the others once converted, and no less; those that were rescaled otherwise hardly do at both ends."""
    import numpy as np

    ends = np.array([np.quantile(of, [0.05, 0.5, 0.95]) for of in (_conversions()[how](own), rest)])
    return bool(np.abs(ends[0] - ends[1]).max() <= REACH * (ends[1, 2] - ends[1, 0]))


def conversion(own: Any, rest: Any, fits: Callable[[str], bool]) -> str | None:
    """The conversion after which the numbers are distributed like the others; None if there is none."""
    before = _distance(own, rest)
    (distance, how), (second, _) = sorted(
        (_distance(convert(own), rest), how) for how, convert in _conversions().items() if fits(how)
    )[:2]
    sure = distance * FROM_FAR <= before or (before >= APART and second >= CLEARLY * distance)
    return how if distance <= CLOSE or (distance <= OVERLAP and sure) else None
