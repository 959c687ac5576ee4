"""Categories of fields other than the label: one value in several spellings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.alike import spelt, twins
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.wording import ABSENT
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SPELLINGS = Quantity("spellings", "samples", "spellings of one value of a category, with their samples")
STANDING_IN = Quantity("standing_in", "samples", "texts of a category that mean a missing value, with their samples")
MOST = 200
"""Distinct values beyond which a field is not a category: codes and names may well differ only in case."""
OFTEN = 20
"""The least number of samples per category value on average; if they are rarer, nobody knows which spelling is right."""


class Spelling(Check):
    ids = ("label-twins", "missing-values")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [f.name for f in context.fields if f.kind == "category" and f.name != context.label]
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in self.fields}
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name in self.fields:
            column, counts = block.columns.get(name), self.counts[name]
            if column is None or len(counts) > MOST:
                continue
            try:
                found = column.counts()
            except TypeError:  # lists are not categories
                continue
            counts.update({v: n for v, n in found.items() if isinstance(v, str)})
            rare = {v for v, n in found.items() if isinstance(v, str) and n <= MAX_PLACES}
            values = column.values
            for i, value in enumerate(values) if 0 < len(rare) <= MOST else ():
                if value in rare:
                    self.where.add((name, value), block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Spelling)
        self.seen += other.seen
        self.where.merge(other.where)
        for name, counts in other.counts.items():
            self.counts[name].update(counts)

    def facts(self) -> Iterable[Fact]:
        for name, counts in self.counts.items():
            absent = sorted(text for text in counts if text.strip().casefold() in ABSENT)
            if absent and len(counts) <= MOST and sum(counts[text] for text in absent) <= sum(counts.values()) / 2:
                where = [place for text in absent for place in self.where.of((name, text))]
                found = {"counts": {text: counts[text] for text in absent}, "where": where[:MAX_PLACES]}
                yield Fact(STANDING_IN, found, self.evidence(), {"field": name})
            if not counts or len(counts) > MOST or sum(counts.values()) < OFTEN * len(counts):
                continue
            for alike in twins(counts):
                rare = sorted(alike, key=lambda value: (counts[value], value))[:-1]  # the commonest is the right one
                where = [place for value in rare for place in self.where.of((name, value))]
                value = {"counts": {v: counts[v] for v in alike}, "where": where[:MAX_PLACES]}
                right = max(alike, key=lambda spelled: (counts[spelled], spelled))
                yield Fact(SPELLINGS, value, self.evidence(), {"field": name, "value": right})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(STANDING_IN):
            n = sum(fact.value["counts"].values())
            yield finding(
                "missing-values",
                "info",
                f"{fact.at['field']} has {number(n, 'text')} that {verb(n, 'mean')} a missing value: "
                + ", ".join(map(repr, fact.value["counts"])),
                fact,
                "leave these cells empty, so that they count as missing and not as a category",
                fact.value["where"] or [{"field": fact.at["field"]}],
                n,
            )
        for fact in facts.all(SPELLINGS):
            counts: dict[str, int] = fact.value["counts"]
            yield finding(
                "label-twins",
                "warning",
                f"{fact.at['field']} has one value in several spellings: {spelt(counts)}",
                fact,
                "use one spelling",
                fact.value["where"],
                len(counts),
            )


CHECK = Spelling
