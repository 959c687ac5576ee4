"""Stretches of a series that repeat earlier rows in all that was measured, at other times: a gap that was filled with a copy.

Signals that recur by nature do so again and again, and rows of other series at the same time may share what was joined to both; a copy comes
once, and its rows differ from each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.fingerprint import mix
from dataloader_expert.checks.common.ranges import many_values
from dataloader_expert.checks.common.series_rows import FIELDS, Order, SeriesRows
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped, listed
from dataloader_expert.facts import Fact, Facts, Quantity

PASTED = Quantity(
    "stretch_repeated", "samples", "consecutive rows that equal earlier ones in all that was measured, at other times"
)
SHORTEST, VARIED = 10, 0.8
"""The fewest rows of a stretch, and the least share of different ones among them."""
VALUES, RECUR = 20, 4
"""The fewest different values of what was measured, and the most rows of one content by which stretches are found."""
SHIFTS, MOST, STRETCHES, ONCE = 20, 0.2, 10, 0.45
"""The most distances that are tried, the largest share of rows in repeated stretches, and the most stretches: of more, the series recurs by nature;
of what comes at one distance and just once, as a year that was filled with the year before, the share is larger."""
RARELY = 0.05
"""The largest share of such rows that come a third time."""
CHANCE = math.log(1e-3)


@dataclass(frozen=True)
class Stretch:
    """Rows from ``first`` to ``last``, in some order, that equal those ``shift`` rows before."""

    first: int
    last: int
    shift: int

    @property
    def rows(self) -> int:
        return self.last - self.first + 1


class Pasted(SeriesRows):
    ids = ("near-duplicates",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, context.grouped, *roles.keys) if r is not None} | {
            *self.times,
            context.label,
        }
        aside |= context.identifiers
        self.numbers = [f.name for f in context.fields if f.kind == "number" and not f.shape and f.name not in aside][
            :FIELDS
        ]

    def applies(self) -> bool:
        return bool(self.numbers and self.times)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.parts:
            return
        kept = self.rows()
        names = [name for name in self.numbers if many_values(kept[f"number {name}"], VALUES)]
        content = np.zeros(len(kept["time"]), np.uint64)
        known = np.zeros(len(content), bool)
        for name in names:
            numbers = kept[f"number {name}"]
            content = mix(content ^ (numbers + 0.0).view(np.uint64))
            known |= np.isfinite(numbers)
        if len(content) - len(np.unique(content)) < SHORTEST or not names:
            return  # hardly a row recurs
        for order in self.orders(kept):
            found = [*self._of(kept, names, content[order.rows], known[order.rows], order)]
            if found:
                yield from found
                return

    def _of(self, kept: dict[str, Any], names: list[str], content: Any, known: Any, order: Order) -> Iterator[Fact]:
        import numpy as np

        for stretch in pasted(content, known, order.begin, kept["time"][order.rows]):
            rows, source = (order.rows[stretch.first - back : stretch.last + 1 - back] for back in (0, stretch.shift))
            samples, earlier = (kept["sample"][at] for at in (rows, source))
            value = {
                "count": stretch.rows,
                "fields": names,
                "first": int(samples.min()),
                "last": int(samples.max()),
                "from": int(earlier.min()),
                "to": int(earlier.max()),
                "where": self.files.places(np.sort(samples).tolist(), names[0]),
            }
            yield Fact(PASTED, value, self.evidence(n=len(content)), {"first": int(samples.min())})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        time = " and ".join(map(escaped, self.times))
        for fact in facts.all(PASTED):
            v = fact.value
            text = f"{v['count']:,} consecutive rows, {self.files.stretch(v['first'], v['last'])}, equal {self.files.stretch(v['from'], v['to'])} in "
            text += f"{listed(v['fields'], 4)}, but not in {time}: the stretch seems to be a copy, as to fill a gap"
            fix = "mark these values as missing, unless the source confirms them: nothing was measured there"
            yield finding("near-duplicates", "warning", text, fact, fix, v["where"], v["count"])


def pasted(content: Any, known: Any, begin: Any, times: Any) -> list[Stretch]:
    """The stretches of rows that repeat earlier ones, in an order of rows; nothing if rows recur by nature.

    Args:
        content: a digest of each row, uint64 [n].
        known: which rows have any value, bool [n].
        begin: where the series of each row begins, int64 [n].
        times: float64 [n].
    """
    import numpy as np

    order = np.argsort(content, kind="stable")
    same = content[order][1:] == content[order][:-1]
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    sizes = np.repeat(np.diff(np.append(starts, len(content))), np.diff(np.append(starts, len(content))))
    rare = same & (sizes[1:] <= RECUR) & known[order][1:]
    shifts, counts = np.unique((order[1:] - order[:-1])[rare], return_counts=True)
    able = np.flatnonzero(counts >= VARIED * SHORTEST)
    found: list[Stretch] = []
    for shift in shifts[able[np.argsort(-counts[able], kind="stable")]][:SHIFTS].tolist():
        equal = (content[shift:] == content[:-shift]) & known[shift:] & (times[shift:] != times[:-shift])
        edges = np.flatnonzero(np.diff(np.concatenate([[0], equal.view(np.int8), [0]])))
        for first, end in (edges.reshape(-1, 2) + shift).tolist():
            own = content[first:end]
            whole = begin[first] == begin[end - 1] and begin[first - shift] == begin[end - 1 - shift]
            if end - first >= SHORTEST and whole and len(np.unique(own)) >= VARIED * len(own):
                found.append(Stretch(first, end - 1, shift))
    held = sum(stretch.rows for stretch in found)
    once = len({stretch.shift for stretch in found}) == 1 and int((rare & (sizes[1:] > 2)).sum()) <= RARELY * held
    if len(found) > STRETCHES or held > (ONCE if once else MOST) * len(content):
        return []
    # pairs of equal rows that go on by one more row, without those of the stretches
    pairs = max(0, int(rare.sum()) - held)
    one, two = order[:-1][rare], order[1:][rare]
    inner = two < len(content) - 1
    joined = max(0, int((content[one[inner] + 1] == content[two[inner] + 1]).sum()) - held)
    goes_on = math.log((joined + 1) / (pairs + 2))
    return [s for s in found if math.log(pairs + 1) + (s.rows - 1) * goes_on <= CHANCE]


CHECK = Pasted
