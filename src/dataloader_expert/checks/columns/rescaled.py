"""Groups whose numbers are a known factor larger or smaller than those of all others, told by medians of logarithms: where numbers of one
group spread over decades, a thousandfold of them overlaps with the others, and yet their median tells the factor.

Groups also differ by nature. A factor is taken for another unit only where the other groups agree with each other far better than with
this one; where it is met within the error of the medians, and this error is small; where the group spreads as the others do; and where no
other column explains the gap: neither another kind of rows in this group, nor a number that the gap follows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.common.recorded import few
from dataloader_expert.checks.common.steps import step_of
from dataloader_expert.checks.common.units import BY_TEN, DEGREES, FACTORS, GROUPS, LEAST

POSITIVE = 0.98
"""The least share of numbers above zero: others have no logarithm."""
TWOFOLD, TENFOLD = math.log10(2), 1.0
"""Groups differ by less than twofold for many reasons."""
AGREE, CLOSELY = 0.15, 0.07
"""How far the medians of the other groups may lie from theirs, as a share of the gap, where this is tenfold, and where it is less."""
ERRORS, PRECISE = 3.0, 0.1
"""The standard errors within which a factor is met, and the most that these may be, as a share of the gap."""
ROUGHLY, SAME_STEP, LEFT, MATCHED, BINS = 0.3, 1.05, 0.6, 0.07, 40
"""How far medians may lie apart or off, as a share of the gap, where more than these tells the factor: to within what factor numbers are
rounded to the same steps; or the spread that is left among rows with about the same other number, as a share of all, and how far the gap
between such rows may lie off the factor, and from none between the other groups, as a share of it."""
SURE, OTHERS = 0.06, 3
"""Decades within which it is known, and the fewest other groups, if a group is another kind of thing, and no place."""
AS_WIDE, TWICE_AS_WIDE = 1.5, 3.0
"""How many times as wide a group may spread as the others, or these as it; and where rounding tells the factor."""
COMMON, EXPLAINS, SAME = 10, 0.4, 0.9
"""The fewest rows of a value in the group and out of it that are compared; the least share of the gap that another number explains; and
the share of its rows by which a value of another column is this group under another name."""
GOES_WITH = 0.3
"""The least correlation of a number that may explain another."""
LENGTHS = {
    "height", "length", "width", "depth", "distance", "dist", "diameter", "radius", "altitude", "elevation", "stature", "thickness", "waist",
    "circumference", "visibility", "rain", "rainfall", "precip", "precipitation", "snow", "cm", "mm", "inch", "inches", "ft", "feet", "m",
}  # fmt: skip
MASSES = {"weight", "mass", "kg", "lb", "lbs", "wt", "bw", "g", "grams", "oz", "birthweight", "bodyweight", "payload"}
SPEEDS = {"speed", "velocity", "wind", "gust", "pace", "kmh", "kph", "mph", "ms"}
LASTING = {
    "duration", "elapsed", "latency", "time", "seconds", "sec", "secs", "s", "ms", "minutes", "min", "mins", "hours", "hrs", "h", "delay",
    "runtime", "wait", "age", "rtt", "us", "millis", "took",
}  # fmt: skip
AGES = {"age", "ages", "months", "years", "weeks", "tenure", "gestation", "gestational", "experience", "seniority"}
ANGLES = {
    "angle", "heading", "yaw", "pitch", "roll", "rotation", "gyro", "bearing", "azimuth", "direction", "theta", "phi", "slope", "tilt", "rad", "deg",
}  # fmt: skip
OF: dict[str, set[str]] = {
    "inches": LENGTHS, "feet": LENGTHS, "miles": LENGTHS - {"height", "width"}, "pounds": MASSES, "ounces": MASSES, "m/s": SPEEDS,
    "minutes": LASTING, "hours": LASTING, "square feet": {"area", "size", "surface", "sqm", "sqft", "m2", "ft2", "floor", "living", "lot"},
    "gallons": {"volume", "fuel", "litres", "liters", "l", "gal", "gallons", "water", "milk"},
    "kcal": {"energy", "calories", "kcal", "kj", "cal"}, "mmHg": {"pressure", "bp", "mmhg", "kpa", "systolic", "diastolic"},
    "g": {"acceleration", "accel", "acc", "g"}, "mmol/l": {"glucose", "sugar", "cholesterol", "chol", "hdl", "ldl"},
    "mg/dl": {"creatinine", "crea", "scr"},
    "years": AGES, "weeks": {"gestation", "gestational", "weeks"}, "days": LASTING - {"age"}, "nitrogen": {"nitrate", "no"}, "phosphorus": {"phosphate", "po"},
    "psi": {"pressure", "kpa", "psi", "bar"}, "inHg": {"pressure", "barometer", "hpa", "mbar", "mslp", "slp"}, "knots": SPEEDS, "mph": SPEEDS,
    "acres": {"area", "ha", "acres", "hectares", "plot", "lot"}, "degrees": ANGLES, "kWh": {"energy", "kwh", "mj"},
    "mmol/l Hb": {"hb", "hgb", "haemoglobin", "hemoglobin"},
}  # fmt: skip
"""Words in the names of fields that are measured in a unit, by what the names of conversions begin with."""
SPOKEN = {
    "years",
    "weeks",
    "days",
    "nitrogen",
    "phosphorus",
    "psi",
    "inHg",
    "knots",
    "mph",
    "acres",
    "degrees",
    "kWh",
    "g",
    "mmol/l",
    "mmol/l Hb",
    "mg/dl",
}
"""Units that are taken for one only where a name says what is measured."""
MONEY = {
    "price", "prices", "open", "close", "bid", "ask", "cost", "costs", "amount", "fare", "fee", "salary", "income", "wage", "revenue", "sales",
    "turnover", "budget", "balance", "premium", "usd", "eur", "gbp", "jpy", "cny", "inr",
}  # fmt: skip
"""Words in the names of amounts of money, which have a currency, and no unit of a length or a weight."""
EXTREMES = ({"high"}, {"low"})
"""Names of a day's extreme prices, which say so alone: a high temperature is none."""
MEASURED = set().union(*OF.values()) | {
    "ic50", "ec50", "ki", "kd", "dose", "conc", "concentration", "nm", "um", "nmol", "umol", "mg", "ug", "ng", "km", "hz", "khz", "frequency",
    "mv", "uv", "v", "voltage", "current", "w", "kw", "kwh", "wh", "power", "bytes", "kb", "mb", "bandwidth", "size", "capacity", "load",
}  # fmt: skip
"""Of quantities with units of a thousandth and a thousandfold."""
TENTHS = (
    LENGTHS
    | MASSES
    | {
        "dl",
        "hb",
        "hgb",
        "haemoglobin",
        "hemoglobin",
        "protein",
        "albumin",
        "concentration",
        "conc",
        "dose",
        "pressure",
        "temp",
    }
)
"""Of quantities with units of a tenth and a tenfold."""
TEMPERATURES = {
    "temp",
    "temps",
    "temperature",
    "temperatures",
    "dewpoint",
    "deg",
    "celsius",
    "fahrenheit",
    "kelvin",
    "t",
    "t2m",
}
"""Words in the names of temperatures: no other measure is in degrees of heat."""


