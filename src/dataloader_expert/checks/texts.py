"""Texts: blank ones, and the few that contain markup or invisible characters, or were encoded twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.places import Places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

BLANK = Quantity("blank_texts", "samples", "texts that are empty or white space, with samples")
STRANGE = Quantity("strange_texts", "samples", "texts with markup or invisible characters, with samples")
HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufeff\ufffd]")
"""Control characters, bidirectional and byte-order marks, and replacements for undecodable bytes. Zero-width spaces and
joiners are not included, because they occur in sound texts."""
TWICE = re.compile(
    "\u00c3[\u0080-\u00bf]|\u00c2[\u00a0-\u00bf]|\u00e2\u20ac[\u0080-\u00bf\u0152-\u0178\u02c6-\u02dc\u2013-\u2122]"
)
"""UTF-8 that was read as Windows-1252 or Latin-1 and written as UTF-8 again: two or more letters in place of one."""
MARKUP = re.compile(
    r"<(?:/?(?:html|body|head|div|span|p|br|script|table|ul|li|h[1-6])\b[^<>]*|!doctype\b[^<>]*|!--)>", re.I
)
FEW = 20
"""At most one text in this many is odd; if there are more, the data set consists of such texts."""
KINDS = {
    "blank": "are blank",
    "hidden": "contain invisible characters: control or direction marks, or bytes that are not text",
    "markup": "hold HTML",
    "encoded twice": "are UTF-8 that was decoded with another encoding, such as cafÃ© for café",
}


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
                for kind in _kinds(value):
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
            if 0 < self.counts[kind] * FEW <= self.texts:
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


def _kinds(text: str) -> Iterable[str]:
    if not text.strip():
        yield "blank"
    if HIDDEN.search(text):
        yield "hidden"
    if not text.isascii() and TWICE.search(text):
        yield "encoded twice"
    if "<" in text and MARKUP.search(text):
        yield "markup"


CHECK = Texts
