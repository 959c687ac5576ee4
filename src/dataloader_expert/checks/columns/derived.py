"""Columns that are made of others, such as the day of the week of a date or a sum, and are not in one split, group or stretch of rows.

What a column is made of is told by exact arithmetic on most rows: a part of a date under one way of counting, or the sum, difference,
product or quotient of two numbers. Rows that break it here and there may be rounded, corrected or of another time zone; where nearly all rows of
one part break it, and hardly any others, one of the columns is wrong there. So it is in very few rows whose numbers are far off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.columns.rules import of_kind
from dataloader_expert.checks.common.rows_kept import Named, digest_of
from dataloader_expert.checks.common.scores import correlation, nearness
from dataloader_expert.checks.common.series_rows import MOST, SeriesRows, seconds_of
from dataloader_expert.checks.common.units import FACTORS
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

CONTRADICTS = Quantity(
    "contradicts_its_source",
    "samples",
    "rows of one part in which a column does not follow the rule of the other rows: part of a date, or computed from two numbers",
)
FIELDS, DATES, TRIED = 12, 3, 64
"""The most numbers and dates, and rows on which sums and products are tried first."""
LEAST, FEW = 60, 20
"""The fewest rows that tell what a column is made of, and of those that contradict it."""
SOME, LIKELY = 4_000, 0.4
"""Rows on which parts of dates are tried first, and the share of them that must be made so."""
USUAL = 0.5
"""The least share of rows in which a column is made so."""
VALUES = 4
"""The fewest values of a part of a date, and a third of those of a number."""
ALIKE = 0.95
"""The correlation from which odd rows have a relation of their own to what they are made of elsewhere."""
DAY, YEAR, HOUR, MONTHS = 86_400.0, 365.2425, "hour", 12
PERIODS = {"day of the week": 7, "month": 12, "quarter": 4, HOUR: 24}
"""Of how many values a part of a date goes round."""
FINE = 0.05
"""The most that rounding may change what is made, in interquartile ranges of it: beyond, much is equal by chance."""
TENFOLD = 0.02
"""How far from a power of ten, as a share of it, the factor may lie by which other units change a product or quotient."""
STRAYS, RARE, CLEARLY, UNLIKE, SAME = 5, 0.02, 3.0, 0.02, 0.5
"""The fewest rows here and there that contradict, and the most, as a share of all; how many times as far off as by rounding they are, and
by what share of what they should be; and the largest share of them that have one factor, as a tax or a discount has."""

LARGE = 1.5
"""The least factor of another unit: smaller ones are taxes and discounts."""


@dataclass(frozen=True)
class Operation:
    """What two columns make; ``powers``: how many times its own share the rounding of each changes it, none if they add up."""

    says: str
    makes: Callable[[Any, Any], Any]
    powers: tuple[int, int] | None = None
    either_way: bool = True
    """Whether the order of the two does not matter, or another operation tells the other order."""


@dataclass(frozen=True)
class Given:
    """What two columns make of each row, by how much a third may differ from it, and in which rows it does not differ more."""

    operation: Operation
    made: Any
    room: Any
    given: Any


OPERATIONS = (
    Operation("sum of {} and {}", lambda a, b: a + b),
    Operation("difference of {} and {}", lambda a, b: a - b),
    Operation("product of {} and {}", lambda a, b: a * b, (1, 1)),
    Operation("quotient of {} and {}", lambda a, b: a / b, (1, 1), False),
    Operation("quotient of {} and the square of {}", lambda a, b: a / b**2, (1, 2), False),
)


def parts_of(seconds: Any) -> dict[str, Any]:
    """What a date has, of seconds since 1970: whole numbers, float64 [n]."""
    import numpy as np

    known = np.isfinite(seconds) & (np.abs(seconds) < 1e11)
    days = np.floor(np.where(known, seconds, 0.0) / DAY).astype(np.int64)
    dates = days.astype("M8[D]")
    months, years = dates.astype("M8[M]").astype(np.int64), dates.astype("M8[Y]").astype(np.int64)
    found = {
        "day of the week": days % 7,
        "month": months % 12,
        "quarter": months % 12 // 3,
        "day of the month": days - dates.astype("M8[M]").astype("M8[D]").astype(np.int64),
        "day of the year": days - dates.astype("M8[Y]").astype("M8[D]").astype(np.int64),
        "year": years,
        HOUR: np.floor(np.where(known, seconds, 0.0) % DAY / 3600).astype(np.int64),
    }
    return {name: np.where(known, values.astype(np.float64), np.nan) for name, values in found.items()}


class Derived(SeriesRows):
    ids = ("columns-contradict",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        self.numbers = [f.name for f in plain if f.kind in ("number", "category") and f.dtype not in ("str", "bool")][
            :FIELDS
        ]
        self.dates = [f.name for f in plain if f.kind == "time" or (f.dtype == "str" and f.name in self.times)][:DATES]
        texts = [f.name for f in plain if f.dtype == "str" and f.name not in self.dates and f.kind != "text"]
        self.called = {name: Named(2 * MONTHS, whole=True) for name in texts[:FIELDS]} if self.dates else {}
        """Texts that may be names of days or months."""

    def applies(self) -> bool:
        return bool(self.dates and (self.numbers or self.called)) or len(self.numbers) > 2

    def see(self, block: Block) -> None:
        import numpy as np

        before = len(self.parts)
        super().see(block)
        if len(self.parts) == before:
            return
        n = min(block.samples, MOST - block.unit.start)
        rows = block.once(("first", n), None, lambda: np.arange(n))
        kept = self.parts[-1][1]
        for name in self.dates:
            kept[f"date {name}"] = seconds_of(block.columns.get(name), rows)
        for name, named in self.called.items():
            kept[f"called {name}"] = named.of(block.columns.get(name), rows)

    def merge(self, other: Any) -> None:
        assert isinstance(other, Derived)
        super().merge(other)
        for name, named in other.called.items():
            self.called[name].merge(named)

    def facts(self) -> Iterable[Fact]:
        if not self.parts:
            return
        kept = self.rows()
        yield from self._of_dates(kept)
        yield from self._of_numbers(kept)

    def _of_dates(self, kept: dict[str, Any]) -> Iterator[Fact]:
        """Parts of a date: numbers, and names of days or months."""
        import numpy as np

        columns = {name: kept[f"number {name}"] for name in self.numbers}
        for name, named in self.called.items():
            if not named.many:
                codes = np.unique(kept[f"called {name}"], return_inverse=True)[1].astype(np.float64)
                columns[name] = np.where(kept[f"called {name}"] == np.uint64(digest_of("")), np.nan, codes)
        parts = [(date, part, v) for date in self.dates for part, v in parts_of(kept[f"date {date}"]).items()]
        made: dict[str, tuple[str, list[str], Any, Any]] = {}
        for name, x in columns.items():
            for date, part, values in parts:
                given = part_given(x, values, None if name in self.called else PERIODS.get(part, 0))
                if given is not None and name not in made:
                    made[name] = f"{part} of {{}}", [date], given, np.isfinite(x) & np.isfinite(values)
            for one, other in combinations(self.dates, 2):
                days = np.abs(kept[f"date {one}"] - kept[f"date {other}"]) / DAY
                for unit, far in (("days", days), ("years", np.floor(days / YEAR))):
                    given = number_given(x, far, 1.0, ())
                    if given is not None and name not in made:
                        made[name] = (
                            f"{unit} between {{}} and {{}}",
                            [one, other],
                            given,
                            np.isfinite(x) & np.isfinite(far),
                        )
        for name, (part, of, given, there) in made.items():
            told = self._told(kept, given, there, {*made})
            if told is not None and not part.startswith(HOUR):  # summer time changes it
                yield self._fact(name, part, of, told)

    def _of_numbers(self, kept: dict[str, Any]) -> Iterator[Fact]:
        """Sums, differences and products of two numbers."""
        import numpy as np

        looked: list[set[str]] = []
        numbers = {name: kept[f"number {name}"] for name in self.numbers}
        known = {name: v for name, v in numbers.items() if len(np.unique(v[np.isfinite(v)][:1000])) >= VALUES}
        every = len(next(iter(numbers.values()), ()))
        some = np.linspace(0, max(0, every - 1), min(every, 8 * TRIED)).astype(np.int64)
        near = {name: nearness(x) for name, x in known.items()}
        for name in reversed(known):  # what is made of others mostly stands behind them
            x, others = known[name], [other for other in known if other != name]
            for a, b in permutations(others, 2):
                if any(len({name, a, b} & of) > 1 for of in looked):
                    continue  # of three that go together, each is made of the others
                for operation in OPERATIONS:
                    if operation.either_way and others.index(a) > others.index(b):
                        continue
                    found = _as_made(x, operation, (known[a], known[b]), near[name], (near[a], near[b]), some)
                    if found is None:
                        continue
                    looked.append({name, a, b})
                    told = self._of_rows(kept, x, found, {name, a, b})
                    if told is not None:
                        yield self._fact(name, operation.says, [a, b], told)
                    break

    def _of_rows(self, kept: dict[str, Any], x: Any, found: Given, aside: set[str]) -> dict[str, Any] | None:
        """The rows that contradict what two columns make: those of one part, or a few here and there."""
        import numpy as np

        made, given = found.made, found.given
        there = np.isfinite(x) & np.isfinite(made)
        odd = there & ~given
        how = None
        if abs(correlation(x[odd], made[odd])) >= ALIKE:
            how = converted(x[odd], made[odd], found.operation)
            if how is None:
                return None  # a tax, a discount, another rounding
        told = self._told(kept, given, there, aside)
        if told is not None:
            return told | {"how": how}
        return self._strays(kept, x, found) if how is None else None

    def _strays(self, kept: dict[str, Any], x: Any, found: Given) -> dict[str, Any] | None:
        """The few rows that contradict here and there, if no kind of rows explains them."""
        import numpy as np

        made, room, given = found.made, found.room, found.given
        there = np.isfinite(x) & np.isfinite(made)
        off = np.abs(x - made)
        odd = there & (off > CLEARLY * room + UNLIKE * np.abs(made))
        rows = np.flatnonzero(odd)
        if not STRAYS <= len(rows) <= RARE * there.sum() or (there & ~given & ~odd).sum() > RARE * there.sum():
            return None
        factors = np.unique(np.round(x[rows] / made[rows], 2), return_counts=True)[1]
        codes = (
            np.unique(kept[f"kind {name}"], return_inverse=True)[1]
            for name, kind in self.kinds.items()
            if not kind.many
        )
        if factors.max() > SAME * len(rows) or any(of_kind(odd, there, which) for which in codes):
            return None
        return {
            "count": len(rows),
            "of": int(there.sum()),
            "sample": int(kept["sample"][rows[0]]),
            "by": None,
            "along": None,
        }

    def _told(self, kept: dict[str, Any], given: Any, there: Any, aside: set[str]) -> dict[str, Any] | None:
        """The part of the rows in which nearly none is as elsewhere, and how many rows that is; None if there is no such part. ``aside``:
        fields that are made of the same, and tell nothing."""
        import numpy as np

        odd, usual = np.flatnonzero(there & ~given), np.flatnonzero(there & given)
        if len(odd) < FEW or len(usual) < LEAST:
            return None
        where = self.part_of(kept, odd, usual, aside)
        if where is None:
            return None
        return {"count": len(odd), "of": len(odd) + len(usual), "sample": int(kept["sample"][odd[0]])} | where

    def _fact(self, name: str, part: str, of: list[str], told: dict[str, Any]) -> Fact:
        return Fact(CONTRADICTS, told | {"part": part}, self.evidence(n=told["of"]), {"field": name, "of": of})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CONTRADICTS):
            v, name, of = fact.value, escaped(str(fact.at["field"])), " and ".join(map(escaped, fact.at["of"]))
            said = v["part"].format(*map(escaped, fact.at["of"]))
            if v["by"] is None and v["along"] is None:
                text = f"{name} is the {said} in all but {v['count']:,} of {number(v['of'], 'row')}"
            else:
                text = f"{name} is the {said} everywhere except {self.part_said(v)}: {v['count']:,} of all "
                text += f"{number(v['of'], 'row')} do not match"
                text += f", as if one of the columns were in another unit there ({v['how']})" if v.get("how") else ""
            fix = f"find out which of these columns is wrong there, and recompute {name} from {of}"
            where = [{"sample": v["sample"], "file": self.files.of(v["sample"]), "field": fact.at["field"]}]
            yield finding("columns-contradict", "warning", text, fact, fix, where, v["count"])


def part_given(x: Any, values: Any, period: int | None) -> Any:
    """Whether each value is the one that its part of a date usually has, bool [n]: so many more, or one of its own; None if most have none.
    ``period``: after how many the parts begin again, 0 for never; None for names, which are never so many more."""

    if len(x) > SOME and _part_given(x[:: len(x) // SOME], values[:: len(x) // SOME], period, LIKELY) is None:
        return None
    return _part_given(x, values, period, USUAL)


def _part_given(x: Any, values: Any, period: int | None, usually: float) -> Any:
    import numpy as np

    both = np.isfinite(x) & np.isfinite(values)
    if both.sum() < LEAST:
        return None
    names, a = np.unique(x[both], return_inverse=True)
    parts, b = np.unique(values[both], return_inverse=True)
    if not VALUES <= len(parts) <= 400 or len(names) > 2 * len(parts) or len(names) < VALUES:
        return None
    given = np.zeros(len(x), bool)
    if period is not None:
        more = (x - values)[both] % period if period else (x - values)[both]
        _, which, counts = np.unique(more, return_inverse=True, return_counts=True)
        if counts.max() >= usually * both.sum():
            given[both] = which == counts.argmax()
            return given
    table = np.zeros((len(parts), len(names)), np.int64)
    np.add.at(table, (b, a), 1)
    usual = table.argmax(1)
    if table.max(1).sum() < usually * both.sum() or len(np.unique(usual)) < len(parts):
        return None
    given[both] = usual[b] == a
    return given


def _factor(x: Any, operation: Operation, a: Any, b: Any) -> float:
    """The power of ten by which other units, such as centimetres or percent, change what two columns make; 0 if nothing fits."""
    import numpy as np

    if operation.powers is None:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = x / operation.makes(a, b)
    ratios = ratios[np.isfinite(ratios) & (ratios > 0)]
    usual = float(np.median(ratios)) if len(ratios) >= LEAST / 2 else 0.0
    power = 10.0 ** round(math.log10(usual)) if usual > 0 else 0.0
    return power if power and abs(usual / power - 1) <= TENFOLD else 0.0


def _as_made(
    x: Any, operation: Operation, of: tuple[Any, Any], near: float, nears: tuple[float, float], some: Any
) -> Given | None:
    """How far a column, rounded to ``near``, is what two others make, rounded to ``nears``; None if it mostly is not. ``some``: rows on which
    this is tried first."""
    import numpy as np

    factor = _factor(x[some], operation, *(v[some] for v in of))
    if factor == 0:
        return None
    tried, rooms_tried = _made(operation, (of[0][some], of[1][some]), factor, near, nears)
    likely = [_likely(x[some], tried, room) for room in rooms_tried]
    if not any(likely):  # most are not: nothing is made of all rows
        return None
    made, rooms = _made(operation, of, factor, near, nears)
    for room, may_be in zip(rooms, likely, strict=True):
        if not may_be:
            continue
        if room is not rooms[0] and np.nanmedian(room) > FINE * np.subtract(*np.nanquantile(x, [0.75, 0.25])):
            continue
        given = number_given(x, made, room, of)
        if given is not None:
            return Given(operation, made, room, given)
    return None


def _made(
    operation: Operation, of: tuple[Any, Any], factor: float, near: float, nears: tuple[float, float]
) -> tuple[Any, list[Any]]:
    """What two columns make, NaN where that is no number; and how far off rounding may put it, that of the parts left out and counted in."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        made = operation.makes(*of) * factor
        made = np.where(np.isfinite(made), made, np.nan)
        rooms = [np.full(len(made), near)]
        if operation.powers is not None:
            by = sum(power * part / np.abs(v) for power, part, v in zip(operation.powers, nears, of, strict=True))
            rooms.append(near + np.where(np.isfinite(by), np.abs(made) * by, 0.0))
    return made, rooms