@dataclass(frozen=True)
class Rescaled:
    """Group ``k``, the conversion that brings it to the others, and the medians of both."""

    k: int
    how: str
    own: float
    others: float
    sure: bool
    """Whether the evidence holds for kinds of things too, which may have sizes of their own."""


def factors_of(words: Iterable[str]) -> dict[str, tuple[float, bool]]:
    """The conversions that a field of these words may have undergone by what they do: the logarithm of the factor, and whether the words
    tell that it has a unit."""
    said = set(words)
    found = {}
    for name, factor in FACTORS.items():
        source, target = name.split(" to ", 1)
        if OF.get(source, set()) & said:
            found[name], found[f"{target} to {source}"] = (math.log10(factor), True), (-math.log10(factor), True)
    for factor in (10, 100, 1000) if said & TENTHS else (100, 1000):
        known = factor == 1000 and bool(said & MEASURED)
        found[f"times {factor:,}"] = (math.log10(factor), known)
        found[f"divided by {factor:,}"] = (-math.log10(factor), known)
    return found


def rescaled_groups(
    numbers: Any,
    whose: Any,
    n: int,
    words: Iterable[str],
    kinds: Iterable[tuple[Any, bool]] = (),
    measures: Iterable[Any] = (),
) -> Iterator[Rescaled]:
    """The groups, of ``n``, whose numbers, float64 [rows], are the others' but for a factor that their name allows.

    ``kinds``: codes of other columns, with whether they say where rows are from, and ``measures``: their numbers; these may explain why a
    group differs.
    """
    import numpy as np

    usable = numbers > 0
    if usable.sum() < max(GROUPS * LEAST, POSITIVE * len(numbers)):
        return
    logs, whose = np.log10(numbers[usable]), whose[usable]
    sizes = np.bincount(whose, minlength=n)
    large = [k for k in range(n) if sizes[k] >= LEAST]
    if len(large) < GROUPS:
        return
    parts = np.split(logs[np.argsort(whose, kind="stable")], np.cumsum(sizes)[:-1])
    quarters = {k: np.quantile(parts[k], [0.25, 0.5, 0.75]) for k in large}
    middles = np.array([quarters[k][1] for k in large])
    widths = np.array([(quarters[k][2] - quarters[k][0]) / 1.349 for k in large])
    errors = 1.2533 * widths / np.sqrt(sizes[large])
    allowed = factors_of(words)
    for i, k in enumerate(large):
        center = float(np.median(middles))
        with_it = np.abs(middles - middles[i]) < abs(middles - center)[i] / 2  # others that share its unit
        rest = np.flatnonzero(~with_it)
        if not few(int(with_it.sum()), len(large)) or 2 * sizes[np.array(large)[with_it]].sum() > len(logs):
            continue
        center = float(np.median(middles[rest]))
        gap, apart = float(middles[i]) - center, float(np.abs(middles[rest] - center).max())
        size = abs(gap)
        among = float(np.std(middles[rest], ddof=1)) / math.sqrt(len(rest)) if len(rest) > 1 else math.inf
        error = ERRORS * math.hypot(float(errors[i]), among, float(np.median(errors[rest])) / math.sqrt(len(rest)))
        how = min(allowed, key=lambda name: abs(gap + allowed[name][0]))
        usual, missed = float(np.median(widths[rest])), abs(gap + allowed[how][0])
        if usual <= 0 or missed > error or not 1 / TWICE_AS_WIDE <= widths[i] / usual <= TWICE_AS_WIDE:
            continue
        as_wide = 1 / AS_WIDE <= widths[i] / usual <= AS_WIDE
        own, rest_rows = whose == k, np.isin(whose, np.array(large)[rest])
        told = (
            as_wide
            and size >= TWOFOLD
            and apart <= (AGREE if size >= TENFOLD else CLOSELY) * size
            and error <= PRECISE * size
        )
        if not told and max(apart, error) > ROUGHLY * size:
            continue
        told = told or _as_rounded(numbers[usable], own, rest_rows, allowed[how][0])
        groups = [whose == large[j] for j in rest.tolist()]
        if not told and not (
            as_wide and allowed[how][1] and _alike_but_for(logs, own, groups, measures, usable, -allowed[how][0])
        ):
            continue
        if any(_differs_within(logs, own, codes[usable], place, gap) for codes, place in kinds):
            continue
        if any(_explains(logs, own, values[usable], gap) for values in measures):
            continue
        sure = error <= SURE and allowed[how][1] and len(rest) >= OTHERS
        yield Rescaled(k, how, float(10 ** middles[i]), float(10**center), sure)


