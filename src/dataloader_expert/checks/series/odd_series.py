"""Series of which a few are of another kind for a while, or throughout: added up instead of one value a step, held at one value, drawn as a
straight line between two, or the values of another series.

What is usual is told by the other series, and by the rest of a series itself: smooth ones rise for long, and stay at zero for long in all
their seasons. A run counts if it is far longer than all of these, and its values do what chance does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.grids import Grid, grid_of, of_calendar, seconds_of
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.recorded import FEWEST, few, is_place
from dataloader_expert.checks.common.rows_kept import Named, numbers_of
from dataloader_expert.checks.common.steps import step_of
from dataloader_expert.checks.common.treatments import placeholders
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

RUNS = Quantity(
    "odd_runs",
    "samples",
    "rows of series in which a field only rises, stays, or follows a straight line, unlike elsewhere",
)
COPIES = Quantity(
    "copied_series", "samples", "rows of a series whose values are those of another one at the same times"
)
MOST, FIELDS, NAMES = 300_000, 8, 5_000
"""The most rows that are kept, fields that are looked at, and names of series that are known by their texts."""
LEAST, LONGER, CHANCE = 24, 5, 1e-12
"""The fewest steps of a run, how many times as long as any other it is, and how unlikely by chance."""
REST = 80
"""The fewest other rows of a series that tell what is usual of it."""
MOSTLY, LIKE = 0.5, 3.0
"""The least share of steps up in a run that adds up, and how many times as large as values elsewhere its steps may be, or these as them."""
VALUES, SEVERAL = 5, 3
"""The fewest distinct values of what is no flag, and of how many series that are named by two fields zeros are told: one item may be out of
stock."""
RARE = 0.05
"""The largest share of other rows in which another field has the value that it holds throughout a run, if that explains the run."""
WINDOW, DISTINCT, TWICE = 24, 8, 2
"""Steps of a window that is compared with those of other series, the fewest distinct values in it, and the fewest equal windows."""
AMBIENT = {
    "temp", "temperature", "weather", "humidity", "wind", "rain", "precipitation", "snow", "pressure", "sun", "cloud", "radiation", "irradiance",
    "cpi", "price", "fuel", "oil", "rate", "index", "unemployment", "holiday", "population", "latitude", "longitude", "lat", "lon", "lng",
}  # fmt: skip
"""Words in the names of what neighbouring series share by nature."""
ADDED, HELD, DRAWN = "added up", "held", "drawn"


class Runs(NamedTuple):
    """Runs of steps with a property, one an element: the first row, how many steps, and of which series, in the order of the grid."""

    first: Any
    steps: Any
    series: Any


@dataclass(frozen=True)
class Odd:
    """The runs, by their first rows and steps, that are longer than all others, of which the longest has ``usual`` steps."""

    first: list[int]
    steps: list[int]
    usual: int


class OddSeries(Check):
    ids = ("scale-drift", "stuck-values", "duplicate-samples")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.calendar = context.calendar
        self.time = context.timed.field if context.timed is not None else None
        roles = context.roles
        self.series = context.series_fields
        aside = {r.field for r in (roles.split, roles.time, context.grouped, *roles.keys) if r is not None}
        aside |= {*self.calendar, *(name for name in self.series if is_place(name))}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        self.fields = [
            f.name for f in plain if f.kind == "number" or (f.kind == "boolean" and f.name != context.label)
        ][:FIELDS]
        self.called = {name: Named(NAMES, whole=True) for name in self.series}
        self.parts: list[dict[str, Any]] = []
        self.files = Files()

    def applies(self) -> bool:
        return bool(self.fields) and (self.time is not None or bool(self.calendar))

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        rows = np.flatnonzero(block.indices() < MOST) if block.samples and self.applies() else ()
        if not len(rows):
            return
        self.files.note(block)
        times = [
            seconds_of(block.columns[n], block.samples)[rows]
            for n in self.calendar or [self.time or ""]
            if n in block.columns
        ]
        if len(times) < max(1, len(self.calendar)):
            return
        kept = {"time": of_calendar(times) if self.calendar else times[0], "sample": block.indices(rows)}
        for name, named in self.called.items():
            kept[f"series {name}"] = named.of(block.columns.get(name), rows)
        for name in self.fields:
            kept[f"number {name}"] = numbers_of(block.columns.get(name), rows)
        self.parts.append(kept)

    def merge(self, other: Check) -> None:
        assert isinstance(other, OddSeries)
        self.seen += other.seen
        self.parts += other.parts
        self.files.merge(other.files)
        for name, named in other.called.items():
            self.called[name].merge(named)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.parts:
            return
        rows = {name: np.concatenate([part[name] for part in self.parts]) for name in self.parts[0]}
        order = np.argsort(rows["sample"])
        order = order[np.isfinite(rows["time"][order])]
        rows = {name: values[order] for name, values in rows.items()}
        digests = (
            np.stack([rows[f"series {name}"] for name in self.series], 1)
            if self.series
            else np.zeros((len(order), 0), np.uint64)
        )
        grid = grid_of(rows["time"], digests, self.series)
        if grid is None:
            return
        rows = {name: values[grid.order] for name, values in rows.items()}
        whose = np.cumsum(np.concatenate([[0], grid.series[1:] != grid.series[:-1]]))
        for name in self.fields:
            values = rows[f"number {name}"]
            marks = placeholders(*np.unique(values[np.isfinite(values)], return_counts=True))
            if marks or not np.isfinite(values).all():
                values = np.where(np.isfinite(values) & ~np.isin(values, marks), values, np.nan)
            found = self._runs(name, values, whose, rows, grid)
            yield from found
            if not found:
                yield from self._copies(name, values, whose, rows, grid)

    def _runs(self, name: str, values: Any, whose: Any, rows: dict[str, Any], grid: Grid) -> list[Fact]:
        """What runs of the field are odd, of the first kind of which there are any."""
        for kind, odd in (
            (ADDED, added_up(values, whose)),
            (HELD, held(values, whose)),
            (DRAWN, drawn(values, whose)),
        ):
            if odd is None or self._explained(name, odd, rows, whose, grid):
                continue
            places = sorted({int(rows["sample"][first]) for first in odd.first})
            ends = [first + steps for first, steps in zip(odd.first, odd.steps, strict=True)]
            value = {
                "kind": kind,
                "series": [self._called(rows, first, grid) for first in odd.first],
                "of": int(whose[-1]) + 1,
                "names": list(grid.names),
                "steps": max(odd.steps) + 1,
                "usual": odd.usual,
                "zero": kind == HELD and all(values[first] == 0 for first in odd.first),
                "at_an_end": any(
                    first == 0
                    or whose[first - 1] != whose[first]
                    or end == len(whose) - 1
                    or whose[end + 1] != whose[end]
                    for first, end in zip(odd.first, ends, strict=True)
                ),
                "rows": sum(odd.steps) + len(odd.steps),
                "where": [{"sample": s, "file": self.files.of(s), "field": name} for s in places[:20]],
            }
            return [Fact(RUNS, value, self.evidence("sampled", len(values)), {"field": name})]
        return []

    def _explained(self, name: str, odd: Odd, rows: dict[str, Any], whose: Any, grid: Grid) -> bool:
        """Whether another field holds one value throughout a run that is rare in the rest of its series: a shop that is closed."""

        first, steps = odd.first[0], odd.steps[0]
        inside = slice(first, first + steps + 1)
        rest = whose == whose[first]
        rest[inside] = False
        others = [
            key
            for key in rows
            if key not in ("time", "sample", f"number {name}") and key.removeprefix("series ") not in grid.names
        ]
        for key in others if rest.sum() >= REST else ():
            mine = rows[key][inside]
            if (mine == mine[0]).all() and (rows[key][rest] == mine[0]).mean() <= RARE:
                return True
        return False

    def _copies(self, name: str, values: Any, whose: Any, rows: dict[str, Any], grid: Grid) -> Iterable[Fact]:
        import numpy as np

        n = int(whose[-1]) + 1
        pairs = copied(values, whose, np.rint((rows["time"] - rows["time"].min()) / grid.step).astype(np.int64))
        among = len({k for pair in pairs for k in pair[:2]})
        if n < FEWEST or not (among == 2 or few(among, n)):  # what most have in common is no copy
            return
        begins = np.searchsorted(whose, np.arange(n))
        for one, other, windows, at in pairs[:3]:
            keys = [f"series {s}" for s in self.series if s not in grid.names]
            if any(_shared(rows[key], whose, begins, one, other, n) for key in keys):
                continue  # two stores of one city share its weather
            value = {
                "one": self._called(rows, int(begins[one]), grid),
                "other": self._called(rows, int(begins[other]), grid),
                "names": list(grid.names),
                "rows": windows * WINDOW,
                "first": int(rows["sample"][at]),
                "file": self.files.of(int(rows["sample"][at])),
            }
            yield Fact(
                COPIES, value, self.evidence("sampled", len(values)), {"field": name, "one": one, "other": other}
            )

    def _called(self, rows: dict[str, Any], at: int, grid: Grid) -> str:
        return ", ".join(self.called[name].texts.get(int(rows[f"series {name}"][at]), "?") for name in grid.names)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(RUNS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            whose = _whose(v)
            severity: Severity = "warning"
            if v["kind"] == ADDED:
                code, text = (
                    "scale-drift",
                    f"{name} only rises for {v['steps']:,} rows{whose}, each time by about its usual value: ",
                )
                text += "it seems to be a running total there"
                fix = "take the differences between consecutive rows there"
            elif v["kind"] == HELD:
                code, text = (
                    "stuck-values",
                    f"{name} stays at one value for {v['steps']:,} rows{whose}; elsewhere for {v['usual'] + 1:,} at most",
                )
                fix = "find out whether it was measured there; if not, mark these rows as missing"
                one_of_many = len(v["names"]) > 1 and len(v["series"]) < SEVERAL
                # what is not yet, or no longer, there; and what is out of stock
                severity = "info" if v["zero"] and (v["at_an_end"] or one_of_many) else "warning"
            else:
                code, text = (
                    "stuck-values",
                    f"{name} follows a straight line for {v['steps']:,} rows{whose}: it seems to be interpolated there",
                )
                fix = "mark these rows as missing: interpolated values give away the value after the gap"
            yield finding(code, severity, text, fact, fix, v["where"], v["rows"])
        for fact in facts.all(COPIES):
            v, name = fact.value, escaped(str(fact.at["field"]))
            names = " and ".join(map(escaped, v["names"]))
            text = f"{name} is identical in two series ({names} {escaped(v['one'])} and {escaped(v['other'])}) at "
            text += f"{v['rows']:,} times or more, unlike in any other pair of series"
            ambient = bool({*words(str(fact.at["field"]))} & AMBIENT)
            where = [{"sample": v["first"], "file": v["file"], "field": fact.at["field"]}]
            fix = "find out which of the two it was measured for, and drop the other"
            yield finding("duplicate-samples", "info" if ambient else "warning", text, fact, fix, where, v["rows"])


def _whose(value: dict[str, Any]) -> str:
    if not value["names"]:
        return ""
    names = " and ".join(map(escaped, value["names"]))
    called = [escaped(text) for text in value["series"][:2]]
    more = f" and {number(len(value['series']) - 2, 'other')}" if len(value["series"]) > 2 else ""
    return f" of {' and '.join(called) if not more else ', '.join(called)}{more} (series by {names})"


def runs_of(held: Any, whose: Any) -> Runs:
    """Runs of marked steps, bool [rows - 1], from each row to the next, within one series."""
    import numpy as np

    marks = np.concatenate([[False], held & (whose[1:] == whose[:-1]), [False]])
    edges = np.flatnonzero(marks[1:] != marks[:-1])
    first, end = edges[::2], edges[1::2]
    return Runs(first, end - first, whose[first])


def longest(runs: Runs, whose: Any) -> Odd | None:
    """Runs of a few series that are far longer than any run of the others, and any other of their own; of a single series than any other
    of its own. None if there are none."""
    import numpy as np

    n = int(whose[-1]) + 1
    if not len(runs.steps):
        return None
    order = np.lexsort((-runs.steps, runs.series))
    series, steps = runs.series[order], runs.steps[order]
    lead = np.flatnonzero(np.concatenate([[True], series[1:] != series[:-1]]))
    most, second = np.zeros(n, np.int64), np.zeros(n, np.int64)
    most[series[lead]] = steps[lead]
    after = np.minimum(lead + 1, len(series) - 1)
    own = (series[after] == series[lead]) & (after > lead)
    second[series[lead[own]]] = steps[after[own]]
    usual = int(np.sort(most)[max(0, math.ceil(2 * n / 3) - 1)]) if n > 2 else 0
    odd = np.flatnonzero((most >= LEAST) & (most >= LONGER * max(1, usual)))
    if n > 2 and not few(len(odd), n):
        return None
    if n <= 2:  # only its own rows tell what is usual of it
        odd = odd[np.bincount(whose, minlength=n)[odd] - most[odd] > REST]
    calm = np.concatenate([np.delete(most, odd), second[odd]])
    usual = int(calm.max())
    odd = odd[most[odd] >= LONGER * max(1, usual)]
    if not len(odd):
        return None
    first = {int(series[i]): int(runs.first[order[i]]) for i in lead.tolist()}
    return Odd([first[k] for k in odd.tolist()], [int(most[k]) for k in odd.tolist()], usual)


def _inside(odd: Odd, rows: int) -> Any:
    """Rows of the runs, bool [rows]."""
    import numpy as np

    inside = np.zeros(rows, bool)
    for first, steps in zip(odd.first, odd.steps, strict=True):
        inside[first : first + steps + 1] = True
    return inside


def _by_chance(odd: Odd, marks: Any, whose: Any) -> bool:
    """Whether chance makes runs of so many steps, as steps elsewhere tell."""
    inside = _inside(odd, len(whose))
    steps = ~inside[1:] & ~inside[:-1] & (whose[1:] == whose[:-1])
    logs = []
    for first, length in zip(odd.first, odd.steps, strict=True):
        own = steps & (whose[1:] == whose[first])
        among = own if own.sum() >= REST else steps
        if among.sum() < REST:
            return True
        logs.append(length * math.log(max(float(marks[among].mean()), 1 / int(among.sum()))))
    return max(logs) + math.log(len(whose)) > math.log(CHANCE)


def added_up(values: Any, whose: Any) -> Odd | None:
    """Runs that hardly do anything but rise, by steps as large as values are elsewhere."""
    import numpy as np

    moved = np.diff(values)
    rising = moved >= 0
    odd = longest(runs_of(rising, whose), whose)
    if odd is None or _by_chance(odd, rising, whose):
        return None
    outside = np.where(_inside(odd, len(whose)), np.nan, values)
    for first, steps in zip(odd.first, odd.steps, strict=True):
        up = moved[first : first + steps]
        if (up > 0).mean() < MOSTLY:
            return None
        own = outside[whose == whose[first]]
        own = own[np.isfinite(own)]
        step = float(np.median(up[up > 0]))
        others = own if len(own) >= REST else outside[np.isfinite(outside)]
        if not len(others) or not np.median(others) / LIKE <= step <= np.median(others) * LIKE:
            return None
    return odd


def held(values: Any, whose: Any) -> Odd | None:
    """Runs of one value of a few of several series."""
    import numpy as np

    same = np.diff(values) == 0
    odd = longest(runs_of(same, whose), whose) if whose[-1] > 1 else None
    if odd is None or _by_chance(odd, same, whose):
        return None
    outside = values[~_inside(odd, len(whose))]
    return odd if len(np.unique(outside[np.isfinite(outside)])) >= VALUES else None


def drawn(values: Any, whose: Any) -> Odd | None:
    """Runs that rise or fall by the same amount from row to row, but for the rounding of values."""
    import numpy as np

    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    step = step_of(finite[finite != 0]) if (finite != 0).any() else 0.0
    room = 2.01 * step if step > 0 else 1e-9 * float(np.abs(finite).max())
    moved = np.diff(values)
    even = np.zeros(len(moved), bool)
    even[1:] = (np.abs(np.diff(moved)) <= room) & (whose[2:] == whose[:-2])
    odd = longest(runs_of(even, whose), whose)
    if odd is None or _by_chance(odd, even, whose):
        return None
    for first, steps in zip(odd.first, odd.steps, strict=True):
        slope = moved[first : first + steps]
        if not ((slope >= 0).all() or (slope <= 0).all()) or abs(float(slope.sum())) <= 2 * room:
            return None
        run = values[first : first + steps + 1]
        if np.abs(run - np.linspace(run[0], run[-1], len(run))).max() > room:
            return None  # a count that now and then rises by one
    return odd


def copied(values: Any, whose: Any, times: Any) -> list[tuple[int, int, int, int]]:
    """Pairs of series with equal windows at the same times: the two, how many windows, and a row of the first of them. ``times`` in steps."""
    import numpy as np

    begins = np.flatnonzero(times[: len(times) - WINDOW + 1] % WINDOW == 0)
    ends = begins + WINDOW - 1
    whole = (whose[ends] == whose[begins]) & (times[ends] - times[begins] == WINDOW - 1)
    begins = begins[whole]
    if not len(begins):
        return []
    windows = values[begins[:, None] + np.arange(WINDOW)]
    varied = (np.diff(np.sort(windows, axis=1), axis=1) > 0).sum(axis=1) + 1 >= DISTINCT
    begins, windows = begins[varied], windows[varied]
    if len(begins) < 2 * TWICE:
        return []
    keyed = np.ascontiguousarray(np.concatenate([times[begins][:, None].astype(np.float64), windows + 0.0], axis=1))
    _, which = np.unique(keyed.view(np.dtype((np.void, keyed.shape[1] * 8))).ravel(), return_inverse=True)
    order = np.lexsort((whose[begins], which))
    same = np.flatnonzero(which[order][1:] == which[order][:-1])
    found: dict[tuple[int, int], list[int]] = {}
    for i in same.tolist():
        one, other = int(begins[order[i]]), int(begins[order[i + 1]])
        found.setdefault((int(whose[one]), int(whose[other])), []).append(one)
    return sorted((a, b, len(at), min(at)) for (a, b), at in found.items() if len(at) >= TWICE)


def _shared(codes: Any, whose: Any, begins: Any, one: int, other: int, n: int) -> bool:
    """Whether two series have a value of another field in common that most others lack."""
    import numpy as np

    ends = np.append(begins[1:], len(codes))
    if any((codes[begins[k] : ends[k]] != codes[begins[one]]).any() for k in (one, other)):
        return False
    return 2 * int((codes[begins] == codes[begins[one]]).sum()) <= n


CHECK = OddSeries
