"""Fields that hold one value over a stretch of rows far longer than any other run of theirs: a count that was no longer filled in.

How long a value lasts elsewhere in the field tells what is usual: seasons come back, and zeros of rare events are scattered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from dataloader_expert.checks.base import CHANGED_UNITS, Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_numbers import DrawnNumbers
from dataloader_expert.checks.common.grids import moment
from dataloader_expert.checks.common.recorded import FEWEST, is_place
from dataloader_expert.checks.common.rows_kept import Named, in_order
from dataloader_expert.checks.common.units import tells
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity

STILL = Quantity(
    "still_since",
    "samples",
    "the rows of the longest run of one value of a field, and the next longest run of any value",
)
KEPT, CELLS, MOST_KINDS = 20_000, 2_000_000, 50
CHANGES = 0.1
"""The least share of the other rows' neighbours that differ: a flag that is set once has no usual runs."""
LEAST, LONGER, CHANCE = 50, 10, 1e-12
"""The fewest rows, how many times as many they are as those of any other run, and how unlikely they must be by chance."""
VARIES = 0.9
"""The share of neighbours that differ from which a field is a measurement, whose runs are told as such."""


class StillSince(DrawnNumbers):
    ids = ("stuck-values",)
    of_features = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None} | {context.label}
        plain = [f for f in context.fields if not f.shape]
        self.fields = [f.name for f in plain if f.kind in ("number", "boolean") and f.name not in aside]
        kinds = {f.name for f in plain if f.kind in ("category", "text", "boolean")} | {context.label}
        split = None if roles.split is None else roles.split.field
        numbered = {f.name for f in plain if f.kind == "number" and "int" in f.dtype and is_place(f.name)}
        names = kinds | numbered | {split}
        self.kinds = {f.name: Named(MOST_KINDS) for f in plain if f.name in names}
        self.places = [name for name in self.kinds if is_place(name)]
        """Fields of which each value may be a series of its own, whose rows lie among those of others."""
        self.time = None if context.timed is None else context.timed.field
        self.drawn = Drawn(max(1, min(KEPT, CELLS // max(1, len(self.fields) + len(self.kinds) + 1))))
        self.beside = [*self.kinds.values()]

    def applies(self) -> bool:
        return bool(self.fields)

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        kinds = {name: rows[f"kind {name}"] for name, named in self.kinds.items() if not named.many}
        series = {place: self._series(rows, kinds[place]) for place in self.places if place in kinds}
        for name in self.fields:
            numbers = rows[f"number {name}"]
            found = longest_run(numbers)
            if found is None:
                yield from self._of_one_place(name, numbers, rows, series)
                continue
            first, last, next_longest = found
            if any(tells(kind, first, last) for other, kind in kinds.items() if other != name):
                continue
            of = max(1.0, self.seen / len(numbers))  # rows that were looked at stand for others
            value = {
                "value": float(numbers[first]),
                "first": int(rows["sample"][first]),
                "last": int(rows["sample"][last]),
                "file": str(rows["file"][first]) or None,
                "rows": round(of * (last - first + 1)),
                "next": round(of * next_longest),
                "to_the_end": last == len(numbers) - 1,
            }
            yield Fact(STILL, value, self.evidence("sampled", len(numbers)), {"field": name})

    def _series(self, rows: dict[str, Any], kind: Any) -> dict[int, Any]:
        """The rows of each place in the order of time."""
        import numpy as np

        times = rows.get("time", rows["sample"])
        order = np.lexsort((rows["sample"], times, kind))
        values, starts = np.unique(kind[order], return_index=True)
        return dict(zip(values.tolist(), np.split(order, starts[1:]), strict=True)) if len(values) > 1 else {}

    def _of_one_place(self, name: str, numbers: Any, rows: dict[str, Any], series: Any) -> Iterator[Fact]:
        """The place at which a number, but no 0, stays as it is for far longer than it ever does there or at another one."""
        for place, by_value in series.items():
            if name == place:
                continue
            runs = {k: longest_run(numbers[at]) for k, at in by_value.items()}
            held = {k: run for k, run in runs.items() if run is not None}
            if len(held) != 1 or len(runs) < FEWEST:
                continue
            [(k, (first, last, next_longest))] = held.items()
            at = by_value[k]
            usual = max(runs_of(numbers[rest]) for other, rest in by_value.items() if other != k)
            if numbers[at[first]] == 0 or (last - first + 1) < LONGER * max(next_longest, usual):
                continue
            of = max(1.0, self.seen / len(numbers))
            value = {
                "value": float(numbers[at[first]]),
                "first": int(rows["sample"][at[first]]),
                "last": int(rows["sample"][at[last]]),
                "file": str(rows["file"][at[first]]) or None,
                "rows": round(of * (last - first + 1)),
                "next": round(of * max(next_longest, usual)),
                "to_the_end": False,
                "of": self.kinds[place].texts.get(int(k), ""),
            }
            if "time" in rows:
                value |= {"since": float(rows["time"][at[first]]), "until": float(rows["time"][at[last]])}
            yield Fact(STILL, value, self.evidence("sampled", len(at)), {"field": name, "group": place})
            return

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(STILL):
            v, name = fact.value, escaped(str(fact.at["field"]))
            if facts.find(CHANGED_UNITS, field=fact.at["field"]) is not None:
                continue
            where = f"from {v['first']:,} to {v['last']:,}"
            if "since" in v:
                dated = any(f.name == self.time and f.kind != "number" for f in self.context.fields)
                where = f"from {moment(v['since'], dated)} to {moment(v['until'], dated)}"
            where += f" where {escaped(str(fact.at['group']))} is {escaped(v['of'])}" if "group" in fact.at else ""
            about = "about " if (fact.evidence.seen or 0) < self.seen else ""
            yield finding(
                "stuck-values",
                # what begins and ends again may be a season, and what is 0 at first may not have begun, as the meter of a later client
                "warning" if v["to_the_end"] or v["value"] != 0 else "info",
                f"{name} is {v['value']:g} in all samples looked at {where}, while no other run of one value is "
                f"longer than {about}{v['next']:,}",
                fact,
                "find out whether it was still recorded there; if not, mark these values as missing",
                [{"sample": v["first"], "file": v["file"], "field": fact.at["field"]}],
                v["rows"],
            )


def runs_of(numbers: Any) -> int:
    """The length of the longest run of one value."""
    import numpy as np

    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1], [True]]))
    return int(np.diff(starts).max(initial=0))


def longest_run(numbers: Any) -> tuple[int, int, int] | None:
    """The first and last row of the longest run of one value, and the rows of the next longest run; None if it is nothing unusual, or a
    measurement's."""
    import numpy as np

    if len(numbers) < 2 * LEAST:
        return None
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))  # each NaN is a run of its own
    lengths = np.diff(np.concatenate([starts, [len(numbers)]]))
    at = int(lengths.argmax())
    length, first = int(lengths[at]), int(starts[at])
    rest = np.delete(lengths, at)
    others = np.delete(numbers, slice(first, first + length))
    if length < LEAST or len(others) < LEAST or not len(rest) or length < LONGER * int(rest.max()):
        return None
    share = float((others == numbers[first]).mean())
    if length * math.log(max(share, 1 / len(others))) > math.log(CHANCE):
        return None
    changes = float((others[1:] != others[:-1]).mean())
    if changes < CHANGES:
        return None
    if changes >= VARIES and numbers[first] != 0:
        return None  # told as stuck
    return first, first + length - 1, int(rest.max())


CHECK = StillSince