def differing_pair(
    numbers: Any,
    whose: Any,
    words: Iterable[str],
    kinds: Iterable[tuple[Any, bool]],
    measures: Iterable[Any],
    shared: Iterable[Any],
) -> Iterator[Rescaled]:
    """The smaller one of two groups, 0 and 1, if the factor between both is that of a unit which the name tells, and the same within each
    kind of rows that both have, of one of the columns ``shared``: no third group tells which one is usual."""
    import numpy as np

    usable = numbers > 0
    sizes = np.bincount(whose[usable], minlength=2)
    if usable.sum() < POSITIVE * len(numbers) or sizes.min() < LEAST:
        return
    logs, k = np.log10(numbers[usable]), int(sizes.argmin())
    own = whose[usable] == k
    quarters = [np.quantile(logs[rows], [0.25, 0.5, 0.75]) for rows in (own, ~own)]
    gap = float(quarters[0][1] - quarters[1][1])
    widths = np.array([(q[2] - q[0]) / 1.349 for q in quarters])
    error = ERRORS * 1.2533 * float(np.hypot(*(widths / np.sqrt([sizes[k], sizes[1 - k]]))))
    units = {name: factor for name, (factor, known) in factors_of(words).items() if known and " to " in name}
    how = min(units, key=lambda name: abs(gap + units[name]), default=None)
    if how is None or abs(gap) < TWOFOLD or abs(gap + units[how]) > error or error > PRECISE * abs(gap):
        return
    as_wide = widths.min() > 0 and widths.max() <= AS_WIDE * widths.min()
    kinds = [(codes[usable], place) for codes, place in kinds]
    if not as_wide or not any(_same_within(logs, own, codes[usable], gap) for codes in shared):
        return
    if any(_differs_within(logs, own, codes, place, gap) for codes, place in kinds):
        return
    if not any(_explains(logs, own, values[usable], gap) for values in measures):
        yield Rescaled(k, how, float(10 ** quarters[0][1]), float(10 ** quarters[1][1]), True)


