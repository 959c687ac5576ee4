"""Hours of the day that a few sites or devices record otherwise than all others: in another time zone, or by a clock of twelve hours; and one
hour that holds the total of the day.

Told by when samples come, or by when their numbers are high, if all other groups agree on that. People keep different hours, and so do places
in different parts of the world: only what is the same day for all, moved by some hours, is another clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.recorded import FEWEST, few, is_place
from dataloader_expert.checks.common.rows_kept import Named, in_order, moments_of, numbers_of
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

CLOCKS = Quantity(
    "group_clocks", "hours", "by how many hours the daily pattern of some groups is shifted from that of the others"
)
TOTALS = Quantity("daily_totals", "samples", "rows of one hour that hold about the daily total, in some groups only")
KEPT, CELLS, FIELDS, TIMES, MOST_GROUPS = 20_000, 2_000_000, 8, 3, 50
HOURS, LEAST = 24, 200
"""Hours of a day, and the fewest rows of a group."""
SELDOM = 0.15
"""The least share that an hour has, of what it had if all were as frequent, where no place is shut for the night: shops open when they like."""
ALIKE, LUCK = 0.03, 1.5
"""The largest share of samples by which two days differ that are alike, beyond ``LUCK`` times what chance makes of them."""
UNLIKE, BETTER = 0.15, 2.5
"""The least share by which they differ if they are not; and how many times as much they then differ as they are and once they are moved."""
EXPLAINED, GOES_WITH, NOT_WITH = 0.1, 0.9, 0.5
"""The least share of a number's variance that the hour explains; the least correlation of days that are alike, and the most of others."""
SHARED = 0.01
"""The largest share of a number's variance that is left among rows of one time, if it is of the time and not of the group."""
MOVED = 2
"""The fewest hours by which a day is moved."""
AFTERNOON, NONE = 0.2, 0.001
"""The least share of samples after noon where others have some, and the most where there are none."""
TOTAL = (18.0, 30.0)
"""How many times as large as in other hours a number is in one that holds the total of the day."""
EACH, DAYS = 0.9, 10
"""The least share of days on which it is at least half of that, and the fewest days."""
USUAL = 3.0
"""And at most how many times, of the other groups."""
ELSEWHERE = {
    "city", "region", "country", "location", "state", "province", "continent", "timezone", "zone", "airport", "port", "user", "person", "patient",
    "subject", "driver", "operator", "observer", "rater", "annotator", "author", "speaker", "customer", "client", "player", "worker", "employee",
    "host", "year", "month", "unit",
}  # fmt: skip
"""Words in the names of fields whose values keep hours of their own."""
SECONDS = (1e8, 4e9)
"""Numbers that count seconds since 1970."""


@dataclass(frozen=True)
class Moved:
    """The groups whose day is that of the others ``hours`` later, or without afternoon if ``half``; and by what it is told."""

    odd: list[int]
    hours: int
    half: bool
    by: str | None


