"""Times and places that stand for none: 1900-01-01, the first second of 1970, 9999-12-31, and latitude and longitude both 0; and years
that were mistyped.

Such a value is a default only where its frequency shows it: it comes again and again, and lies far from all others, or is many times as
frequent as any value near it. Columns of which each year begins with many rows, as where only years are known, have no such value.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Iterable
from itertools import product
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.core import core_of
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.grids import moment
from dataloader_expert.checks.common.name_pairs import pairs_of_names
from dataloader_expert.checks.common.rows_kept import moments_of, numbers_of, places
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import NOT_TIMES, TIME_WORDS, words

DEFAULTS = Quantity(
    "default_values", "samples", "samples with a time or place that marks a missing value, far from the others"
)
STRAY = Quantity("stray_times", "samples", "samples with a time that lies far outside of the range of all others")
KEPT, CELLS, MOST = 20_000, 2_000_000, 12
"""The most rows, and values of all fields, that are kept; the most fields of times, and pairs of coordinates."""
LEAST, DAYS, PAIRS = 3, 10, 30
"""The fewest rows with a default, and the fewest distinct days, and pairs, of others."""
SPIKE, CHANCE = 5.0, 1e-6
"""How many times as frequent a default is as any day near it, where it does not lie apart; and how unlikely that is if all were as frequent
as the most frequent of these."""
DAY, YEAR, FIRST_YEAR, LAST_YEAR = 86_400.0, 365.25, 1_000, 9_999
NEAR = 11
"""Years on either side within which days are near: where only years are known, other years are among them."""
DATES = (
    (1, 1, 1), (1601, 1, 1), (1753, 1, 1), (1800, 1, 1), (1899, 12, 30), (1899, 12, 31), (1900, 1, 1), (1970, 1, 1), (2099, 12, 31),
    (2999, 12, 31), (9999, 1, 1), (9999, 12, 30), (9999, 12, 31),
)  # fmt: skip
"""Days that databases, spreadsheets and programs put where they know none."""
LATE = (2099, 1, 1)
"""From this day on a default may say that something has not ended yet."""
ENDS = {
    "to", "end", "ends", "until", "till", "thru", "through", "expiry", "expires", "expiration", "expired", "valid", "closed", "close",
    "termination", "retired", "deleted", "superseded",
}  # fmt: skip
MOSTLY = 0.5
"""The share of rows from which on a default is what the field mostly says."""
UNITS = (1.0, 1e3, 1e6, 1e9)
"""Of a second, in what counts since 1970."""
EARLIEST, LATEST, OF_UNITS = 631e6, 2209e6, 0.9
"""1990 and 2040, in seconds; and the share of a field's numbers that lie between them, in some unit."""
LATITUDES = {"lat", "latitude", "northing", "lats"}
LONGITUDES = {"lon", "lng", "long", "longitude", "easting", "lons"}
FEW, ENOUGH, FAR = 0.01, 100, 100
"""The largest share of times that are strays, the fewest times that tell, and the years by which one lies outside of the range of all others:
an old car or a long loan may lie a few decades off."""
VARIED = 0.1
"""The least share of distinct pairs of coordinates: of a few stations one may stand where both are 0."""


