"""Series of one row a step, such as a row a day for each store: rows that stand twice, gaps, and times that have not come yet.

Which fields name a series is found from the times: within each of them nearly all steps must be equally long.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digests, digests_of
from dataloader_expert.checks.common.grids import DAY, HOUR, YEAR, Grid, grid_of, moment, of_calendar, seconds_of
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.series.odd_steps import OddSteps, odd_steps
from dataloader_expert.checks.series.row_order import UNORDERED, RowOrder, events_out_of_order, order_said, row_order
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity, Unknown
from dataloader_expert.sources.base import Block

REPEATED = Quantity(
    "repeated_steps", "samples", "samples with the same time as an earlier one of the same series and split"
)
GAPS = Quantity(
    "time_gaps", "series", "series that lack samples at many consecutive times at which other series have some"
)
STEPS = Quantity("odd_time_steps", "steps", "steps unlike all others in series that are otherwise strictly regular")
SILENCE = Quantity(
    "time_without_samples", "", "the longest time without samples, and how many times as long as the next longest"
)
FUTURE = Quantity("future_times", "samples", "samples with a time that has not come yet")
MOST = 500_000
"""The most samples whose times are kept, at 56 bytes each."""
EVENTS, MOMENTS, SILENT, LONGEST, GOES_ON = 1_000, 100, 12.0, 200, 3.0
"""The fewest events, and different times of these, of which a silence is told; how many times as long as any other, and as their median, it is;
and how many times as long as it samples go on before and after it, where they are no two recordings."""
GAP = 20
"""The fewest times in a row that a gap has."""
PLANNED = 0.05
"""The largest share of times to come that are taken for errors: of more, they are planned or made up."""


class Series(Check):
    ids = ("duplicate-keys", "time-gap", "future-times", "order-reversed")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.calendar = context.calendar
        """The fields that make a time together, where none is one."""
        self.time = context.timed.field if context.timed is not None else "-".join(self.calendar) or None
        self.fields = context.series_fields
        self.parts: list[tuple[Any, ...]] = []
        """Of each block: times, float64 [n], NaN without one; digests of its splits, uint64 [n], and of the candidates,
        uint64 [n, fields]; indices, int64 [n]."""
        self.kept = 0
        self.files = Files()

    def applies(self) -> bool:
        return self.time is not None

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        parts = self.calendar or [self.time or ""]
        if not all(name in block.columns for name in parts) or not block.samples or self.kept >= MOST:
            return
        self.files.note(block)
        names, codes = self.context.splits_of(block)
        keys = [digests(block, [name]) for name in self.fields if name in block.columns]
        if len(keys) < len(self.fields):
            return
        series = np.stack(keys, axis=1) if keys else np.zeros((block.samples, 0), np.uint64)
        times = [seconds_of(block.columns[name], block.samples) for name in parts]
        seconds = of_calendar(times) if self.calendar else times[0]
        self.parts.append((seconds, digests_of(names)[codes], series, block.indices()))
        self.kept += block.samples

    def merge(self, other: Check) -> None:
        assert isinstance(other, Series)
        self.seen += other.seen
        self.parts += other.parts
        self.kept += other.kept
        self.files.merge(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.parts or self.time is None:
            return
        times, splits, series, index = (np.concatenate(parts) for parts in zip(*self.parts, strict=True))
        evidence = self.evidence(n=self.kept)
        kind = next((f.kind for f in self.context.fields if f.name == self.time), "")
        if kind != "number":  # of which the unit is unknown
            ahead = np.flatnonzero(times > time.time() + DAY)  # whatever the time zone
            if 0 < len(ahead) <= PLANNED * len(times):
                value = {"count": len(ahead), "latest": float(times[ahead].max()), "where": self._places(index[ahead])}
                yield Fact(FUTURE, value, evidence, {"field": self.time})
        there = ~np.isnan(times)
        times, splits, series, index = times[there], splits[there], series[there], index[there]
        order = np.argsort(index, kind="stable")  # whatever the order in which blocks were read
        times, splits, series, index = times[order], splits[order], series[order], index[order]
        grid = grid_of(times, series, self.fields) if self.seen == self.kept else None
        if grid is None:
            yield from self._silence(times, splits, index, evidence)
            yield from self._events(times, splits, series, index, evidence)
            return
        yield from self._repeated(grid, splits, index, evidence)
        yield from self._order(grid, splits, index, evidence)
        odd = odd_steps(grid)
        yield from self._gaps(grid, odd, splits, index, evidence)
        yield from self._steps(grid, odd, index, evidence)

    def _silence(self, times: Any, splits: Any, index: Any, evidence: Any) -> Iterable[Fact]:
        """A time without any events, far longer than all others, while samples go on before and after it."""
        import numpy as np

        order = np.lexsort((index, times))
        t, of = times[order], splits[order]
        if self.seen != self.kept or len(t) < EVENTS or len(np.unique(t)) < MOMENTS:
            return  # or times are but months, or days of a few batches
        apart = np.diff(t)
        at = int(apart.argmax())
        longest, next_longest = float(apart[at]), float(np.delete(apart, at).max())
        if longest < SILENT * next_longest or longest < LONGEST * float(np.median(apart)):
            return
        before, after = float(t[at] - t[0]), float(t[-1] - t[at + 1])
        if of[at] != of[at + 1] or min(at + 1, len(t) - at - 1) < EVENTS // 10:
            return  # what lies between two splits was left out
        value = {
            "since": float(t[at]),
            "until": float(t[at + 1]),
            "times": longest / next_longest,
            "goes_on": min(before, after) >= GOES_ON * longest,
            "where": self._places(index[order][at : at + 2]),
        }
        yield Fact(SILENCE, value, evidence, {"field": self.time})

    def _repeated(self, grid: Grid, splits: Any, index: Any, evidence: Any) -> Iterable[Fact]:
        import numpy as np

        of = splits[grid.order]
        by_split = np.lexsort((index[grid.order], grid.times, of, grid.series))
        s, t, p = grid.series[by_split], grid.times[by_split], of[by_split]
        again = np.flatnonzero((s[1:] == s[:-1]) & (t[1:] == t[:-1]) & (p[1:] == p[:-1])) + 1
        if len(again):
            found = index[grid.order][by_split]
            rows = sorted({int(found[j]) for k in again[:MAX_PLACES].tolist() for j in (k - 1, k)})
            moments = np.unique(t[again])
            # a clock that is set back in autumn repeats an hour a year of all series
            back = len(moments) * grid.step / HOUR <= max(1.0, (t.max() - t.min()) / YEAR)
            all_of_them = 2 * len(again) >= len(moments) * len(np.unique(s))
            value = {
                "count": len(again),
                "step": grid.step,
                "series": list(grid.names),
                "clock": bool(grid.step < DAY and back and all_of_them),
                "where": self._places(np.array(rows)),
            }
            yield Fact(REPEATED, value, evidence, {"field": self.time})

    def _order(self, grid: Grid, splits: Any, index: Any, evidence: Any) -> Iterable[Fact]:
        found = row_order(grid, splits, self.files.numbered(index))
        if found is not None:
            yield self._unordered(found, list(grid.names), index, evidence)

    def _events(self, times: Any, splits: Any, series: Any, index: Any, evidence: Any) -> Iterable[Fact]:
        """Groups of events in no order of time, by the first field by which most are in order."""
        for k, name in enumerate(self.fields if self.seen == self.kept and len(times) else ()):
            found = events_out_of_order(series[:, k], times, splits, self.files.numbered(index))
            if found is not None:
                yield self._unordered(found, [name], index, evidence)
                return

    def _unordered(self, found: RowOrder, names: list[str], index: Any, evidence: Any) -> Fact:
        import numpy as np

        rows = np.flatnonzero(found.rows)
        files = {self.files.of(int(i)) for i in index[rows[[0, len(rows) // 2, -1]]].tolist()}
        value = {
            "kind": found.kind,
            "count": len(rows),
            "series": names,
            "odd": found.odd,
            "of": found.of,
            "part": next(iter(files)) if len(files) == 1 else None,
            "since": found.since,
            "until": found.until,
            "where": self._places(index[rows]),
        }
        return Fact(UNORDERED, value, evidence, {"field": self.time})

    def _steps(self, grid: Grid, odd: OddSteps | None, index: Any, evidence: Any) -> Iterable[Fact]:
        """Steps unlike all others, in series that are otherwise strictly regular, but for gaps of many steps."""
        import numpy as np

        if odd is None:
            return
        steps = grid.times[odd.at + 1] - grid.times[odd.at]
        for moved in (True, False):
            chosen = np.flatnonzero((odd.moved == moved) & (moved | (steps < GAP * grid.step)))
            if not len(chosen):
                continue
            at = odd.at[chosen[0]]
            rows = np.sort(index[grid.order][odd.at[chosen] + 1])
            value = {
                "count": len(chosen),
                "series": list(grid.names),
                "usual": grid.step,
                "step": float(steps[chosen[0]]),
                "since": float(grid.times[at]),
                "until": float(grid.times[at + 1]),
                "file": self.files.of(int(index[grid.order][at])),
                "moved": moved,
                "where": self._places(rows),
            }
            yield Fact(STEPS, value, evidence, {"field": self.time, "moved": moved})

    def _gaps(self, grid: Grid, odd: OddSteps | None, splits: Any, index: Any, evidence: Any) -> Iterable[Fact]:
        import numpy as np

        s, t = grid.series, grid.times
        within = np.flatnonzero(s[1:] == s[:-1])
        if not grid.names:  # one series: steps are counted, as a single wrong time would make too many to list
            steps = np.round((t - t[0]) / grid.step, 6)
            lacking = np.ceil(steps[within + 1]) - np.floor(steps[within]) - 1
        else:
            # times at which at least half of the series that have begun and not ended have a sample
            first = np.flatnonzero(np.concatenate([[True], s[1:] != s[:-1]]))
            last = np.concatenate([first[1:], [len(s)]]) - 1
            distinct = np.concatenate([[True], (t[1:] != t[:-1]) | (s[1:] != s[:-1])])
            moments, seen = np.unique(t[distinct], return_counts=True)
            begun = np.searchsorted(np.sort(t[first]), moments, side="right")
            ended = np.searchsorted(np.sort(t[last]), moments, side="left")
            usual = moments[2 * seen >= np.maximum(begun - ended, 2)]
            after, until = (
                np.searchsorted(usual, t[within], side="right"),
                np.searchsorted(usual, t[within + 1], side="left"),
            )
            lacking = until - after
        lacking = np.maximum(lacking, 0)
        wide = np.flatnonzero(lacking >= GAP)
        if len(wide):
            longest = wide[np.argmax(lacking[wide])]
            at = index[grid.order][within[wide]]
            value = {
                "count": len(wide),
                "series": list(grid.names),
                "of": len(np.unique(s[within[wide]])),
                "step": grid.step,
                "steps": int(lacking[longest]),
                "alone": odd is not None
                and (bool(grid.names) or self._goes_on(t, within[longest], splits[grid.order])),
                "since": float(t[within[longest]]),
                "until": float(t[within[longest] + 1]),
                "where": self._places(np.sort(at)),
            }
            yield Fact(GAPS, value, evidence, {"field": self.time})

    def _goes_on(self, times: Any, at: int, splits: Any) -> bool:
        """Whether a single series goes on for long before a gap and after it, in one split: else what lies between was left out, or there
        are two recordings."""
        gap = float(times[at + 1] - times[at])
        apart = min(float(times[at] - times[0]), float(times[-1] - times[at + 1]))
        return bool(splits[at] == splits[at + 1] and apart >= GOES_ON * gap)

    def _places(self, samples: Any) -> list[dict[str, Json]]:
        field = self.calendar[-1] if self.calendar else self.time
        return [{"sample": s, "file": self.files.of(s), "field": field} for s in samples[:MAX_PLACES].tolist()]

    def judge(self, facts: Facts) -> Iterable[Finding]:
        dated = next((f.kind for f in self.context.fields if f.name == self.time), "") != "number"
        for fact in facts.all(FUTURE):
            v, name = fact.value, escaped(str(fact.at["field"]))
            yield finding(
                "future-times",
                "warning",
                f"{number(v['count'], 'time')} of {name} {verb(v['count'], 'lie')} in the future, up to {moment(v['latest'], True)}",
                fact,
                "correct these times or mark them as missing; a split by time would treat these samples as the newest",
                v["where"],
                v["count"],
            )
        for fact in facts.all(REPEATED):
            v = fact.value
            clock = ", as when the clock is set back" if v["clock"] else ""
            yield finding(
                "duplicate-keys",
                "info" if v["clock"] else "warning",
                f"{number(v['count'], 'row')} {verb(v['count'], 'repeat')} the {_joined([*v['series'], str(self.time)])} of an earlier row"
                f"{clock}{_usual(v, dated)}",
                fact,
                "keep one row for each; check the source to see which one is right"
                if not clock
                else "record times in UTC, or with their offset",
                v["where"],
                v["count"],
            )
        kinds = [f.kind for f in self.context.fields if f.name != self.time]
        for fact in facts.all(UNORDERED):
            yield order_said(fact, dated, kinds.count("number") > 1 and "text" not in kinds)
        for fact in facts.all(SILENCE):
            v, name = fact.value, escaped(str(fact.at["field"]))
            yield finding(
                "time-gap",
                # between two recordings there are no samples either
                "warning" if v["goes_on"] else "info",
                f"{name} has no sample between {moment(v['since'], dated or _is_epoch(v['since']))} and "
                f"{moment(v['until'], dated or _is_epoch(v['until']))}, a gap {v['times']:,.0f} times as long as any other",
                fact,
                "find out whether samples of this time were lost; counts and rates over time are wrong across the gap",
                v["where"],
                1,
            )
        for fact in facts.all(GAPS):
            v = fact.value
            whose = f"{v['of']:,} of the series by {_joined(v['series'])} have" if v["series"] else "the series has"
            if v["of"] == 1 and v["series"]:
                whose = f"one of the series by {_joined(v['series'])} has"
            others = "at which others have rows" if v["series"] else "without rows"
            yield finding(
                "time-gap",
                # what hardly ever lacks a step elsewhere has lost rows
                "warning" if v["alone"] else "info",
                f"{whose} gaps of at least {GAP} steps {others}; the longest is {v['steps']:,} steps, between {moment(v['since'], dated)} "
                f"and {moment(v['until'], dated)}",
                fact,
                "find out whether rows were lost; windows and lags that are counted in rows are wrong across a gap",
                v["where"],
                v["count"],
            )

        for fact in facts.all(STEPS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            of = f" for each {_joined(v['series'])}" if v["series"] else ""
            text = f"{name} goes on by {_length(v['step'], dated)} once between {moment(v['since'], dated)} and {moment(v['until'], dated)}"
            if v["count"] > 1:
                text = f"{name} goes on by another step than usual {v['count']:,} times, such as by {_length(v['step'], dated)} between "
                text += f"{moment(v['since'], dated)} and {moment(v['until'], dated)}"
            text += f" (in {escaped(v['file'])})" if v["file"] and v["series"] else ""
            text += f"; all other steps are {_length(v['usual'], dated)}{of}"
            if v["moved"]:
                text += ". From there on all its times lie off those of the others, with as many rows: its clock seems to have been set"
            fix = (
                "find out whether the clock was set, and move the later times back"
                if v["moved"]
                else "find out whether rows were lost or a clock was set"
            )
            yield finding("time-gap", "warning" if v["moved"] else "info", text, fact, fix, v["where"], v["count"])

    def unknowns(self) -> Iterable[Unknown]:
        if self.applies() and self.kept < self.seen:
            yield Unknown(
                "time-gap", f"only {self.kept:,} of {self.seen:,} times were kept to look for gaps and repeated steps"
            )


def _is_epoch(seconds: float) -> bool:
    """Whether a number may count seconds since 1970: from 1990 to 2040."""
    return 6.3e8 <= seconds <= 2.2e9


def _length(seconds: float, dated: bool) -> str:
    """A step in words, in the largest unit that fits it."""
    for unit, size in (("day", DAY), ("hour", HOUR), ("minute", 60.0)):
        if dated and seconds >= size and seconds % size == 0:
            return number(int(seconds / size), unit)
    return f"{seconds:g} s" if dated else f"{seconds:g}"


def _usual(value: dict[str, Any], dated: bool) -> str:
    """How often rows come in what follows."""
    if not dated:
        return ""
    whose = f" for each {_joined(value['series'])}" if value["series"] else ""
    for unit, seconds in (("day", DAY), ("hour", HOUR), ("minute", 60.0), ("second", 1.0)):
        if value["step"] == seconds:
            return f"; normally there is one row a{'n' * (unit == 'hour')} {unit}{whose}"
    return f"; normally there is one row every {value['step']:g} s{whose}"


def _joined(names: Sequence[str]) -> str:
    return " and ".join(map(escaped, names))


CHECK = Series
