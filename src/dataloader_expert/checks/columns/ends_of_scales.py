"""Marks on a scale that ends elsewhere in one split, file or site: up to 5 in the test, where training has marks up to 10.

Marks have few values and an end that many samples reach. Where those of one part all end at a half of it, or a tenth, and multiplied
are distributed like the others, they were given on another scale. What counts something has no such end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dataloader_expert.checks.base import CALENDAR, Context
from dataloader_expert.checks.common.in_parts import InParts
from dataloader_expert.checks.common.parts import SPLIT, Grouping, part_said
from dataloader_expert.checks.common.recorded import few
from dataloader_expert.checks.common.rows_kept import in_order, numbers_of, places
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

ENDS = Quantity(
    "ends_of_scales", "samples", "samples of parts whose marks end at another number than those of all others"
)
KEPT, CELLS, FIELDS = 20_000, 1_000_000, 8
"""The most rows, values of all fields, and fields that are kept."""
LEAST, FEWEST, LEVELS = 30, 3, 101
"""The fewest rows of a part, and the fewest and most values of marks."""
FACTORS = (2.0, 10.0, 20.0, 100.0)
REACHED, BEYOND, SURELY = 0.01, 0.1, 20.0
"""The least share of marks at the end of their scale; that of marks beyond the lower end in each part that goes further; and how many such
marks a part that does not would have if it did."""
NEAR, AS_WIDE = 0.75, 2.0
"""Standard deviations by which the means may differ after the conversion, and how many times as wide either part may spread."""
MARKS = {
    "rating", "ratings", "rated", "stars", "star", "score", "scores", "mark", "marks", "likert", "pain", "satisfaction", "quality", "confidence",
    "agreement", "sentiment", "overall", "helpfulness", "importance", "difficulty", "severity", "usefulness", "fluency", "relevance", "taste",
}  # fmt: skip
"""Words in the names of marks."""
DATES = {*CALENDAR, "week", "hour", "minute", "quarter", "weekday", "dow", "age"}


@dataclass(frozen=True)
class Ends:
    """Marks up to ``own`` in the parts ``odd``, by their codes, and up to ``others`` elsewhere."""

    odd: list[int]
    own: float
    others: float


class EndsOfScales(InParts):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, context.timed, context.grouped, *roles.keys) if r is not None}
        self.fields = [
            f.name
            for f in context.fields
            if not f.shape
            and f.name not in aside
            and f.name not in context.identifiers
            and (f.kind == "number" or (f.kind == "category" and f.dtype != "str"))
            and not DATES & {*words(f.name)}
        ][:FIELDS]
        self.draw(KEPT, CELLS, len(self.fields) + 3)

    def applies(self) -> bool:
        return bool(self.fields)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        kept = {f"number {name}": numbers_of(block.columns.get(name), rows) for name in self.fields}
        return kept | self.parts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        groupings = [g for g in self.parts.groupings(rows) if g.place]
        for name in self.fields:
            marks = rows[f"number {name}"]
            for g in groupings:
                found = ends_of(marks, g) if g.name != name else None
                if found is None:
                    continue
                odd = np.isin(g.which, found.odd) & np.isfinite(marks)
                of = max(1.0, self.seen / len(marks))  # rows that were looked at stand for others
                value = {
                    "by": g.name,
                    "values": [g.texts[k] for k in found.odd],
                    "own": found.own,
                    "others": found.others,
                }
                value |= {"rows": round(of * int(odd.sum())), "where": places(rows, odd, name)}
                yield Fact(ENDS, value, self.evidence("sampled", len(marks)), {"field": name, "group": g.name})
                break

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(ENDS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            factor = v["others"] / v["own"]
            change = f"multiplied by {factor:g}" if factor > 1 else f"divided by {1 / factor:g}"
            text = f"{name} goes up to {v['own']:g} {part_said(v, '')} and up to {v['others']:g} in the others: these samples seem to be on "
            text += f"another scale, and match the others when {change}"
            fix = "find out which scale each part was marked on, and convert all to one"
            sure = bool({*words(str(fact.at["field"]))} & MARKS)
            severity: Severity = "warning" if sure else "info"
            yield finding("scale-drift", severity, text, fact, fix, v["where"], v["rows"])


def ends_of(marks: Any, grouping: Grouping) -> Ends | None:
    """The few parts whose marks, float64 [rows], end at another number than those of the others; None if there are none."""
    import numpy as np

    there = np.isfinite(marks)
    marks, which = marks[there], grouping.which[there]
    if len(marks) < 2 * LEAST or (marks < 0).any() or len(np.unique(marks)) > LEVELS:
        return None
    sizes = np.bincount(which, minlength=len(grouping.texts))
    large = np.flatnonzero(sizes >= LEAST)
    tops = np.zeros(len(sizes))
    np.maximum.at(tops, which, marks)
    if len({*tops[large].tolist()}) != 2:
        return None
    low, high = sorted({*tops[large].tolist()})
    if low == 0:
        return None  # nothing but zeros, which no factor brings to another scale
    short, far = large[tops[large] == low], large[tops[large] == high]
    odd = short if sizes[short].sum() <= sizes[far].sum() else far
    if not few(len(odd), len(large)) and grouping.name != SPLIT:
        return None
    at_end = np.bincount(which[marks == tops[which]], minlength=len(sizes)) / np.maximum(sizes, 1)
    beyond = (np.bincount(which[marks > low], minlength=len(sizes)) / np.maximum(sizes, 1))[far].min()
    if high / low not in FACTORS or at_end[large].min() < REACHED or beyond < BEYOND:
        return None
    if beyond * sizes[short].min() < SURELY:
        return None
    a, b = marks[np.isin(which, short)] * (high / low), marks[np.isin(which, far)]
    several = min(len(np.unique(v)) for v in (a, b)) >= FEWEST
    spread = float(b.std())
    if not several or spread == 0 or abs(float(a.mean() - b.mean())) > NEAR * spread:
        return None
    if not 1 / AS_WIDE <= float(a.std()) / spread <= AS_WIDE:
        return None
    own, others = (low, high) if odd is short else (high, low)
    return Ends(odd.tolist(), own, others)


CHECK = EndsOfScales