class GroupClocks(DrawnRows):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        timed = None if context.timed is None else context.timed.field
        aside = {r.field for r in (roles.split, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        self.times = sorted((f.name for f in plain if f.kind == "time" or f.name == timed), key=lambda n: n != timed)[
            :TIMES
        ]
        self.kinds = {
            f.name: Named(MOST_GROUPS)
            for f in plain
            if f.name != context.label and is_place(f.name) and not {*words(f.name)} & ELSEWHERE
        }
        self.fields = [f.name for f in plain if f.kind == "number" and f.name not in (*self.kinds, *self.times)][
            :FIELDS
        ]
        width = len(self.fields) + len(self.kinds) + len(self.times) + 1
        self.drawn = Drawn(max(1, min(KEPT, CELLS // width)))
        self.beside = [*self.kinds.values()]

    def applies(self) -> bool:
        return bool(self.times and self.kinds)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"time {name}": moments_of(block.columns.get(name), rows) for name in self.times}
        kept |= {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.fields}
        kept |= {f"kind {name}": named.of(block.columns.get(name), rows) for name, named in self.kinds.items()}
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        for group, named in self.kinds.items():
            values, whose = np.unique(rows[f"kind {group}"], return_inverse=True)
            texts = [named.texts.get(int(v), "") for v in values]
            if named.many or len(values) < FEWEST:
                continue
            found = list(self._of(rows, whose, len(values), group, texts))
            yield from found
            if found:
                return

    def _of(self, rows: dict[str, Any], whose: Any, n: int, group: str, texts: list[str]) -> Iterator[Fact]:
        import numpy as np

        of = max(1.0, self.seen / len(whose))  # rows that were looked at stand for others
        for time in self.times:
            moments = rows[f"time {time}"]
            there = np.isfinite(moments) & (np.abs(moments) < SECONDS[1])
            if there.sum() < FEWEST * LEAST or np.median(moments[there]) < SECONDS[0]:
                continue
            hour = (moments[there] // 3600 % HOURS).astype(np.int64)
            who = whose[there]
            numbers = {name: rows[f"number {name}"][there] for name in self.fields}
            own = {name: v for name, v in numbers.items() if not of_the_time(moments[there], v)}
            moved = by_frequency(hour, who, n) or by_numbers(hour, who, n, own)
            if moved is not None:
                value = {"of": [texts[k] for k in moved.odd], "hours": moved.hours, "half": moved.half, "by": moved.by}
                value["rows"] = round(of * int(np.isin(whose, moved.odd).sum()))
                yield Fact(CLOCKS, value, self.evidence("sampled", len(hour)), {"field": time, "group": group})
                return
            for name, values in numbers.items():
                for k, at in totals(hour, who, n, values):
                    inside = int(((who == k) & (hour == at)).sum())
                    value = {"of": [texts[k]], "hour": at, "time": time, "rows": round(of * inside)}
                    at_number = {"field": name, "group": group, "of": k}
                    yield Fact(TOTALS, value, self.evidence("sampled", len(hour)), at_number)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CLOCKS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} follows another clock in the samples {_where(fact)}: "
            if v["half"]:
                text += "no time is after noon, and mornings are as busy as whole days elsewhere, as on a 12-hour clock without AM and PM"
                fix = "read these times again from their source, with AM and PM"
            else:
                by = "samples arrive" if v["by"] is None else f"{escaped(v['by'])} rises and falls"
                hours = v["hours"] if v["hours"] <= HOURS // 2 else v["hours"] - HOURS
                text += (
                    f"{by} over the day as in the others, but {abs(hours)} hours {'later' if hours > 0 else 'earlier'}"
                )
                fix = "find out the time zone of these times, and convert all times to one zone"
            severity: Severity = "warning"
            yield finding("scale-drift", severity, text, fact, fix, [{"field": fact.at["field"]}], v["rows"])
        for fact in facts.all(TOTALS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name} seems to hold the daily total at {v['hour']}:00 ({escaped(v['time'])}) in the samples {_where(fact)}: it is "
            text += "about as large as all other hours together, unlike in the other samples"
            fix = "replace the total with the value of that hour, or mark it as missing"
            yield finding("scale-drift", "warning", text, fact, fix, [{"field": fact.at["field"]}], v["rows"])


def _where(fact: Fact) -> str:
    return f"where {escaped(str(fact.at['group']))} is {', '.join(map(escaped, fact.value['of'][:3]))}"


def by_frequency(hour: Any, whose: Any, n: int) -> Moved | None:
    """The groups whose samples come at other hours, int64 [rows] from 0 to 23, than those of all others, who agree."""
    import numpy as np

    counts = np.bincount(whose * HOURS + hour, minlength=n * HOURS).reshape(n, HOURS).astype(np.float64)
    large = np.flatnonzero(counts.sum(1) >= LEAST)
    if len(large) < FEWEST:
        return None
    days = counts[large] / counts[large].sum(1, keepdims=True)
    sizes = counts[large].sum(1)
    odd, rest = _parted(np.abs(days[:, None] - days[None]).sum(2) / 2)
    if not few(len(odd), len(large)):
        return None
    usual = days[rest].mean(0)
    far = np.abs(days - usual).sum(1) / 2
    by_chance = ALIKE + LUCK * np.sqrt(HOURS / (2 * math.pi) * (1 / sizes + 1 / sizes[rest].sum()))
    if (far[rest] > by_chance[rest]).any() or (far[odd] < UNLIKE).any() or usual.min() < SELDOM / HOURS:
        return None
    halved = np.zeros(HOURS)
    halved[: HOURS // 2] = usual[: HOURS // 2] + usual[HOURS // 2 :]
    late = days[:, HOURS // 2 + 1 :].sum(1)
    if (late[odd] <= NONE).all() and (late[rest] >= AFTERNOON).all():
        folded = days[odd].copy()
        folded[:, 0] += folded[:, HOURS // 2]  # twelve o'clock, of which it is not known which
        folded[:, HOURS // 2] = 0
        if (np.abs(folded - halved).sum(1) / 2 <= by_chance[odd]).all():
            return Moved(large[odd].tolist(), 0, True, None)
    apart = np.array([np.abs(np.roll(days[odd], -s, axis=1) - usual).sum(1) / 2 for s in range(HOURS)])  # [hours, odd]
    best = int(apart.sum(1).argmin())
    if not MOVED <= best <= HOURS - MOVED or (apart[best] > np.minimum(by_chance[odd], far[odd] / BETTER)).any():
        return None
    return Moved(large[odd].tolist(), best, False, None)


def by_numbers(hour: Any, whose: Any, n: int, numbers: dict[str, Any]) -> Moved | None:
    """The groups in which numbers are high at other hours than in all others, who agree, each number by as many hours."""
    found: dict[str, Moved | bool | None] = {}
    for name, values in numbers.items():
        made = _by_number(hour, whose, n, values)
        if made is not False:
            found[name] = made
    moved = [(name, m) for name, m in found.items() if isinstance(m, Moved)]
    if not moved or len(moved) < len(found):
        return None
    name, first = moved[0]
    if any({*m.odd} != {*first.odd} or abs(m.hours - first.hours) > 1 for _, m in moved):
        return None
    return Moved(first.odd, first.hours, False, name)


def of_the_time(moments: Any, values: Any) -> bool:
    """Whether a number is the same for all groups at each time, as the weather of a place that was joined by the time: it says nothing of clocks."""
    import numpy as np

    known = np.isfinite(values)
    _, at, sizes = np.unique(moments[known], return_inverse=True, return_counts=True)
    several = sizes[at] > 1
    numbers, at = values[known][several], at[several]
    if len(numbers) < LEAST or numbers.std() == 0:
        return False
    middles = np.bincount(at, numbers, len(sizes)) / np.maximum(sizes, 1)
    return float(np.square(numbers - middles[at]).mean()) <= SHARED * float(numbers.var())


def _by_number(hour: Any, whose: Any, n: int, values: Any) -> Moved | bool | None:
    """False if the number has no day that groups agree on."""
    import numpy as np

    there = np.isfinite(values)
    cell = (whose * HOURS + hour)[there]
    known = np.bincount(cell, minlength=n * HOURS).reshape(n, HOURS)
    large = np.flatnonzero((known.sum(1) >= LEAST) & (known >= 3).all(1))
    if len(large) < FEWEST:
        return False
    ranks = np.zeros(len(cell))
    for k in large.tolist():
        own = np.flatnonzero(whose[there] == k)
        ranks[own[np.argsort(values[there][own])]] = np.linspace(-1, 1, len(own))
    days = np.bincount(cell, ranks, n * HOURS).reshape(n, HOURS)[large] / known[large]
    days -= days.mean(1, keepdims=True)
    explained = (days**2).mean(1) * 3  # of the variance of ranks, a third
    if (explained < EXPLAINED).any():
        return False
    unit = days / np.sqrt((days**2).sum(1, keepdims=True))
    odd, rest = _parted(1 - unit @ unit.T)
    usual = unit[rest].mean(0)
    usual /= math.sqrt(float(usual @ usual))
    if (unit[rest] @ usual < GOES_WITH).any():
        return False
    if not few(len(odd), len(large)) or (unit[odd] @ usual > NOT_WITH).any():
        return None
    turned = np.array([np.roll(unit[odd], -s, axis=1) @ usual for s in range(HOURS)])
    best = int(turned.sum(1).argmax())
    return (
        Moved(large[odd].tolist(), best, False, None)
        if turned[best].min() >= GOES_WITH and MOVED <= best <= HOURS - MOVED
        else None
    )


def _parted(apart: Any) -> tuple[list[int], list[int]]:
    """Groups by their distances to each other: those that are far from the one which is nearest to most, and the others."""
    import numpy as np

    center = int(np.median(apart, axis=1).argmin())
    far = apart[center]
    order = np.argsort(far)
    cut = int(np.diff(far[order]).argmax()) + 1
    return order[cut:].tolist(), order[:cut].tolist()


def totals(hour: Any, whose: Any, n: int, values: Any) -> list[tuple[int, int]]:
    """The groups, and hours, in which a number is about as large as in all other hours together, as in no other group."""
    import numpy as np

    there = np.isfinite(values)
    if not there.any() or (values[there] < 0).any():
        return []
    cell = (whose * HOURS + hour)[there]
    known = np.bincount(cell, minlength=n * HOURS).reshape(n, HOURS)
    large = np.flatnonzero((known.sum(1) >= LEAST) & (known >= 3).all(1))
    if len(large) < FEWEST:
        return []
    means = np.bincount(cell, values[there], n * HOURS).reshape(n, HOURS)[large] / known[large]
    others = (means.sum(1, keepdims=True) - means) / (HOURS - 1)
    times = means / np.maximum(others, 1e-300)
    found: dict[int, int] = {}
    for i, at in np.argwhere((times >= TOTAL[0]) & (times <= TOTAL[1])).tolist():
        held = values[there][cell == large[i] * HOURS + at]
        each_day = (held >= TOTAL[0] / 2 * others[i, at]).mean() >= EACH and len(held) >= DAYS
        if each_day and (np.delete(times[:, at], i) <= USUAL).all():
            found[int(large[i])] = at
    return sorted(found.items()) if few(len(found), len(large)) else []


CHECK = GroupClocks
