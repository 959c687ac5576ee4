"""Where odd samples are, if one split or one stretch of rows has them and the others hardly any: then they are a fault of how that part was
made, and no way of the whole, however many they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.places import Files
from dataloader_expert.checks.common.stretches import highest
from dataloader_expert.checks.common.swapped_classes import divergence
from dataloader_expert.checks.common.wording import FEW
from dataloader_expert.errors import escaped
from dataloader_expert.sources.base import Block

LEAST = 20
"""The fewest samples of a part, and of all others."""
MANY = 0.1
"""The least share of the samples of a part that are odd."""
DENSE = 0.5
"""The least share in a stretch that nothing else tells."""
CHANCE = 1e-6
"""How unlikely so many must be in it by the share elsewhere."""
MOST = 50_000
"""The most odd samples of a kind whose places are kept."""


@dataclass(frozen=True)
class Part:
    """The part with odd samples: how many of how many, and of the others."""

    text: str
    odd: int
    of: int
    others: int
    rest: int

    def said(self) -> str:
        return f"{self.odd:,} of {self.of:,} {self.text}, and {self.others:,} of {self.rest:,} elsewhere"


class Confined:
    """Counts samples of some kinds, and odd ones among them, by split and by place."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.of: Counter[tuple[Hashable, str | None]] = Counter()
        self.odd: Counter[tuple[Hashable, str | None]] = Counter()
        self.at: dict[Hashable, list[int]] = {}
        self.files = Files()

    def note(self, block: Block) -> list[str | None]:
        """The split of each sample of a block, which are then counted."""
        self.files.note(block)
        names, codes = self.context.splits_of(block)
        return [names[code] for code in codes.tolist()]

    def add_odd(self, kind: Hashable, split: str | None, sample: int, n: int = 1) -> None:
        self.odd[kind, split] += n
        at = self.at.setdefault(kind, [])
        if len(at) <= MOST:
            at.append(sample)

    def merge(self, other: Confined) -> None:
        self.of += other.of
        self.odd += other.odd
        self.files.merge(other.files)
        for kind, at in other.at.items():
            self.at.setdefault(kind, []).extend(at)

    def part(self, whole: Hashable, kind: Hashable) -> Part | None:
        """Where the odd samples of a kind are among all of ``whole``; None if all over."""
        return self._split(whole, kind) or self._stretch(whole, kind)

    def _split(self, whole: Hashable, kind: Hashable) -> Part | None:
        counts = {split: (self.odd[kind, split], n) for (of, split), n in self.of.items() if of == whole}
        free = [split for split, (odd, n) in counts.items() if odd * FEW <= n]
        full = [split for split in counts if split not in free]
        if not full or any(split is None or counts[split][0] < MANY * counts[split][1] for split in full):
            return None
        sums = [sum(counts[split][k] for split in part) for part in (full, free) for k in (0, 1)]
        names = f"in {', '.join(sorted(escaped(str(split)) for split in full))}"
        return _unlikely(Part(names, *sums), len(counts))

    def _stretch(self, whole: Hashable, kind: Hashable) -> Part | None:
        import numpy as np

        at = np.unique(np.array(self.at.get(kind, []), np.int64))
        total = sum(n for (of, _), n in self.of.items() if of == whole)
        if len(at) < 2 or len(at) > MOST:
            return None
        gain = np.ones(2 * len(at) - 1)
        gain[1::2] = 1 - np.diff(at)
        begin, end = highest(gain)
        first, last = int(at[begin // 2]), int(at[(end - 1) // 2])
        odd, of = int(((at >= first) & (at <= last)).sum()), last - first + 1
        every = sum(n for (one, _), n in self.odd.items() if one == kind)
        made = Part(f"in {self.files.stretch(first, last)}", odd, of, every - odd, total - of)
        dense = odd >= DENSE * of and (every - odd) * FEW <= total - of
        return _unlikely(made, total**2 / 2) if dense else None


def _unlikely(part: Part, tries: float) -> Part | None:
    if min(part.of, part.rest) < LEAST:
        return None
    chance = (part.others + 1) / (part.rest + 2)
    enough = part.of * divergence(part.odd / part.of, chance) >= math.log(tries / CHANCE)
    return part if enough else None
