"""Pairs of a preferred and a rejected conversation whose questions differ in a few samples, where most agree in all but the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.checks.common.wording import BETTER, FEW, WORSE, said
from dataloader_expert.checks.texts.confined import Confined
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

APART = Quantity("prompts_apart", "samples", "pairs of answers whose questions differ, with places")
LEAST = 20
"""The fewest pairs of which a few can be odd."""
ASKED = ("\n\nAssistant:", "\n\nHuman:")
"""What ends the question, and begins one, where a conversation is a single text, as Anthropic's HH-RLHF writes it."""
Pair = tuple[str, str]


class PreferencePairs(Check):
    ids = ("prompts-differ",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        names = [f.name for f in context.fields if f.kind == "text" or f.name in context.conversations]
        better, worse = ([n for n in names if set(words(n)) & of] for of in (BETTER, WORSE))
        self.pairs = list(product(better[:2], worse[:2]))
        self.both: Counter[Pair] = Counter()
        self.apart: Counter[Pair] = Counter()
        self.confined, self.where = Confined(context), Places()

    def applies(self) -> bool:
        return bool(self.pairs)

    def looked(self) -> bool:
        return bool(self.both)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        splits = self.confined.note(block)
        for pair in self.pairs:
            columns = [block.columns[name].values for name in pair if name in block.columns]
            if len(columns) < 2:
                continue
            for i, values in enumerate(zip(*columns, strict=False)):
                asked = [question_of(value) for value in values]
                if asked[0] is None or asked[1] is None:
                    continue
                self.both[pair] += 1
                self.confined.of[pair, splits[i]] += 1
                if asked[0] != asked[1]:
                    self.apart[pair] += 1
                    self.confined.add_odd(pair, splits[i], block.index(i))
                    self.where.add(pair, block, i, pair[1])

    def merge(self, other: Check) -> None:
        assert isinstance(other, PreferencePairs)
        self.seen += other.seen
        self.both += other.both
        self.apart += other.apart
        self.confined.merge(other.confined)
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for pair in self.pairs:
            n, of = self.apart[pair], self.both[pair]
            if of < LEAST or not n:
                continue
            part = self.confined.part(pair, pair)
            if part is not None or n * FEW <= of:
                value = {"count": n, "of": of, "where": self.where.of(pair)}
                value |= {"part": None if part is None else part.said()}
                yield Fact(APART, value, self.evidence(), {"fields": list(pair)})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(APART):
            n, of, (a, b) = fact.value["count"], fact.value["of"], (escaped(name) for name in fact.at["fields"])
            text = f"in {n:,} of {number(of, 'pair')} {a} and {b} answer different questions"
            text += f" ({fact.value['part']})" if fact.value["part"] else ""
            fix = "pair the answers again by question, or drop these: a preference pair needs two answers to the same question"
            yield finding("prompts-differ", "warning", text, fact, fix, fact.value["where"], n)


def question_of(value: Any) -> list[str] | None:
    """The texts of all turns but the last; of a single text, what stands before the last answer; None if there is no question."""
    if isinstance(value, str):
        asked, mark, _ = value.rpartition(ASKED[0])
        return [asked] if mark and ASKED[1].strip() in asked else None
    if isinstance(value, list) and len(value) > 1 and all(isinstance(turn, dict) for turn in value):
        return list(said(value[:-1]))
    return None


CHECK = PreferencePairs
