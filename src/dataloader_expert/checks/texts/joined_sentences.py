"""Sentences that run together in one split or stretch, or in a few samples that are many times as long as all others: the blank lines or marks
between them were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.texts.confined import Confined
from dataloader_expert.checks.texts.token_fields import words_of
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

JOINED = Quantity(
    "joined_sentences", "samples", "samples of a part with several sentences, where those of the others have one"
)
FAR_LONGER = Quantity(
    "far_longer", "samples", "samples many times as long as all others, their most words and those of the others"
)
TIMES, SAMPLES, FEW = 6, 100, 5
"""How many times as long as the longest of the others they are; the fewest samples, and the most that stand out so."""
ENDS, LEAST = {".", "!", "?"}, 5
"""Tokens that end a sentence, and the fewest samples with several."""


class JoinedSentences(Check):
    ids = ("suspicious-text",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.field = words_of(context)
        self.joined: Counter[int] = Counter()
        """Samples by their sentences, of those with several."""
        self.longest: list[tuple[int, int, str]] = []
        """Of the longest samples, the longest first: their words, the negated index, and the file."""
        self.confined, self.where = Confined(context), Places()

    def applies(self) -> bool:
        return bool(self.field)

    def looked(self) -> bool:
        return bool(self.confined.of)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        splits = self.confined.note(block)
        for name, i, value in block.values([self.field]):
            if not isinstance(value, list) or not value or not isinstance(value[0], str):
                continue
            inside = ends_inside(value)
            if len(self.longest) <= FEW or len(value) > self.longest[-1][0]:
                self._keep([(len(value), -block.index(i), block.file(i))])
            self.confined.of[name, splits[i]] += 1 + inside
            if inside:
                self.joined[1 + inside] += 1
                self.confined.add_odd(name, splits[i], block.index(i), inside)
                self.where.add(name, block, i, name)

    def _keep(self, longest: list[tuple[int, int, str]]) -> None:
        self.longest = sorted([*self.longest, *longest], reverse=True)[: FEW + 1]

    def merge(self, other: Check) -> None:
        assert isinstance(other, JoinedSentences)
        self._keep(other.longest)
        self.seen += other.seen
        self.joined += other.joined
        self.confined.merge(other.confined)
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        n = self.joined.total()
        part = self.confined.part(self.field, self.field) if n >= LEAST else None
        if part is not None:
            value = {"count": n, "most": max(self.joined), "part": part.said(), "where": self.where.of(self.field)}
            yield Fact(JOINED, value, self.evidence(), {"field": self.field})

        steps = enumerate(pairwise(self.longest), 1)
        apart = [n for n, (one, other) in steps if one[0] >= TIMES * other[0]]
        if apart and self.seen >= SAMPLES:
            found, usual = self.longest[: apart[0]], self.longest[apart[0]][0]
            where = [{"sample": -at, "file": file or None} for _, at, file in found]
            value = {"count": len(found), "most": found[0][0], "others": usual, "where": where}
            yield Fact(FAR_LONGER, value, self.evidence(), {"field": self.field})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(FAR_LONGER):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name}: {number(v['count'], 'sample')} {verb(v['count'], 'hold')} up to {v['most']:,} words, while no other holds more than "
            text += f"{v['others']:,}"
            fix = "find out whether the blank lines between sentences were lost there; if so, split them again"
            yield finding("suspicious-text", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(JOINED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name}: {number(v['count'], 'sample')} {verb(v['count'], 'hold')} several sentences, up to {v['most']:,} (sentences with "
            text += f"another one before them: {v['part']})"
            fix = (
                "find out whether blank lines or separators between sentences were lost there; if so, split them again"
            )
            yield finding("suspicious-text", "warning", text, fact, fix, v["where"], v["count"])


def ends_inside(tokens: list[object]) -> int:
    """How many sentences end before another one begins, with a capital letter."""
    return sum(one in ENDS and isinstance(other, str) and other[:1].isupper() for one, other in pairwise(tokens))


CHECK = JoinedSentences
