"""Texts: blank ones."""

from __future__ import annotations

from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

BLANK = Quantity("blank_texts", "samples", "texts that are empty or white space, with samples")


class Texts(Check):
    ids = ("blank-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.count = 0
        self.where: list[dict[str, Json]] = []

    def applies(self) -> bool:
        return any(f.kind == "text" for f in self.context.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for field in self.context.fields:
            if field.kind != "text" or field.name not in block.columns:
                continue
            for i, value in enumerate(block.columns[field.name].values):
                if isinstance(value, str) and not value.strip():
                    self.count += 1
                    if len(self.where) < 20:
                        self.where.append({"sample": block.index(i), "file": block.unit.file, "field": field.name})

    def merge(self, other: Check) -> None:
        assert isinstance(other, Texts)
        self.seen += other.seen
        self.count += other.count
        self.where = sorted(self.where + other.where, key=lambda w: int(str(w["sample"])))[:20]

    def facts(self) -> Iterable[Fact]:
        yield Fact(BLANK, {"count": self.count, "where": self.where}, self.evidence())

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fact = facts.find(BLANK)
        if fact is not None and fact.value["count"]:
            n = fact.value["count"]
            yield finding("blank-text", "warning", f"{n} texts are blank", fact, "drop them", fact.value["where"], n)


CHECK = Texts
