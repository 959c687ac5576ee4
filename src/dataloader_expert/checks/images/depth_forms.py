"""Depth maps of which some are stored with another dtype than the others: 8 bits cannot hold millimetres."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import DEPTH, Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

DTYPES = Quantity("depth_dtypes", "samples", "depth maps of each dtype, how far they reach, and where the rarer are")
OTHER = 3.0
"""How many times as far as others depth maps of another dtype must reach, or the others."""


class DepthForms(Check):
    ids = ("dtype-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.names = [f.name for f in context.fields if f.name == DEPTH and f.shape]
        self.counts: Counter[tuple[str, str]] = Counter()
        """By split and dtype."""
        self.tops: dict[str, float] = {}
        """By dtype, the largest value."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.names)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        splits, codes = self.context.splits_of(block)
        for name, i, value in block.values(self.names):
            if getattr(value, "size", 0) and getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u", "f"):
                dtype = str(value.dtype)
                self.counts[str(splits[int(codes[i])] or ""), dtype] += 1
                top = float(value.max(initial=0, where=np.isfinite(value)))  # what was not measured may be NaN
                self.tops[dtype] = max(self.tops.get(dtype, 0.0), top)
                self.where.add(dtype, block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, DepthForms)
        self.seen += other.seen
        self.counts += other.counts
        for dtype, top in other.tops.items():
            self.tops[dtype] = max(self.tops.get(dtype, 0.0), top)
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        by_dtype: Counter[str] = Counter()
        for (_, dtype), n in self.counts.items():
            by_dtype[dtype] += n
        mixed = len(self.counts) > len({split for split, _ in self.counts})  # else splits differ, which is told of them
        usual, *rare = sorted(by_dtype, key=lambda dtype: (-by_dtype[dtype], dtype)) or [""]
        tops = self.tops
        odd = [d for d in rare if max(tops[d], tops[usual]) >= OTHER * min(tops[d], tops[usual])]
        if odd and mixed:
            value = {"dtypes": {d: by_dtype[d] for d in odd}, "of": by_dtype.total(), "usual": usual}
            value |= {"tops": tops, "where": self.where.of(odd[0])}
            yield Fact(DTYPES, value, self.evidence(), {"field": DEPTH})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(DTYPES):
            v = fact.value
            usual, odd = v["usual"], sum(v["dtypes"].values())
            kinds = ", ".join(f"{dtype} (up to {v['tops'][dtype]:g})" for dtype in v["dtypes"])
            text = f"{odd:,} of {number(v['of'], 'depth map')} {verb(odd, 'are')} stored as {kinds}, the others as {usual} "
            text += f"(up to {v['tops'][usual]:g}): the same value stands for different distances"
            fix = f"export them again as {usual} in the unit of the others: what was rounded or clipped is lost"
            yield finding("dtype-drift", "warning", text, fact, fix, v["where"], odd)


CHECK = DepthForms
