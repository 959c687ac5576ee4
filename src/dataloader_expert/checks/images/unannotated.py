"""Images without objects, or with an empty mask, in one split, where every image of another one has some: they were probably not annotated.

Images that show nothing are wanted as negatives, but then the other splits have some as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

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
        objects = context.classes_of_objects
        self.masks = frozenset(context.masks)
        self.fields = [*([] if objects is None else [objects]), *context.masks]
        self.bare: Counter[tuple[str, str]] = Counter()
        self.of: Counter[tuple[str, str]] = Counter()
        """By field and split."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields) and self.context.several_splits

    def see(self, block: Block) -> None:
        self.seen += block.samples
        names, codes = self.context.splits_of(block)
        for field, i, value in block.values(self.fields):
            split = names[codes[i]]
            if split is None or not hasattr(value, "__len__"):
                continue
            self.of[field, split] += 1
            if _is_bare(value, field in self.masks):
                self.bare[field, split] += 1
                self.where.add((field, split), block, i, field)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Unannotated)
        self.seen += other.seen
        self.bare += other.bare
        self.of += other.of
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for (field, split), n in sorted(self.bare.items()):
            whole = [other for name, other in self.of if name == field and not self.bare[field, other]]
            share = n / self.of[field, split]
            least = min((((1 - share) ** self.of[field, other], other) for other in whole), default=None)
            if n >= FEWEST and share <= MOST and least is not None and least[0] <= CHANCE:
                value = {
                    "count": n,
                    "of": self.of[field, split],
                    "other": least[1],
                    "where": self.where.of((field, split)),
                }
                yield Fact(BARE, value, self.evidence(), {"field": field, "split": split})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BARE):
            v, n, field = fact.value, fact.value["count"], str(fact.at["field"])
            lack = f"an empty {escaped(field)}" if field in self.masks else "no objects"
            text = f"{n:,} of {number(v['of'], 'sample')} of {escaped(str(fact.at['split']))} {verb(n, 'have')} {lack}, while every sample of "
            text += f"{escaped(v['other'])} has {'a non-empty one' if field in self.masks else 'some'}: the empty ones were probably not annotated"
            fix = "check a few: if they show objects, annotate or drop them, because a model would learn these objects as background; if not, keep them"
            yield finding("empty-sequence", "warning", text, fact, fix, v["where"], n)


def _is_bare(value: Any, mask: bool) -> bool:
    """Whether a list is empty, or a mask 0 throughout."""
    return bool(getattr(value, "size", 0)) and not value.any() if mask else not len(value)


CHECK = Unannotated
