"""Texts that were cut off: they end without the full stop or the like that nearly all others have, and many of them within a word.

Who writes a text may leave out the full stop, but not the rest of a word. A word is broken off if no other text has it, while it
begins one that others have.
"""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import CUT_AT, Check, Context
from dataloader_expert.checks.places import Places
from dataloader_expert.checks.wording import FEW
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

BROKEN_OFF = Quantity(
    "texts_broken_off",
    "samples",
    "texts that end in a letter, unlike nearly all others, and how many of them within a word",
)
LEAST, FEWEST = 100, 3
"""The fewest texts of which nearly all end in a mark, and the fewest that end within a word."""
LOOKED_AT, MOST_WORDS, MOST_ENDS = 1 << 14, 200_000, 10_000
"""About so many texts, spread evenly over the data, tell the words that there are; with more words, or more distinct ends, nothing is said."""
_WORD = re.compile(r"[^\W\d_]+")


class CutTexts(Check):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [f.name for f in context.fields if f.kind == "text" and f.name != context.label]
        self.stride = max(1, (context.samples or 0) // LOOKED_AT)
        self.each: Counter[str] = Counter()
        self.closed: Counter[str] = Counter()
        """Texts that end in a mark, of each field."""
        self.ends: dict[str, Counter[str]] = {name: Counter() for name in self.fields}
        """Texts by the letters at their end, of each field."""
        self.words: dict[str, set[str]] = {name: set() for name in self.fields}
        """All words but those at the end of a text without a mark."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for name in self.fields:
            column = block.columns.get(name)
            for i, value in enumerate(() if column is None else column.values[: block.samples]):
                text = value.rstrip() if isinstance(value, str) else ""
                if text:
                    self._look(name, text, block, i)

    def _look(self, name: str, text: str, block: Block, i: int) -> None:
        self.each[name] += 1
        self.closed[name] += not text[-1].isalnum()
        if text[-1].isalpha():
            end = text[-_letters_at_end(text) :]
            text = text[: -len(end)]
            if end in self.ends[name] or len(self.ends[name]) <= MOST_ENDS:
                self.ends[name][end] += 1
            self.where.add(name, block, i, name)
        if block.index(i) % self.stride == 0 and len(self.words[name]) <= MOST_WORDS:
            self.words[name].update(_WORD.findall(text))

    def merge(self, other: Check) -> None:
        assert isinstance(other, CutTexts)
        self.seen += other.seen
        self.each += other.each
        self.closed += other.closed
        self.where.merge(other.where)
        for name in self.fields:
            self.ends[name] += other.ends[name]
            self.words[name] |= other.words[name]

    def facts(self) -> Iterable[Fact]:
        for name in self.fields:
            n, of = self.ends[name].total(), self.each[name]
            too_many = len(self.words[name]) > MOST_WORDS or len(self.ends[name]) > MOST_ENDS
            if not n or of < LEAST or (of - self.closed[name]) * FEW > of or too_many:
                continue
            broken = broken_off(self.ends[name], self.words[name])
            value = {"count": n, "of": of, "broken": sum(self.ends[name][end] for end in broken), "ends": broken[:3]}
            yield Fact(BROKEN_OFF, value | {"where": self.where.of(name)}, self.evidence(), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(BROKEN_OFF):
            v, name = fact.value, escaped(str(fact.at["field"]))
            n, broken = v["count"], v["broken"]
            if broken < FEWEST or 2 * broken < n:
                continue
            if any(2 * cut.value["count"] >= n for cut in facts.all(CUT_AT, field=fact.at["field"])):
                continue  # told with the length at which they were cut
            text = f"{name}: {n:,} of {number(v['of'], 'text')} {verb(n, 'end')} without the full stop or the like that the others have, "
            text += f"{broken:,} of them within a word ({', '.join(map(escaped, v['ends']))})"
            fix = "they were cut off: fetch them in full from their source, or drop them"
            yield finding("suspicious-text", "warning", text, fact, fix, v["where"], n)


def broken_off(ends: Iterable[str], words: Iterable[str]) -> list[str]:
    """Those ends of texts that are no word, and begin one."""
    known = sorted(words)
    found = []
    for end in sorted(ends):
        at = bisect.bisect_left(known, end)
        if at < len(known) and known[at] != end and known[at].startswith(end):
            found.append(end)
    return found


def _letters_at_end(text: str) -> int:
    n = 0
    while n < len(text) and text[-1 - n].isalpha():
        n += 1
    return n


CHECK = CutTexts
