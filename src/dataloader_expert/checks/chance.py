"""How many pairs of equal rows chance explains: where rows hold few distinct values, equal rows need be no copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.fingerprint import digests
from dataloader_expert.sources.base import Block

KINDS = {"number", "category", "boolean", "time"}
LOOKED_AT = 1 << 14
"""About so many rows, spread evenly over the data, tell how frequent values are."""
ALIKE = 1.25
"""The factor by which as many pairs as expected may differ from those found; fields that depend on one another differ by
more, and then nothing is explained."""
DEVIATIONS = 3.0
"""Standard deviations of a number of pairs that are luck."""
ITERATIONS = 100
LEAST = 10.0
"""Pairs expected from which on chance explains any: that there were none would be odd."""


class Chance:
    """The frequencies of values in rows that hold single values only; of other samples nothing is kept."""

    def __init__(self, context: Context, names: Sequence[str]) -> None:
        fields = {f.name: f for f in context.fields}
        plain = all(n in fields and fields[n].kind in KINDS and not fields[n].shape for n in names)
        # of a stream of unknown length it is not known which rows to keep
        self.names = list(names) if plain and context.samples is not None else []
        self.stride = max(1, (context.samples or 0) // LOOKED_AT)
        self.parts: list[Any] = []

    def see(self, block: Block) -> None:
        import numpy as np

        if not self.names:
            return
        rows = np.arange(block.samples) if block.rows is None else block.rows[: block.samples]
        at = np.flatnonzero((block.unit.start + rows) % self.stride == 0)
        if len(at):
            some = block.take(at)
            self.parts.append(np.stack([digests(some, [name]) for name in self.names], axis=1))

    def merge(self, other: Chance) -> None:
        self.parts += other.parts

    def equal(self) -> float:
        """The probability that two rows are equal if fields are independent; 0 where that cannot be told.

        Copies raise the frequencies too, so each field is compared in pairs that differ somewhere. Of independent fields
        that are equal with probabilities p, such pairs are equal in one with q = (p - P) / (1 - P), where P is the product
        of all p: the least P that agrees with the q is found by iteration from 0.
        """
        import numpy as np

        rows = sum(map(len, self.parts))
        if rows < 2:
            return 0.0
        seen = np.concatenate(self.parts)
        pairs = rows * (rows - 1) / 2
        equal = pairs_of(np.unique(seen, axis=0, return_counts=True)[1])
        if equal >= pairs:
            return 0.0
        each = [pairs_of(np.unique(column, return_counts=True)[1]) for column in seen.T]
        q = (np.array(each) - equal) / (pairs - equal)
        every = 0.0
        for _ in range(ITERATIONS):
            every = float(np.prod(q * (1 - every) + every))
        return every


def explains(expected: float, found: int) -> bool:
    """Whether chance explains so many pairs of equal rows: about as many are expected."""
    luck = DEVIATIONS * math.sqrt(expected)
    return expected >= LEAST and expected / ALIKE - luck <= found <= ALIKE * expected + luck


def pairs_of(sizes: Any) -> int:
    """Pairs within groups of these sizes."""
    return int((sizes * (sizes - 1) // 2).sum())
