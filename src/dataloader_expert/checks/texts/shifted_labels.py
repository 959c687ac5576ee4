"""Labels of tokens that are shifted against the tokens in some samples only: a model that shifts them itself then learns to predict
the token after the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import permutations
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import array_of
from dataloader_expert.sources.base import Block

SHIFTS = Quantity(
    "label_shifts",
    "samples",
    "samples whose labels are shifted from their tokens by another offset than in most, with places",
)
IGNORED = -100
"""The label that torch's cross entropy ignores."""
SAME, LEAST, SHORT = 0.98, 20, 8
"""The share of labels that must equal a token, the fewest samples that show what is usual, and the shortest that is looked at."""
PLACES = {0: "the same as", 1: "shifted left by one from", -1: "shifted right by one from"}
MOST = 4
"""Fields that are compared with each other."""


class ShiftedLabels(Check):
    ids = ("shifted-labels",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        rows = [f.name for f in context.fields if len(f.shape) == 1 and "int" in f.dtype][:MOST]
        ids = [name for name in rows if "id" in name.lower() or "token" in name.lower()]
        self.pairs = [(a, b) for a, b in permutations(rows, 2) if a in ids and b not in ids]
        self.counts: Counter[tuple[str, str, int]] = Counter()
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.pairs)

    def looked(self) -> bool:
        return bool(self.counts)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        for pair in self.pairs:
            columns = [block.columns[name].values for name in pair if name in block.columns]
            if len(columns) < 2:
                continue
            for i, (ids, labels) in enumerate(zip(*columns, strict=False)):
                shift = shift_of(ids, labels)
                if shift is not None:
                    self.counts[(*pair, shift)] += 1
                    self.where.add((*pair, shift), block, i, pair[1])

    def merge(self, other: Check) -> None:
        assert isinstance(other, ShiftedLabels)
        self.seen += other.seen
        self.counts += other.counts
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for pair in self.pairs:
            found = {shift: n for shift in PLACES if (n := self.counts[(*pair, shift)])}
            if len(found) > 1 and sum(found.values()) >= LEAST:
                usual = max(found, key=lambda shift: found[shift])
                for shift, n in found.items():
                    if shift != usual:
                        told = {"count": n, "shift": shift, "usual": usual, "of": sum(found.values())}
                        value = {**told, "where": self.where.of((*pair, shift))}
                        yield Fact(SHIFTS, value, self.evidence(), {"fields": list(pair), "shift": shift})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SHIFTS):
            v, (ids, labels) = fact.value, (escaped(name) for name in fact.at["fields"])
            n = v["count"]
            text = f"{labels} {verb(n, 'are')} {PLACES[v['shift']]} {ids} in {n:,} of {number(v['of'], 'sample')}, and {PLACES[v['usual']]} "
            text += f"{ids} in the others"
            fix = "store them all the same way: a model that shifts labels itself, as in transformers, needs labels equal to the tokens"
            yield finding("shifted-labels", "error", text, fact, fix, v["where"], n)


def shift_of(ids: Any, labels: Any) -> int | None:
    """By how many places labels come before the tokens that they equal: 0, 1 or -1; None if by none of these, or by several."""
    if ids is None or labels is None:
        return None
    ids, labels = array_of(ids), array_of(labels)
    if (
        ids.ndim != 1
        or ids.shape != labels.shape
        or len(ids) < SHORT
        or labels.dtype.kind not in "iu"
        or ids.dtype.kind not in "iu"
    ):
        return None
    fits = []
    for shift in PLACES:
        own = labels[: len(labels) - shift] if shift >= 0 else labels[-shift:]
        token = ids[shift:] if shift >= 0 else ids[:shift]
        there = own != IGNORED
        if there.sum() >= SHORT // 2 and (own == token)[there].mean() >= SAME:
            fits.append(shift)
    return fits[0] if len(fits) == 1 else None


CHECK = ShiftedLabels
