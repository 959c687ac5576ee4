"""Marks that open and close, left open in a few texts: code fences, and tags such as ``<think>`` where nearly all texts close them.

Which tags are such marks the data tell: many texts of the field have them, and nearly all of these close each one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.wording import said
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.turns import ANSWER, ROLE_KEYS, conversations, role_of

OPEN = Quantity("marks_left_open", "texts", "texts that leave a mark open which nearly all others close, with samples")
FENCE = "```"
LEAST, FEWEST, FEW = 20, 2, 0.1
"""The fewest texts that close a mark, and that leave it open; and the largest share of the latter."""
COMMON = 0.2
"""The least share of a field's texts with a tag that is a mark."""
LONGEST, MOST = 100_000, 5_000
"""Characters of a text in which tags are marks, and the most fields and tags that are told apart: a document has any number of them."""
_FENCE = re.compile(r"`{3,}")
_TAG = re.compile(r"<(/?)([A-Za-z]\w{1,30})>")
OPTIONAL = {
    "html", "head", "body", "li", "dt", "dd", "rt", "rp", "optgroup", "option", "colgroup", "thead", "tbody", "tfoot", "tr", "td", "th",
}  # fmt: skip
"""Tags of HTML whose end may be left out."""


class Unclosed(Check):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.texts = [f.name for f in context.fields if f.kind == "text"]
        self.talks = context.nested
        self.all: Counter[str] = Counter()
        """Texts by field."""
        self.closed: Counter[tuple[str, str]] = Counter()
        self.open: Counter[tuple[str, str]] = Counter()
        """Texts by field and mark that close it, and that do not."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.texts or self.talks)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        there = {name: block.columns[name].values for name in self.texts if name in block.columns}
        rows: dict[int, list[tuple[str, dict[str, bool]]]] = {}
        for name, values in there.items():
            for i, value in enumerate(values[: block.samples]):
                if isinstance(value, str):
                    self.all[name] += 1
                    if "<" in value or FENCE in value:
                        rows.setdefault(i, []).append((name, marks_of(value)))
        for i, row in sorted(rows.items()):
            # a prompt that ends in the middle of a program, which its completion goes on with, is closed by it
            joined = sum(marks.get(FENCE, False) for _, marks in row) > 1
            for name, marks in row:
                self._count(name, marks | ({FENCE: False} if joined and FENCE in marks else {}), block, i)
        for name, i, value in block.values(self.talks):
            for turns in conversations(value):
                for turn in turns:
                    if role_of(turn) in ANSWER:
                        text = "\n".join(said({k: v for k, v in turn.items() if k not in ROLE_KEYS}))
                        self.all[name] += 1
                        self._count(name, marks_of(text), block, i)

    def _count(self, name: str, marks: dict[str, bool], block: Block, i: int) -> None:
        for mark, is_open in marks.items():
            counts = self.open if is_open else self.closed
            if mark == FENCE or (name, mark) in counts or len(counts) < MOST:
                counts[name, mark] += 1
            if is_open:
                self.where.add((name, mark), block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Unclosed)
        self.seen += other.seen
        self.all += other.all
        self.closed += other.closed
        self.open += other.open
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for (name, mark), n in sorted(self.open.items()):
            closed = self.closed[name, mark]
            common = mark == FENCE or n + closed >= COMMON * self.all[name]
            if n >= FEWEST and closed >= LEAST and n <= FEW * (n + closed) and common:
                value = {"count": n, "of": n + closed, "where": self.where.of((name, mark))}
                yield Fact(OPEN, value, self.evidence(), {"field": name, "mark": mark})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(OPEN):
            v, mark = fact.value, str(fact.at["mark"])
            told = "code fences (```)" if mark == FENCE else f"<{mark}>"
            text = f"{escaped(str(fact.at['field']))}: {v['count']:,} of {number(v['of'], 'text')} with {told} "
            text += (
                f"{verb(v['count'], 'leave')} one open"
                if mark == FENCE
                else f"{verb(v['count'], 'have')} one without its </{mark}>"
            )
            text += ", unlike the others"
            fix = "restore them from their source, or drop them: they were probably cut off, and a model learns to stop there"
            yield finding("suspicious-text", "warning", text, fact, fix, v["where"], v["count"])


def marks_of(text: str) -> dict[str, bool]:
    """The marks of a text, each with whether one is left open, or closed before it was opened."""
    tags = _balances(text) if "<" in text and len(text) <= LONGEST else ()
    return dict(tags) | ({FENCE: len(_FENCE.findall(text)) % 2 == 1} if FENCE in text else {})


def _balances(text: str) -> Iterator[tuple[str, bool]]:
    opened: Counter[str] = Counter()
    odd: set[str] = set()
    for closes, name in _TAG.findall(text):
        opened[name] += -1 if closes else 1
        if opened[name] < 0:
            odd.add(name)
    for name, n in opened.items():
        if name.lower() not in OPTIONAL:
            yield name, n != 0 or name in odd


CHECK = Unclosed
