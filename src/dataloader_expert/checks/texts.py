"""Texts: blank ones, and the few that contain markup or invisible characters, or were encoded twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.places import Places
from dataloader_expert.checks.wording import FEW, KINDS, kinds_of
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

BLANK = Quantity("blank_texts", "samples", "texts that are empty or white space, with samples")
STRANGE = Quantity("strange_texts", "samples", "texts with markup or invisible characters, with samples")


class Texts(Check):
    ids = ("blank-text", "suspicious-text", "encoding-error")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.counts: Counter[str] = Counter()
        self.texts = 0
        self.where = Places()

    def applies(self) -> bool:
        return any(f.kind == "text" for f in self.context.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for field in self.context.fields:
            if field.kind != "text" or field.name not in block.columns:
                continue
            for i, value in enumerate(block.columns[field.name].values):
                if not isinstance(value, str):
                    continue
                self.texts += 1
                for kind in kinds_of(value):
                    self.counts[kind] += 1
                    self.where.add(kind, block, i, field.name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Texts)
        self.seen += other.seen
        self.texts += other.texts
        self.counts += other.counts
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        value = {"count": self.counts["blank"], "where": self.where.of("blank")}
        yield Fact(BLANK, value, self.evidence())
        for kind in ("hidden", "markup", "encoded twice"):
            some = self.counts[kind] * (1 if kind == "encoded twice" else FEW)  # which no text means to be
            if 0 < some <= self.texts:
                strange = {"count": self.counts[kind], "where": self.where.of(kind)}
                yield Fact(STRANGE, strange, self.evidence(), {"kind": kind})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fact = facts.find(BLANK)
        if fact is not None and fact.value["count"]:
            n = fact.value["count"]
            yield finding(
                "blank-text",
                "warning",
                f"{number(n, 'text')} {verb(n, 'are blank')}",
                fact,
                "drop them",
                fact.value["where"],
                n,
            )
        for fact in facts.all(STRANGE):
            n, kind = fact.value["count"], str(fact.at["kind"])
            yield finding(
                "encoding-error" if kind == "encoded twice" else "suspicious-text",
                "warning",
                f"{number(n, 'text')} {verb(n, KINDS[kind])}",
                fact,
                "strip it, as in the other texts, or drop these",
                fact.value["where"],
                n,
            )


CHECK = Texts
