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
AT_ONCE = 1 << 16
"""Numbers that are looked at together: they stay in the cache."""
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
        keys = mix(block.indices().astype(np.uint64))  # what has no rows of its own is like no other
        whole = column.array
        if whole is not None:
            _unordered(whole[: len(keys)], keys)
        else:
            for i, value in enumerate(column.values[: len(keys)]):
                _unordered(value[None] if hasattr(value, "dtype") else None, keys[i : i + 1])
        self.kept.see(block, keys)

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


def _unordered(values: Any, keys: Any) -> None:
    """Sets the key of each array, [n, rows, numbers], to a digest of its rows that does not depend on their order; not of too few rows, or
    with too many equal ones."""
    import numpy as np

    fits = getattr(values, "ndim", 0) == 3 and values.dtype.kind == "f" and values.shape[2] <= WIDEST
    if not fits or values.shape[1] < LEAST or not values.size:
        return
    _, rows, width = values.shape
    factors = mix(np.arange(width, dtype=np.uint64) + np.uint64(1)) | np.uint64(1)  # one of each column, all odd
    step = max(1, AT_ONCE // (rows * width))
    for at in range(0, len(values), step):
        bits = (values[at : at + step].astype(np.float64) + 0.0).view(np.uint64)
        bits ^= bits >> np.uint64(
            32
        )  # of small numbers few bits are set, all of them upper ones, and so it would be of products
        bits *= factors
        bits ^= bits >> np.uint64(32)
        digests = np.sort(bits.sum(2, dtype=np.uint64), 1)
        differ = 1 + (digests[:, 1:] != digests[:, :-1]).sum(1) >= DISTINCT * rows
        keys[at : at + step][differ] = mix(digests).sum(1, dtype=np.uint64)[differ]


CHECK = Reordered
