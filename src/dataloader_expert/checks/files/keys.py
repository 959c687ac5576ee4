"""Keys of rows that several rows have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.drawn_groups import present
from dataloader_expert.checks.common.fingerprint import digests_of
from dataloader_expert.checks.common.places import Files
from dataloader_expert.conclusions import MAX_PLACES, Finding, finding, number, verb
from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import COUNTED, DISTINCT_KEY

KEYS = Quantity("repeated_keys", "samples", "samples that share their key with another sample of the same split")
MOST = 4_000_000
"""The most rows whose keys are compared, at 16 bytes each."""


class Keys(Check):
    ids = ("duplicate-keys",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.fields = [r.field for r in context.roles.keys if r.sure and r.how != COUNTED]
        self.parts: list[tuple[Any, Any]] = []
        """Of each block: digests of the keys with the split, uint64 [n, fields], and the samples' indices, int64 [n]."""
        self.compared = 0
        self.files = Files()

    def applies(self) -> bool:
        return bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        self.files.note(block)
        if not self.fields or not block.samples or self.compared >= MOST:
            return
        names, codes = self.context.splits_of(block)
        salt = digests_of(names)[codes]  # each split may count its rows anew
        keys = np.stack([present(block, name, salt) for name in self.fields], axis=1)
        self.parts.append((keys, block.indices()))
        self.compared += block.samples

    def merge(self, other: Check) -> None:
        assert isinstance(other, Keys)
        self.seen += other.seen
        self.parts += other.parts
        self.compared += other.compared
        self.files.merge(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.parts:
            return
        every, index = (np.concatenate(parts) for parts in zip(*self.parts, strict=True))
        for i, name in enumerate(self.fields):
            there = every[:, i] != 0
            order = np.lexsort((index[there], every[there, i]))
            keys, at = every[there, i][order], index[there][order]
            again = np.flatnonzero(np.concatenate([[False], keys[1:] == keys[:-1]]))
            if 0 < len(again) <= (1 - DISTINCT_KEY) * len(keys):  # of more, it is no key after all
                places = sorted({int(at[j]) for k in again[:MAX_PLACES].tolist() for j in (k - 1, k)})[:MAX_PLACES]
                where = [{"sample": s, "file": self.files.of(s), "field": name} for s in places]
                value = {"count": len(again), "rows": int(there.sum()), "where": where}
                yield Fact(KEYS, value, self.evidence(n=self.compared), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(KEYS):
            n = fact.value["count"]
            yield finding(
                "duplicate-keys",
                "warning",
                f"{number(n, 'row')} {verb(n, 'repeat')} the key {fact.at['field']} of an earlier row",
                fact,
                "give every row its own key, or drop the rows that were written twice; joins on this key multiply rows",
                fact.value["where"],
                n,
            )

    def unknowns(self) -> Iterable[Unknown]:
        if self.compared < self.seen and self.applies():
            yield Unknown("duplicate-keys", f"only the keys of {self.compared:,} of {self.seen:,} rows were compared")


CHECK = Keys