def converted(x: Any, made: Any, operation: Operation) -> str | None:
    """The conversion by which numbers differ from what is made in their rows, all by one factor; None if it is no usual one."""
    import numpy as np

    factors = made / x
    factors = factors[np.isfinite(factors) & (factors > 0)]
    if operation.powers is None or len(factors) < FEW:
        return None
    low, usual, high = np.quantile(factors, [0.1, 0.5, 0.9])
    if high > (1 + UNLIKE) ** 2 * low or max(usual, 1 / usual) < LARGE:
        return None
    for name, factor in FACTORS.items():
        for power in {*operation.powers}:
            if abs(abs(math.log(usual)) - power * abs(math.log(factor))) <= UNLIKE:
                return name
    return None


def _likely(x: Any, made: Any, room: Any) -> bool:
    """Whether some numbers are what they are made of, or too few of them are known."""
    import numpy as np

    apart = np.abs(x - made)
    known = apart == apart
    return bool(known.sum() < TRIED or (apart[known] <= room[known]).mean() >= USUAL * 0.8)


def number_given(x: Any, made: Any, room: Any, of: tuple[Any, ...]) -> Any:
    """Whether each number is what it is made of, but for ``room``, bool [n]; None if most are not, or one of the parts alone gives as many, or
    rounding leaves too much room."""
    import numpy as np

    there = np.flatnonzero(np.isfinite(x) & np.isfinite(made))
    if len(there) < LEAST:
        return None
    some = there[np.linspace(0, len(there) - 1, TRIED).astype(np.int64)]
    room = np.broadcast_to(room, x.shape)
    if (np.abs(x[some] - made[some]) <= room[some]).mean() < USUAL * 0.8:
        return None
    given = np.abs(x - made) <= room
    own = [float((np.abs(x - one) <= room)[there].mean()) for one in of]
    varied = len(np.unique(x[there][given[there]])) >= 3 * VALUES
    return given if varied and given[there].mean() >= max(USUAL, 2 * max(own, default=0.0)) else None


CHECK = Derived
