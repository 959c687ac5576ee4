"""Two texts of a sample that are the same in a few samples only: a preferred answer that is also the rejected one, a source that
was copied into its translation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.places import Places
from dataloader_expert.checks.wording import FEW, said
from dataloader_expert.conclusions import Finding, finding, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

EQUAL = Quantity("equal_fields", "samples", "samples of which two fields hold the same text, with places")
LEAST = 20
"""The fewest samples with both fields of which a few can be odd."""
MOST = 8
"""Fields that are compared with each other."""
SHORT = 12
"""A text of fewer characters may well stand in two fields."""


class EqualFields(Check):
    ids = ("equal-fields",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        texts = [f.name for f in context.fields if f.kind == "text" or f.name in context.conversations]
        self.pairs = list(combinations(texts[:MOST], 2))
        self.both: Counter[tuple[str, str]] = Counter()
        self.equal: Counter[tuple[str, str]] = Counter()
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.pairs)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for pair in self.pairs:
            columns = [block.columns[name].values for name in pair if name in block.columns]
            if len(columns) < 2:
                continue
            for i, (a, b) in enumerate(zip(*columns, strict=False)):
                texts = [list(said(value)) for value in (a, b)]
                if all(sum(map(len, text)) >= SHORT for text in texts):
                    self.both[pair] += 1
                    if texts[0] == texts[1]:
                        self.equal[pair] += 1
                        self.where.add(pair, block, i, pair[1])

    def merge(self, other: Check) -> None:
        assert isinstance(other, EqualFields)
        self.seen += other.seen
        self.both += other.both
        self.equal += other.equal
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for pair, n in sorted(self.equal.items()):
            of = self.both[pair]
            if of >= LEAST and n * FEW <= of:
                value = {"count": n, "of": of, "where": self.where.of(pair)}
                yield Fact(EQUAL, value, self.evidence(), {"fields": list(pair)})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(EQUAL):
            n, (a, b) = fact.value["count"], (escaped(name) for name in fact.at["fields"])
            text = f"{n} of {fact.value['of']:,} samples {verb(n, 'have')} the same in {a} and in {b}"
            fix = "look at them, and drop them if the two are meant to differ: there is nothing to tell apart"
            yield finding("equal-fields", "warning", text, fact, fix, fact.value["where"], n)


CHECK = EqualFields