def _same_within(logs: Any, own: Any, codes: Any, gap: float) -> bool:
    """Whether a group differs by about the same among the rows of each of several kinds."""
    import numpy as np

    _, codes = np.unique(codes, return_inverse=True)
    inside, outside = (np.bincount(codes[mask], minlength=int(codes.max()) + 1) for mask in (own, ~own))
    both = np.flatnonzero((inside >= LEAST) & (outside >= LEAST))
    gaps = np.array([np.median(logs[own & (codes == c)]) - np.median(logs[~own & (codes == c)]) for c in both])
    return len(both) > 1 and bool((np.abs(gaps - gap) <= ROUGHLY * abs(gap)).all())


def _as_rounded(numbers: Any, own: Any, rest: Any, factor: float) -> bool:
    """Whether a group's numbers are rounded as the others' are once these have undergone the conversion: cents are whole where units have two
    decimals."""
    steps = [step_of(numbers[rows]) for rows in (own, rest)]
    return min(steps) > 0 and abs(math.log10(steps[0] / steps[1]) + factor) < math.log10(SAME_STEP)


def _alike_but_for(logs: Any, own: Any, groups: list[Any], measures: Iterable[Any], usable: Any, gap: float) -> bool:
    """Whether the gap is that between rows which are alike in the numbers that go with this one, none of which has a gap, and there is none
    between the other groups: of trips of one price and time only one vendor's are shorter."""
    import numpy as np

    rest = np.any(groups, axis=0)
    found = False
    for values in measures:
        values = values[usable]
        there = np.isfinite(values) & (values > 0)
        if there.sum() < POSITIVE * len(values):
            continue
        near = np.where(there, np.log10(np.where(there, values, 1.0)), np.nan)
        expected = _expected(near[rest & there], logs[rest & there], near)
        apart = logs - expected
        usual = np.quantile(logs[rest], [0.25, 0.75])
        left = np.nanquantile(apart[rest], [0.25, 0.75])
        if left[1] - left[0] > LEFT * (usual[1] - usual[0]):
            continue  # does not go with it
        gaps = [float(np.nanmedian(apart[rows])) for rows in (own, *groups)]
        error = ERRORS * 1.2533 * float(left[1] - left[0]) / 1.349 / math.sqrt(int(own.sum()))
        moved = abs(float(np.nanmedian(near[own]) - np.nanmedian(near[rest])))
        if (
            abs(gaps[0] - gap) > max(error, MATCHED * abs(gap))
            or max(map(abs, gaps[1:])) > MATCHED * abs(gap)
            or moved > ROUGHLY * abs(gap)
        ):
            return False
        found = True
    return found


