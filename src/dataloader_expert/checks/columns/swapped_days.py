"""Dates in which day and month are swapped, as 03/04 for 04/03, in the rows of one file or station: its days beyond 12 are written with
the day first, and the others with the month first, as a program does that guesses the format of each text by itself.

What a single date means cannot be told, but rows in the order of time can: read as they are written, such dates run back again and again,
and far away from their neighbours; read the other way, all are in order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.day_month import with_days_swapped
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.recorded import FILE, is_place
from dataloader_expert.checks.common.rows_kept import (
    LONGEST_TIME,
    Named,
    distinct,
    files_of,
    in_order,
    moments_of,
    places,
)
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.times import is_time, read_time

SWAPPED = Quantity(
    "days_swapped", "samples", "dates that are only in order with their neighbours after swapping day and month"
)
KEPT, CELLS, MOST, GROUPS = 20_000, 2_000_000, 4, 200
"""The most rows, and values, that are kept; the most fields of dates, and groups of rows."""
READ = 8
"""Texts of a block that tell whether the others are dates."""
SURE, BACK, RARELY, FARTHER = 10, 3, 0.1, 3.0
"""The fewest dates of a group that allow one reading only, and that run back as they are written; the most of the way
back that is left the other way, as a share: matches of one weekend are in no order; and how many times as far all steps lead as they do then."""


class SwappedDays(DrawnRows):
    ids = ("dtype-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        plain = [f for f in context.fields if not f.shape]
        self.dates = [f.name for f in plain if f.dtype == "str" and f.kind != "text"][: 4 * MOST]
        self.read = [f.name for f in plain if f.kind == "time" and f.dtype != "str"][:MOST]
        """Fields of dates that allow one reading, which may have been written from another one."""
        places = [f.name for f in plain if f.kind == "category" and is_place(f.name)]
        groups = dict.fromkeys((FILE, *context.series_fields, *places))
        self.groups = {name: Named(GROUPS) for name in groups} if self.dates or self.read else {}
        self.ambiguous: set[str] = set()
        """The fields that have dates which may be read in two ways."""
        self.drawn = Drawn(min(KEPT, CELLS // max(1, 2 * len(self.dates) + 2 * len(self.read) + len(self.groups))))
        self.beside = [*self.groups.values()]

    def applies(self) -> bool:
        return bool(self.dates or self.read)

    def looked(self) -> bool:
        return bool(self.ambiguous)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept: dict[str, Any] = {}
        for name in self.dates:
            texts, codes = distinct(block.columns.get(name), rows, LONGEST_TIME)
            first, other = readings([text.strip() for text in texts])
            if bool((abs(first - other) > 0).any()):  # NaN is not
                self.ambiguous.add(name)
            kept[f"day {name}"], kept[f"month {name}"] = first[codes], other[codes]
        for name in self.read:
            moments = moments_of(block.columns.get(name), rows)
            other = with_days_swapped(moments)
            if bool(np.isfinite(other).any()):
                self.ambiguous.add(name)
            kept[f"day {name}"], kept[f"month {name}"] = other, moments
        for name, named in self.groups.items():
            column = block.columns.get(name)
            kept[f"group {name}"] = named.coded(files_of(block, rows)) if name == FILE else named.of(column, rows)
        return kept

    def merge(self, other: Check) -> None:
        assert isinstance(other, SwappedDays)
        super().merge(other)
        self.ambiguous |= other.ambiguous

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.ambiguous or not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        for name in [name for name in (*self.dates, *self.read) if name in self.ambiguous][:MOST]:
            day, month = rows[f"day {name}"], rows[f"month {name}"]
            # where a day is beyond 12, it tells how the column is written
            written, other = (
                (day, month) if name in self.dates and np.isnan(month).sum() >= np.isnan(day).sum() else (month, day)
            )
            for group, named in self.groups.items():
                if named.many:
                    continue
                values, whose = np.unique(rows[f"group {group}"], return_inverse=True)
                odd = [k for k in range(len(values)) if swapped(written[whose == k], other[whose == k])]
                mask = np.isin(whose, odd) & np.isfinite(written) & np.isfinite(other) & (written != other)
                if mask.any():
                    called = [named.texts.get(int(values[k]), "") for k in odd]
                    value = {
                        "of": called,
                        "groups": len(values),
                        "count": int(mask.sum()),
                        "day_first": written is day,
                        "parsed": name in self.read,
                    }
                    value["where"] = places(rows, mask, name)
                    yield Fact(SWAPPED, value, self.evidence("sampled", len(day)), {"field": name, "group": group})
                    break

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SWAPPED):
            v, name, group = fact.value, escaped(str(fact.at["field"])), str(fact.at["group"])
            some = ", ".join(map(escaped, v["of"][:3])) + (", …" if len(v["of"]) > 3 else "")
            where = f"in {some}" if group == FILE else f"of the rows in which {escaped(group)} is {some}"
            if len(v["of"]) == v["groups"]:
                where = "of all rows"
            if v["parsed"]:
                text = f"{name} has day and month swapped in {number(v['count'], 'date')} {where}: as they are, the rows keep jumping back in "
                text += "time; with the two swapped back, they are in order"
                fix = "find out how these dates were parsed, and swap the day (up to 12) and the month back"
                yield finding("dtype-drift", "warning", text, fact, fix, v["where"], v["count"])
                continue
            first = "day" if v["day_first"] else "month"
            text = f"{name} has day and month swapped in {number(v['count'], 'date')} {where}: read with the {first} first, like the unambiguous "
            text += "dates, the rows keep jumping back in time; read the other way, they are in order"
            fix = f"rewrite these dates with the {first} first, or all dates as YYYY-MM-DD"
            yield finding("dtype-drift", "warning", text, fact, fix, v["where"], v["count"])


def readings(texts: list[str]) -> tuple[Any, Any]:
    """Seconds since 1970 with the day first, and with the month first, float64 [n] each; NaN where a text is no date that way. All NaN
    where texts are no dates."""
    import numpy as np

    known = [text for text in texts if text][:READ]
    if not known or not all(map(is_time, known)):
        return np.full(len(texts), np.nan), np.full(len(texts), np.nan)
    made = np.array([read_time(text) if text else (None, None) for text in texts], np.float64)
    return made[:, 0], made[:, 1]


def swapped(written: Any, other: Any) -> bool:
    """Whether times, in the order of rows, run back as they are written and not once those that may be read another way are; of both
    kinds there are enough."""
    import numpy as np

    sure = np.isfinite(written) & ~np.isfinite(other)
    open_ = np.isfinite(written) & np.isfinite(other) & (written != other)
    if sure.sum() < SURE or open_.sum() < SURE:
        return False
    there = np.isfinite(written)
    as_is = np.diff(written[there])
    moved = np.diff(np.where(open_, other, written)[there])
    back = int(min((as_is < 0).sum(), (as_is > 0).sum()))
    led, still = (float(min(-steps[steps < 0].sum(), steps[steps > 0].sum())) for steps in (as_is, moved))
    return back >= BACK and still <= RARELY * led and bool(np.abs(as_is).sum() >= FARTHER * np.abs(moved).sum())


CHECK = SwappedDays
