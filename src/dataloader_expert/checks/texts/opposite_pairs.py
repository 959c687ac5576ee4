"""Pairs of answers that stand twice with the opposite preference: one of the two teaches the contrary of the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import digests, mix
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.wording import BETTER, WORSE
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import words

OPPOSITE = Quantity("opposite_pairs", "", "pairs of answers that stand in both orders of preference, with places")
ASKED = {"prompt", "prompts", "question", "query", "instruction", "context", "input", "messages"}
"""Words in the names of fields that a preference depends on."""
MOST = 2_000_000
"""The most pairs that are compared, at 24 bytes each."""


class OppositePairs(Check):
    ids = ("label-conflict",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        names = [f.name for f in context.fields if f.kind in ("text", "category") or f.name in context.conversations]
        better, worse = ([n for n in names if {*words(n)} & of] for of in (BETTER, WORSE))
        self.pair = (better[0], worse[0]) if len(better) == len(worse) == 1 and better != worse else None
        self.asked = [n for n in names if {*words(n)} & ASKED and n not in (*better, *worse)]
        self.kept: list[Any] = []
        """Of each sample: digests of question and better answer, of question and worse answer, and its index; uint64 [n, 3]."""
        self.files = Files()

    def applies(self) -> bool:
        return self.pair is not None

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        if self.pair is None or not {*self.pair} <= block.columns.keys() or self.seen > MOST:
            return
        asked = mix(digests(block, self.asked))
        both = [asked ^ mix(digests(_plain(block, name), ["answer"])) for name in self.pair]
        self.kept.append(np.stack([*both, block.indices().astype(np.uint64)], 1))

    def merge(self, other: Check) -> None:
        assert isinstance(other, OppositePairs)
        self.seen += other.seen
        self.kept += other.kept
        self.files.merge(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.kept or self.seen > MOST:
            return
        better, worse, index = np.concatenate(self.kept).T
        there = better != worse
        better, worse, index = better[there], worse[there], index[there]
        pairs = mix(np.minimum(better, worse)) ^ np.maximum(better, worse)
        order = np.argsort(pairs, kind="stable")
        starts = np.flatnonzero(np.concatenate([[True], pairs[order][1:] != pairs[order][:-1]])[: len(order)])
        if not len(starts):
            return
        first = (better < worse)[order].astype(np.int64)
        sums, sizes = np.add.reduceat(first, starts), np.diff(np.concatenate([starts, [len(order)]]))
        both = (sums > 0) & (sums < sizes)
        members = np.sort(index[order[np.repeat(both, sizes)]]).astype(np.int64).tolist()
        value = {
            "count": int(both.sum()),
            "where": self.files.places(members[:MAX_PLACES], self.pair[0] if self.pair else ""),
        }
        if members:
            yield Fact(OPPOSITE, value, self.evidence(), {"fields": list(self.pair or ())})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(OPPOSITE):
            n, (a, b) = fact.value["count"], (escaped(name) for name in fact.at["fields"])
            text = f"{number(n, 'pair')} of answers {verb(n, 'occur')} in both orders of preference: what is {a} in one sample is {b} in another one"
            fix = "find out which of the two was meant, or drop both: where annotators disagree, keep what most of them prefer"
            yield finding("label-conflict", "warning", text, fact, fix, fact.value["where"], n)


def _plain(block: Block, name: str) -> Block:
    """The block with this column alone, under a name that is the same for both answers: digests depend on names."""
    return Block(block.unit, {"answer": block.columns[name]}, rows=block.rows)


CHECK = OppositePairs