def _expected(x: Any, y: Any, at: Any) -> Any:
    """The median of ``y`` among rows with about the same ``x``, for each of ``at``; NaN outside of what is known."""
    import numpy as np

    order = np.argsort(x)
    parts = [part for part in np.array_split(order, min(BINS, len(order) // LEAST)) if len(part)]
    xs, ys = (np.array([np.median(v[part]) for part in parts]) for v in (x, y))
    return np.interp(at, xs, ys, left=np.nan, right=np.nan) if len(parts) > 1 else np.full(len(at), np.nan)


def is_money(words: Iterable[str]) -> bool:
    """Whether the words of a field's name say that it is an amount of money."""
    said = set(words)
    return (bool(said & MONEY) and not said & MEASURED) or said in EXTREMES


def fits_name(how: str, words: Iterable[str]) -> bool:
    """Whether a conversion is one of what the words of a field's name say it measures, or these say nothing: no weight is in feet, and no
    price either."""
    said, units = set(words), how.split(" to ", 1)
    if how in BY_TEN:
        return bool(said & TENTHS)
    if len(units) > 1 and is_money(said):
        return False
    if how in DEGREES:
        return bool(said & TEMPERATURES) or not any(of & said for of in OF.values())
    known = [OF[unit] for unit in units if unit in OF]
    if {*units} & SPOKEN:
        return any(OF[unit] & said for unit in units if unit in SPOKEN)
    return not known or any(of & said for of in known) or not any(of & said for of in OF.values())


def tells_unit(how: str, words: Iterable[str]) -> bool:
    """Whether the words of a field's name say that it is measured in the unit of a conversion, if that is one of something: a factor that fits
    is none where a salt content would be in square feet."""
    known = [OF[unit] for unit in how.split(" to ", 1) if unit in OF]
    return not known or any(of & {*words} for of in known)


def of_another_kind(numbers: Any, own: Any, kinds: Iterable[tuple[Any, bool]]) -> bool:
    """Whether a group's rows are of kinds that other rows are not, or differ from those of their kind less than the group does."""
    import numpy as np

    placed = np.log10(numbers) if (numbers > 0).all() else numbers
    gap = float(np.median(placed[own]) - np.median(placed[~own]))
    return gap != 0 and any(_differs_within(placed, own, codes, place, gap) for codes, place in kinds)


def renames(one: Any, other: Any) -> bool:
    """Whether two columns, of few codes, are the same under other names, such as a town and its number: neither explains what the other tells."""
    import numpy as np

    pairs = one * (int(other.max(initial=0)) + 1) + other
    return len({np.count_nonzero(np.bincount(codes)) for codes in (one, other, pairs)}) == 1


def _differs_within(logs: Any, own: Any, codes: Any, place: bool, gap: float) -> bool:
    """Whether the group has values of another column that the other rows lack, so that these may be what differs, or the gap is another
    one among rows of one value."""
    import numpy as np

    _, codes = np.unique(codes, return_inverse=True)
    inside, outside = (np.bincount(codes[mask], minlength=int(codes.max()) + 1) for mask in (own, ~own))
    alias = inside >= SAME * own.sum()
    own_alone = outside <= (1 - SAME) * inside
    within = bool((own_alone | (inside <= (1 - SAME) * outside)).all())
    if place and ((alias & own_alone).any() or within):
        return False  # the group itself, such as its file, or parts of it, such as its files
    parts = np.flatnonzero(own_alone & (inside >= COMMON))
    if within and len(parts) >= OTHERS:
        usual = float(np.median(logs[~own]))
        gaps_of = np.array([float(np.median(logs[own & (codes == c)])) - usual for c in parts])
        if (np.abs(gaps_of - gap) <= ROUGHLY * abs(gap)).all():
            return False  # several kinds that all differ by as much, and are in this group alone
    both = np.flatnonzero((inside >= COMMON) & (outside >= COMMON))
    if inside.sum() < COMMON * np.count_nonzero(inside):
        return False  # values of few rows each are no kinds
    if 2 * inside[both].sum() < inside.sum():
        return True
    gaps = [float(np.median(logs[own & (codes == c)]) - np.median(logs[~own & (codes == c)])) for c in both]
    return float(np.average(gaps, weights=inside[both])) / gap < 1 - EXPLAINS


def _explains(logs: Any, own: Any, values: Any, gap: float) -> bool:
    """Whether another number goes with this one among the other rows, and differs in the group so that a part of the gap follows."""
    import numpy as np

    there = np.isfinite(values)
    if (values[there] > 0).all():
        values = np.log10(np.where(there, values, 1.0))
    mine, others = own & there, ~own & there
    if min(mine.sum(), others.sum()) < LEAST or values[others].std() == 0 or logs[others].std() == 0:
        return False
    r = float(np.corrcoef(values[others], logs[others])[0, 1])
    if abs(r) < GOES_WITH:
        return False
    slope = r * float(logs[others].std() / values[others].std())
    return slope * float(np.median(values[mine]) - np.median(values[others])) / gap >= EXPLAINS