class DefaultValues(DrawnRows):
    ids = ("missing-values", "outliers")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        plain = [f for f in context.fields if not f.shape]
        timed = None if context.timed is None else context.timed.field
        known = TIME_WORDS | NOT_TIMES - {"duration", "elapsed"}
        self.counted = [
            f.name for f in plain if f.kind == "number" and (f.name == timed or set(words(f.name)) & known)
        ][:MOST]
        """Fields that may count since 1970."""
        self.years = [f.name for f in plain if f.kind == "number" and "year" in words(f.name)][:MOST]
        self.counted = [name for name in self.counted if name not in self.years]
        self.times = [f.name for f in plain if f.kind == "time" or (f.dtype == "str" and f.kind != "text")][:MOST]
        self.pairs = pairs_of_names([f.name for f in plain if f.kind == "number"], [*product(LATITUDES, LONGITUDES)])[
            :MOST
        ]
        self.numbers = list(
            dict.fromkeys([*self.counted, *self.years, *(name for pair in self.pairs for name in pair)])
        )
        self.drawn = Drawn(min(KEPT, CELLS // max(1, len(self.numbers) + len(self.times) + 1)))

    def applies(self) -> bool:
        return bool(self.numbers or self.times)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.numbers}
        kept |= {f"time {name}": moments_of(block.columns.get(name), rows) for name in self.times}
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        moments = {name: rows[f"time {name}"] for name in self.times}
        moments |= {name: since_1970(rows[f"number {name}"]) for name in self.counted}
        moments |= {name: of_years(rows[f"number {name}"]) for name in self.years}
        for name, times in moments.items():
            for day, mask in default_days(times):
                value = {"value": day, "count": int(mask.sum()), "of": int(np.isfinite(times).sum())}
                value |= {"number": name in self.counted, "where": places(rows, mask, name)}
                yield Fact(DEFAULTS, value, self.evidence("sampled", len(times)), {"field": name, "value": day})
            stray, far = stray_times(times)
            if stray.any():
                value = {"count": int(stray.sum()), "of": int(np.isfinite(times).sum()), "years": far}
                value |= {"such": moment(float(times[stray][0]), True), "where": places(rows, stray, name)}
                yield Fact(STRAY, value, self.evidence("sampled", len(times)), {"field": name})
        for lat, lon in self.pairs:
            x, y = rows[f"number {lat}"], rows[f"number {lon}"]
            mask = at_zero(x, y)
            if mask is not None:
                value = {"value": "0, 0", "count": int(mask.sum()), "of": int((np.isfinite(x) & np.isfinite(y)).sum())}
                value |= {"where": places(rows, mask, lat)}
                yield Fact(DEFAULTS, value, self.evidence("sampled", len(x)), {"fields": [lat, lon]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(STRAY):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} is {v['years']:,} years or more from all others in {v['count']:,} of {number(v['of'], 'sample')}, such as {v['such']}"
            fix = "check these times: a year was probably mistyped, or read with the wrong century or unit"
            yield finding("outliers", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(DEFAULTS):
            v = fact.value
            of = f"{v['count']:,} of {v['of']:,} samples"
            if "fields" in fact.at:
                lat, lon = map(escaped, fact.at["fields"])
                text = f"{lat} and {lon} are both 0 in {of}, far from all other places: this usually marks an unknown place"
                fix = "read both as missing there; otherwise a model takes them for a real place, and distances to it are meaningless"
                yield finding("missing-values", "warning", text, fact, fix, v["where"], v["count"])
                continue
            name, day = escaped(str(fact.at["field"])), v["value"]
            open_end = tuple(map(int, day.split("-"))) >= LATE and bool(set(words(name)) & ENDS)
            told = f"0 ({day})" if v["number"] else day[:4] if name in self.years else day
            text = f"{name} is {told} in {of}, far more often than {'any time near it' if open_end else 'chance explains'}: "
            text += "this usually means " + ("no end yet" if open_end else "an unknown time")
            fix = "read it as missing; otherwise ages, durations and splits by time are computed from it"
            info = open_end or v["count"] > MOSTLY * v["of"]
            yield finding("missing-values", "info" if info else "warning", text, fact, fix, v["where"], v["count"])


def since_1970(numbers: Any) -> Any:
    """Numbers in whatever unit as seconds since 1970, float64 [n]; all NaN where they do not count since then."""
    import numpy as np

    made = np.where(numbers == 0, 0.0, np.nan)
    for unit in UNITS:
        made = np.where((numbers >= unit * EARLIEST) & (numbers <= unit * LATEST), numbers / unit, made)
    others = np.isfinite(numbers) & (numbers != 0)
    known = int(np.isfinite(made[others]).sum())
    return made if known and known >= OF_UNITS * others.sum() else np.full(len(numbers), np.nan)


def of_years(numbers: Any) -> Any:
    """Years as the seconds since 1970 at their beginning, float64 [n]; all NaN where numbers are no years."""
    import numpy as np

    there = np.isfinite(numbers)
    years = numbers[there]
    if (
        not len(years)
        or (years % 1 != 0).any()
        or years.min() < 1
        or years.max() > LAST_YEAR
        or np.median(years) < FIRST_YEAR
    ):
        return np.full(len(numbers), np.nan)
    made = np.full(len(numbers), np.nan)
    made[there] = (years - 1970).astype("M8[Y]").astype("M8[D]").astype(np.float64) * DAY
    return made


def default_days(times: Any) -> list[tuple[str, Any]]:
    """The days among seconds since 1970, float64 [n], that stand for none, and which rows have them."""
    import numpy as np

    days = np.floor(times / DAY)
    defaults = {date: calendar.timegm((*date, 0, 0, 0)) / DAY for date in DATES}
    finite = np.isfinite(days)
    others, counts = np.unique(days[finite & ~np.isin(days, list(defaults.values()))], return_counts=True)
    if len(others) < DAYS:
        return []
    found = []
    low, high = core_of(days[finite & ~np.isin(days, list(defaults.values()))])
    for date, day in defaults.items():
        mask = days == day
        n = int(mask.sum())
        apart = max(low - day, day - high) >= high - low
        reach = max(NEAR * YEAR, (high - low) / 4)
        near = counts[np.abs(others - day) <= reach]
        if n >= LEAST and (apart or spike(n, max(1, int(near.max(initial=0))))):
            found.append(("-".join((f"{date[0]:04}", f"{date[1]:02}", f"{date[2]:02}")), mask))
    return found


def stray_times(times: Any) -> tuple[Any, int]:
    """Which times, seconds since 1970, lie outside of the range of all others by more than that range, and are no defaults; and by how many
    years at least. What spans centuries thins out towards its ends without such a gap."""
    import numpy as np

    none = np.zeros(len(times), bool), 0
    days = np.floor(times / DAY)
    defaults = [calendar.timegm((*date, 0, 0, 0)) / DAY for date in DATES]
    usual = np.isfinite(days) & ~np.isin(days, defaults) & (times != 0)
    if usual.sum() < ENOUGH:
        return none
    low, high = core_of(days[usual])
    with np.errstate(invalid="ignore"):
        far = np.maximum(low - days, days - high)
        stray = usual & (far > max(high - low, FAR * YEAR))
    return (stray, int(far[stray].min() / YEAR)) if 0 < stray.sum() <= FEW * usual.sum() else none


def spike(n: int, near: int) -> bool:
    """Whether so many rows of a day are no chance where a day near it has at most so many: by Chernoff's bound for Poisson counts."""
    return n >= SPIKE * near and n * math.log(n / near) - (n - near) >= -math.log(CHANCE)


def at_zero(x: Any, y: Any) -> Any:
    """Which rows have both coordinates 0, far from the bulk of the others in at least one of them; None where that is no default."""
    import numpy as np

    there = np.isfinite(x) & np.isfinite(y)
    mask = there & (x == 0) & (y == 0)
    rest = there & (x != 0) & (y != 0)
    if mask.sum() < LEAST or rest.sum() < PAIRS or mask.sum() > rest.sum():
        return None
    pairs = np.unique(np.stack([x[rest], y[rest]], 1), axis=0)
    if len(pairs) < max(PAIRS, VARIED * rest.sum()):
        return None
    bulks = [core_of(v[rest]) for v in (x, y)]
    apart = any(max(low, -high) >= high - low > 0 for low, high in bulks)
    return mask if apart else None


CHECK = DefaultValues
