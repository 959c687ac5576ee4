"""Samples that hold the rows of another one in another order: a point cloud whose points were shuffled, a graph whose nodes were numbered anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.fingerprint import mix
from dataloader_expert.checks.duplicates.pairs import Seen, judge_near, near_fact, near_groups
from dataloader_expert.checks.duplicates.spilling import HELD
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block

WIDEST, LEAST, DISTINCT = 64, 8, 0.8
"""The most numbers of a row, the fewest rows of a sample, and the least share of them that differ: atoms of few kinds recur in any order."""
OF, RULE = "reordered samples", "the same rows in another order"


class Reordered(Check):
    ids = ("near-duplicates", "splits-near-overlap", "label-conflict")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.kept = Seen(context, HELD)
        tables = [f.name for f in context.fields if len(f.shape) == 2 and "float" in f.dtype and f.kind != "image"]
        self.field = next((name for name in tables if name in self.kept.names), None)

    def applies(self) -> bool:
        return self.context.near and self.field is not None

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        column = block.columns.get(self.field or "")
        if column is None or not block.samples:
            return
        keys = [_unordered(value) for value in column.values[: block.samples]]
        alone = mix(block.indices().astype(np.uint64))  # what has no rows of its own is like no other
        self.kept.see(block, np.where([k is None for k in keys], alone, np.array([k or 0 for k in keys], np.uint64)))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Reordered)
        self.seen += other.seen
        self.kept.merge(other.kept)

    def facts(self) -> Iterable[Fact]:
        if self.kept.held or self.kept.spills:
            rows, groups = near_groups(self.kept)
            yield near_fact(self.kept, rows, OF, groups, RULE, self.evidence())

    def judge(self, facts: Facts) -> Iterable[Finding]:
        return judge_near(facts, OF, sure=True)


def _unordered(value: Any) -> int | None:
    """A digest of the rows of an array that does not depend on their order; None of too few, or with too many equal ones."""
    import numpy as np

    fits = getattr(value, "ndim", 0) == 2 and value.dtype.kind == "f" and value.shape[1] <= WIDEST
    if not fits or len(value) < LEAST:
        return None
    bits = np.ascontiguousarray(value.astype(np.float64) + 0.0).view(np.uint64)
    rows = np.zeros(len(value), np.uint64)
    for column in bits.T:
        rows = mix(rows ^ column)
    if len(np.unique(rows)) < DISTINCT * len(rows):
        return None
    return int(mix(rows).sum(dtype=np.uint64))


CHECK = Reordered
