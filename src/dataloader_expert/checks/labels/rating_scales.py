"""Marks on another scale by some users or raters, or from one source: up to 10 where all others give up to 5.

Marks have few values and an upper end that nearly everybody reaches. Where a few raters all go beyond it, up to the same multiple of it, and
divided by that their marks are distributed like the others', they were asked for marks on another scale. Of a source, such as an app, all
marks are then multiples of those of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.drawn_groups import DrawnGroups
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.recorded import is_place
from dataloader_expert.checks.common.rows_kept import NAME, numbers_of, texts_of
from dataloader_expert.checks.common.units import UNITS
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

SCALES = Quantity(
    "rating_scales",
    "samples",
    "rows of raters whose ratings reach a multiple of the others' maximum, and match them when divided by it",
)
FIELDS, GROUPS, KINDS, LEVELS = 4, 2, 6, 101
"""Marks, raters and fields of sources that are looked at, and the most values that marks have."""
LEAST, FEWEST, RATERS = 10, 3, 12
"""The fewest marks of a rater, raters on another scale, and raters."""
MOST, SAME_END, BEYOND = 0.4, 0.8, 0.1
"""The largest share of raters on another scale; the least share on either scale who reach its end; and the least share of marks of the others that
lie beyond the usual end."""
SOURCES, FROM_EACH, STEPS, STRAY = 12, 50, 3, 0.01
"""The most sources, the fewest marks of one, and different ones; and the largest share of marks of the other source that are no multiples."""
NEAR = 0.75
"""Standard deviations of the usual marks by which the means differ at most after the division."""
FACTORS = (2.0, 10.0, 20.0, 100.0)


@dataclass(frozen=True)
class Scale:
    """Marks up to ``end``, and ``factor`` times that by raters ``odd``."""

    end: float
    factor: float
    odd: tuple[int, ...]


class RatingScales(Check):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roles = context.roles
        aside = {r.field for r in (roles.split, roles.time, *roles.keys) if r is not None}
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        group = None if context.grouped is None else context.grouped.field
        raters = [f.name for f in plain if f.name == group or (is_place(f.name) and f.kind == "category")]
        marks = [f.name for f in plain if f.kind in ("number", "category") and f.name not in raters]
        self.fields = sorted(marks, key=lambda name: (name != context.label, name in context.identifiers))[:FIELDS]
        sources = [f.name for f in plain if f.kind == "category" and f.dtype == "str" and not {*words(f.name)} & UNITS]
        sources = [name for name in sources if name not in (*raters, context.label)]
        self.drawn = {name: DrawnGroups(name, context) for name in (*raters[:GROUPS], *sources[:KINDS])}
        self.files = Files()

    def applies(self) -> bool:
        return bool(self.drawn and self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        for name, drawn in self.drawn.items() if self.applies() and block.samples else ():
            rows, groups = drawn.rows(block)
            if len(rows):
                kept = {f"number {field}": numbers_of(block.columns.get(field), rows) for field in self.fields}
                kept["name"] = np.array(texts_of(block.columns.get(name), rows, NAME), object)
                drawn.keep(block, rows, groups, kept)

    def merge(self, other: Check) -> None:
        assert isinstance(other, RatingScales)
        self.seen += other.seen
        self.files.merge(other.files)
        for name, drawn in other.drawn.items():
            self.drawn[name].merge(drawn)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        for group, drawn in self.drawn.items():
            kept = drawn.all()
            if not kept:
                continue
            names, whose = np.unique(kept["name"].astype(str), return_inverse=True)
            for field in self.fields:
                marks = kept[f"number {field}"]
                there = np.isfinite(marks)
                few = field != group and len(names) <= SOURCES
                found = (scale_of_source if few else scale_of)(marks[there], whose[there], len(names))
                if found is None:
                    continue
                odd = there & np.isin(whose, found.odd)
                value = asdict(found) | {"raters": len(found.odd), "odd": [str(names[k]) for k in found.odd[:5]]}
                value["rows"] = int(odd.sum()) if len(marks) == self.seen else round(odd.mean() * self.seen)
                samples = kept["sample"][odd][:MAX_PLACES].tolist()
                value["where"] = [{"sample": s, "file": self.files.of(s), "field": field} for s in samples]
                yield Fact(SCALES, value, self.evidence("sampled", len(marks)), {"field": field, "group": group})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SCALES):
            v, field, group = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["group"]))
            n, top = v["raters"], v["end"] * v["factor"]
            text = f"{field} goes up to {top:g} for {number(n, 'value')} of {group} ({', '.join(map(escaped, v['odd']))}{', …' if n > 5 else ''}) and "
            text += f"up to {v['end']:g} for all others: these are on another scale, and match the others when divided by {v['factor']:g}"
            fix = f"divide {field} by {v['factor']:g} in these {v['rows']:,} rows, or convert both to the same scale"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["rows"])


def scale_of(marks: Any, whose: Any, n: int) -> Scale | None:
    """The scale of most raters, of ``n``, and who uses another; None if all use one."""
    import numpy as np

    if len(marks) < RATERS * LEAST or len(np.unique(marks)) > LEVELS or (marks < 0).any():
        return None
    sizes = np.bincount(whose, minlength=n)
    large = np.flatnonzero(sizes >= LEAST)
    if len(large) < RATERS:
        return None
    tops = np.zeros(n)
    np.maximum.at(tops, whose, marks)
    end = float(Counter(tops[large].tolist()).most_common(1)[0][0])
    usual, odd = large[tops[large] <= end], large[tops[large] > end]
    if end <= 1 or not FEWEST <= len(odd) <= MOST * len(large) or (tops[usual] == end).mean() < SAME_END:
        return None
    top = float(Counter(tops[odd].tolist()).most_common(1)[0][0])
    factor = top / end
    if factor not in FACTORS or (tops[odd] == top).mean() < SAME_END or tops.max() > top:
        return None
    beyond = np.bincount(whose[marks > end], minlength=n)[odd] / sizes[odd]
    if beyond.min() < BEYOND:
        return None
    alike = _alike(marks[np.isin(whose, odd)] / factor, marks[np.isin(whose, usual)])
    every = np.flatnonzero((sizes > 0) & (tops > end))  # who gave few marks, too
    return Scale(end, factor, tuple(every.tolist())) if alike else None


def scale_of_source(marks: Any, whose: Any, n: int) -> Scale | None:
    """The scale of most marks, from ``n`` sources, and the ones whose marks are all multiples of these, up to a multiple of their end."""
    import numpy as np

    if not 2 <= n <= SOURCES or len(marks) < 2 * FROM_EACH or len(np.unique(marks)) > 2 * LEVELS or (marks < 0).any():
        return None
    parts = [marks[whose == k] for k in range(n)]
    if min(map(len, parts)) < FROM_EACH:
        return None
    tops = [float(part.max()) for part in parts]
    end = tops[int(np.argmax([len(part) for part in parts]))]
    usual = np.concatenate([part for part, top in zip(parts, tops, strict=True) if top == end])
    factor = max(tops) / end if end > 1 else 0.0
    if factor not in FACTORS or {*tops} != {end, end * factor} or len(np.unique(usual)) < STEPS:
        return None
    odd = tuple(k for k, top in enumerate(tops) if top != end)
    own = np.concatenate([parts[k] for k in odd]) / factor
    shared = np.isin(own, np.unique(usual)).mean() >= 1 - STRAY and len(np.unique(own)) >= STEPS
    return Scale(end, factor, odd) if shared and len(own) < len(usual) and _alike(own, usual) else None


def _alike(own: Any, others: Any) -> bool:
    """Whether marks are distributed like others."""
    spread = float(others.std())
    near = abs(float(own.mean() - others.mean())) <= NEAR * spread
    return spread > 0 and near and 0.5 <= own.std() / spread <= 2


CHECK = RatingScales
