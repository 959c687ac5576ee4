"""Samples of each split, if a field of the samples names it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataloader_expert.checks.base import SPLITS, Check, Context
from dataloader_expert.facts import Fact
from dataloader_expert.sources.base import Block


class Splits(Check):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.counts: Counter[str] = Counter()

    def applies(self) -> bool:
        return self.context.roles.split is not None

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        names, codes = self.context.splits_of(block)
        for name, n in zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True):
            if name is not None:
                self.counts[name] += n

    def merge(self, other: Check) -> None:
        assert isinstance(other, Splits)
        self.seen += other.seen
        self.counts += other.counts

    def facts(self) -> Iterable[Fact]:
        if self.counts:
            yield Fact(SPLITS, dict(sorted(self.counts.items())), self.evidence())


CHECK = Splits
