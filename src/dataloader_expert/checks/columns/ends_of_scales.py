"""Marks on a scale that ends elsewhere in one split, file or site: up to 5 in the test, where training has marks up to 10.

Marks have few values and an end that many samples reach. Where those of one part all end at a half of it, or a tenth, and multiplied
are distributed like the others, they were given on another scale. What counts something has no such end. Marks of several fields that all
begin and end one lower in one part are counted from 0 there, and from 1 elsewhere.
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
SHIFTED = Quantity(
    "scales_counted_from_zero",
    "samples",
    "samples of parts where several fields begin and end one lower than in all others",
)
KEPT, CELLS, FIELDS = 20_000, 1_000_000, 24
"""The most rows, values of all fields, and fields that are kept."""
LEAST, FEWEST, LEVELS = 30, 3, 101
"""The fewest rows of a part, and the fewest and most values of marks."""
SHOWN = 3
"""The most fields that are named."""
FACTORS = (2.0, 10.0, 20.0, 100.0)
REACHED, BEYOND, SURELY = 0.01, 0.1, 20.0
"""The least share of marks at the end of their scale; that of marks beyond the lower end in each part that goes further; and how many such
marks a part that does not would have if it did."""
TOGETHER, STEPS = 3, (2, 10)
"""The fewest fields that are all counted from another number, and the fewest and most steps from one end of their scales to the other."""
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
        for g in groupings:
            yield from self._shifted(rows, g)
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

    def _shifted(self, rows: dict[str, Any], g: Grouping) -> Iterable[Fact]:
        """The fields whose scales begin and end one lower in one part than in all others, if there are several."""
        import numpy as np

        by_part: dict[tuple[int, ...], list[tuple[str, float, float]]] = {}
        for name in self.fields:
            found = counted_from_zero(rows[f"number {name}"], g) if name != g.name else None
            if found is not None:
                by_part.setdefault(found[0], []).append((name, *found[1:]))
        for odd, fields in by_part.items():
            if len(fields) < TOGETHER:
                continue
            there = np.isin(g.which, odd)
            value: dict[str, Any] = {
                "by": g.name,
                "values": [g.texts[k] for k in odd],
                "fields": [name for name, *_ in fields],
            }
            value |= {"own": fields[0][1:], "rows": round(max(1.0, self.seen / len(there)) * int(there.sum()))}
            value["where"] = places(rows, there, fields[0][0])
            yield Fact(SHIFTED, value, self.evidence("sampled", len(there)), {"group": g.name, "part": odd[0]})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SHIFTED):
            v = fact.value
            low, high = v["own"]
            names = ", ".join(map(escaped, v["fields"][:SHOWN])) + ("" if len(v["fields"]) <= SHOWN else ", …")
            text = f"{len(v['fields'])} fields run from {low:g} to {high:g} {part_said(v, '')}, and from {low + 1:g} to {high + 1:g} elsewhere ({names}): "
            text += "the answers there seem to be counted from 0"
            fix = "if so, add 1 to these fields there"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["rows"])
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


def counted_from_zero(marks: Any, grouping: Grouping) -> tuple[tuple[int, ...], float, float] | None:
    """The parts whose marks go from 0 to one less than those of all others, which go from 1; and the ends of their scale; None if
    there are none."""
    import numpy as np

    there = np.isfinite(marks)
    marks, which = marks[there], grouping.which[there]
    if len(marks) < 2 * LEAST or (marks < 0).any() or (marks > STEPS[1] + 1).any() or (marks % 1).any():
        return None
    counts = np.zeros((len(grouping.texts), STEPS[1] + 2))
    np.add.at(counts, (which, marks.astype(np.int64)), 1)
    sizes = counts.sum(1)
    large = np.flatnonzero(sizes >= LEAST)
    reached = [np.flatnonzero(counts[k]) for k in large]
    ends = {(int(r[0]), int(r[-1])) for r in reached}
    if len(ends) != 2:
        return None
    (low, high), (above, beyond) = sorted(ends)
    at_ends = min(min(counts[k][r[0]], counts[k][r[-1]]) / sizes[k] for k, r in zip(large, reached, strict=True))
    if low or (above, beyond) != (1, high + 1) or not STEPS[0] <= high <= STEPS[1] or at_ends < REACHED:
        return None
    return tuple(int(k) for k, r in zip(large, reached, strict=True) if r[0] == 0), low, high


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
