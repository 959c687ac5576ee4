"""Images without objects in one split, where every image of another one has some: they were probably not annotated.

Images that show nothing are wanted as negatives, but then the other splits have some as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

BARE = Quantity("bare_images", "samples", "samples without objects in one split, where another one has none of them")
FEWEST, CHANCE, MOST = 5, 1e-4, 0.6
"""The fewest such samples; how unlikely it must be that another split has none; and the largest share of a split that is no test without answers."""


class Unannotated(Check):
    ids = ("empty-sequence",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.field = context.classes_of_objects
        self.bare: Counter[str] = Counter()
        self.of: Counter[str] = Counter()
        self.where = Places()

    def applies(self) -> bool:
        return self.field is not None and self.context.several_splits

    def see(self, block: Block) -> None:
        self.seen += block.samples
        column = block.columns.get(self.field or "")
        if column is None:
            return
        names, codes = self.context.splits_of(block)
        for i, value in enumerate(column.values[: block.samples]):
            split = names[codes[i]]
            if split is None or not hasattr(value, "__len__"):
                continue
            self.of[split] += 1
            if not len(value):
                self.bare[split] += 1
                self.where.add(split, block, i, self.field)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Unannotated)
        self.seen += other.seen
        self.bare += other.bare
        self.of += other.of
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        whole = [split for split in self.of if not self.bare[split]]
        for split, n in sorted(self.bare.items()):
            share = n / self.of[split]
            least = min((((1 - share) ** self.of[other], other) for other in whole), default=None)
            if n >= FEWEST and share <= MOST and least is not None and least[0] <= CHANCE:
                value = {"count": n, "of": self.of[split], "other": least[1], "where": self.where.of(split)}
                yield Fact(BARE, value, self.evidence(), {"field": self.field, "split": split})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BARE):
            v, n = fact.value, fact.value["count"]
            text = f"{n:,} of {number(v['of'], 'sample')} of {escaped(str(fact.at['split']))} {verb(n, 'have')} no objects, while every sample of "
            text += f"{escaped(v['other'])} has some: these were probably not annotated"
            fix = "check a few: if they show objects, annotate or drop them, as a detector would learn the objects as background; if not, keep them"
            yield finding("empty-sequence", "warning", text, fact, fix, v["where"], n)


CHECK = Unannotated
