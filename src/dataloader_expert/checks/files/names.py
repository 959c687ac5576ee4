"""Names of files, fields and classes that look like markup or instructions to a language model.

They are data: they are quoted and never followed. But whoever pastes a report into a page or a prompt should be warned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

ODD = Quantity("suspicious_names", "names", "names of files, fields or classes that look like markup or instructions")
MARKUP = re.compile(
    r"<\s*/?\s*(script|img|iframe|svg|object|embed|style|body|a|input|form)\b|\bon(error|load|click|mouseover)\s*=|javascript:"
    r"|\{\{.*\}\}|\{%.*%\}|\$\{.*\}|<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>",
    re.IGNORECASE,
)
ORDERS = re.compile(
    r"\b(ignore|disregard|forget|override)\W+(all|any|the|your|these|previous|prior|above|earlier|every)\b"
    r"|\b(system|developer)\W+(prompt|message)\b|\byou\W+are\W+now\b|\bnew\W+instructions?\b"
    r"|\bdo\W+not\W+(tell|reveal|mention)\b|\b(run|execute)\W+(this|the\W+following)\b",
    re.IGNORECASE,
)
MOST, LONGEST = 10_000, 1_000


class Names(Check):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.odd = {("field", f.name) for f in context.fields if suspicious(f.name)}
        self.odd |= {("class", c) for c in context.classes or () if suspicious(c)}
        self.files: set[str] = set()
        self.labels: set[str] = set()

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for unit in block.unit.members or (block.unit,):
            if unit.file not in self.files and len(self.files) < MOST * 100:
                self.files.add(unit.file)
                if suspicious(unit.file):
                    self.odd.add(("file", unit.file))
        column = block.columns.get(self.context.label or "")
        if column is None or (hasattr(column.values, "dtype") and column.values.dtype.kind not in "US"):
            return
        try:
            texts = {v for v in set(column.values) if isinstance(v, str)}
        except TypeError:  # arrays and lists are not class names
            return
        for value in texts - self.labels if len(self.labels) < MOST else ():
            self.labels.add(value)
            if suspicious(value):
                self.odd.add(("class", value))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Names)
        self.seen += other.seen
        self.odd |= other.odd

    def facts(self) -> Iterable[Fact]:
        if self.odd:
            value = [{"what": what, "name": escaped(name, 120)} for what, name in sorted(self.odd)]
            yield Fact(ODD, {"count": len(value), "names": value[:MAX_PLACES]}, self.evidence())

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fact = facts.find(ODD)
        if fact is not None:
            places = [{"file" if n["what"] == "file" else "field": n["name"]} for n in fact.value["names"]]
            n, kinds = fact.value["count"], ", ".join(sorted({str(n["what"]) for n in fact.value["names"]}))
            yield finding(
                "suspicious-text",
                "warning",
                f"{n} {'name looks' if n == 1 else 'names look'} like markup or instructions to a language model ({kinds})",
                fact,
                "treat them as data: rename them before they reach a page, a prompt or a shell",
                places,
                n,
            )


def suspicious(name: str) -> bool:
    name = name[:LONGEST]
    spaced = re.sub(r"[_\-.]+", " ", name)
    return MARKUP.search(name) is not None or ORDERS.search(spaced) is not None


CHECK = Names
