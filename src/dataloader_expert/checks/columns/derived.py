"""Columns that are made of others, such as the day of the week of a date or a sum, and are not in one split, group or stretch of rows.

What a column is made of is told by exact arithmetic on most rows: a part of a date under one way of counting, or the sum, difference or
product of two numbers. Rows that break it here and there are rounded, corrected or of another time zone; only where nearly all rows of one part break
it, and hardly any others, one of the columns is wrong there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.rows_kept import Named, digest_of
from dataloader_expert.checks.common.scores import correlation, nearness
from dataloader_expert.checks.common.series_rows import MOST, SeriesRows, seconds_of
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
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "product": lambda a, b: a * b,
}


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
        rows = np.arange(min(block.samples, MOST - block.unit.start))
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
                given = part_given(x, values, PERIODS.get(part, 0))
                if given is not None and name not in made:
                    made[name] = part, [date], given, np.isfinite(x) & np.isfinite(values)
            for one, other in combinations(self.dates, 2):
                days = np.abs(kept[f"date {one}"] - kept[f"date {other}"]) / DAY
                for unit, far in (("days", days), ("years", np.floor(days / YEAR))):
                    given = number_given(x, far, 1.0, ())
                    if given is not None and name not in made:
                        made[name] = f"{unit} between", [one, other], given, np.isfinite(x) & np.isfinite(far)
        for name, (part, of, given, there) in made.items():
            told = self._told(kept, given, there, {*made})
            if told is not None and part != HOUR:  # summer time changes it
                yield self._fact(name, part, of, told)

    def _of_numbers(self, kept: dict[str, Any]) -> Iterator[Fact]:
        """Sums, differences and products of two numbers."""
        import numpy as np

        looked: list[set[str]] = []
        numbers = {name: kept[f"number {name}"] for name in self.numbers}
        known = {name: v for name, v in numbers.items() if len(np.unique(v[np.isfinite(v)][:1000])) >= VALUES}
        every = len(next(iter(numbers.values()), ()))
        some = np.linspace(0, max(0, every - 1), min(every, 8 * TRIED)).astype(np.int64)
        tried = {name: v[some] for name, v in known.items()}
        for name, x in known.items():
            near = nearness(x)
            for a, b in combinations([other for other in known if other != name], 2):
                for operation, of in OPERATIONS.items():
                    if not _likely(tried[name], of(tried[a], tried[b]), near):
                        continue
                    given = number_given(x, of(known[a], known[b]), near, (known[a], known[b]))
                    if given is None or any(len({name, a, b} & others) > 1 for others in looked):
                        continue
                    looked.append({name, a, b})  # of three that go together, each is made of the others
                    there = np.isfinite(x) & np.isfinite(known[a]) & np.isfinite(known[b])
                    odd = there & ~given
                    if abs(correlation(x[odd], of(known[a], known[b])[odd])) >= ALIKE:
                        continue  # a tax, a discount, another rounding
                    found = self._told(kept, given, there, {name, a, b})
                    if found is not None:
                        yield self._fact(name, operation, [a, b], found)

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
            link = " " if v["part"].endswith("between") else " of "
            text = f"{name} is the {v['part']}{link}{of} everywhere except {self.part_said(v)}: {v['count']:,} of all "
            text += f"{number(v['of'], 'row')} do not match"
            fix = f"find out which of these columns is wrong there, and recompute {name} from {of}"
            where = [{"sample": v["sample"], "file": self.files.of(v["sample"]), "field": fact.at["field"]}]
            yield finding("columns-contradict", "warning", text, fact, fix, where, v["count"])


def part_given(x: Any, values: Any, period: int) -> Any:
    """Whether each value is the one that its part of a date usually has, bool [n]: so many more, or one of its own; None if most have none."""

    if len(x) > SOME and _part_given(x[:: len(x) // SOME], values[:: len(x) // SOME], period, LIKELY) is None:
        return None
    return _part_given(x, values, period, USUAL)


def _part_given(x: Any, values: Any, period: int, usually: float) -> Any:
    import numpy as np

    both = np.isfinite(x) & np.isfinite(values)
    if both.sum() < LEAST:
        return None
    names, a = np.unique(x[both], return_inverse=True)
    parts, b = np.unique(values[both], return_inverse=True)
    if not VALUES <= len(parts) <= 400 or len(names) > 2 * len(parts) or len(names) < VALUES:
        return None
    given = np.zeros(len(x), bool)
    _, which, counts = np.unique(
        (x - values)[both] % period if period else (x - values)[both], return_inverse=True, return_counts=True
    )
    if counts.max() >= usually * both.sum() and len(parts) >= VALUES:
        given[both] = which == counts.argmax()
        return given
    table = np.zeros((len(parts), len(names)), np.int64)
    np.add.at(table, (b, a), 1)
    usual = table.argmax(1)
    if table.max(1).sum() < usually * both.sum() or len(np.unique(usual)) < len(parts):
        return None
    given[both] = usual[b] == a
    return given


def _likely(x: Any, made: Any, near: float) -> bool:
    """Whether some numbers are what they are made of, or too few of them are known."""
    import numpy as np

    apart = np.abs(x - made)
    known = apart == apart
    return bool(known.sum() < TRIED or (apart[known] <= near).mean() >= USUAL * 0.8)


def number_given(x: Any, made: Any, near: float, of: tuple[Any, ...]) -> Any:
    """Whether each number is what it is made of, bool [n]; None if most are not, or one of the parts alone gives as many."""
    import numpy as np

    there = np.flatnonzero(np.isfinite(x) & np.isfinite(made))
    if len(there) < LEAST:
        return None
    some = there[np.linspace(0, len(there) - 1, TRIED).astype(np.int64)]
    if (np.abs(x[some] - made[some]) <= near).mean() < USUAL * 0.8:
        return None
    given = np.abs(x - made) <= near
    own = [float((np.abs(x - one) <= near)[there].mean()) for one in of]
    varied = len(np.unique(x[there][given[there]])) >= 3 * VALUES
    return given if varied and given[there].mean() >= max(USUAL, 2 * max(own, default=0.0)) else None


CHECK = Derived
