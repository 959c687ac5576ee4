"""Dropouts: a few recordings in which the sound stops at once, is exactly 0 for a while, and goes on at once.

Where most recordings have such gaps, they are how these were made: beeps, or words that were put together. A sound that fades out, or a gate that
closes slowly, comes to 0 in steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

DROPOUTS = Quantity("dropouts", "samples", "recordings with a gap of exact zeros within the sound, with places")
RATE, USUAL_RATE = "sample_rate", 16_000.0
GAP, EDGE, BESIDE = 0.02, 0.004, 0.04
"""Seconds of the shortest gap, of the sound right at its edges, and of what is next to it."""
ABRUPT, HEARD = 0.3, 1e-3
"""The least size of the sound at an edge, of that next to it, and of the whole recording's."""
SEVERAL, FEW = 3, 0.2
"""The fewest recordings with gaps, and the largest share of them."""


class Dropouts(Check):
    ids = ("silent-audio",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.name = next((f.name for f in context.fields if f.kind == "audio"), "")
        self.count = self.longest = 0
        """Recordings with a gap, and the longest of these in milliseconds."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.name)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        if self.name not in block.columns:
            return
        rates = block.columns.get(RATE)
        for i, value in enumerate(block.columns[self.name].values[: block.samples]):
            rate = float(rates.values[i]) if rates is not None else USUAL_RATE
            length = gap(value, rate)
            if length:
                self.count += 1
                self.longest = max(self.longest, round(1000 * length / rate))
                self.where.add("gap", block, i, self.name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Dropouts)
        self.seen += other.seen
        self.count += other.count
        self.longest = max(self.longest, other.longest)
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        if self.count:
            value = {"count": self.count, "of": self.seen, "longest": self.longest, "where": self.where.of("gap")}
            yield Fact(DROPOUTS, value, self.evidence(), {"field": self.name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(DROPOUTS):
            v, n = fact.value, fact.value["count"]
            if not SEVERAL <= n <= FEW * v["of"]:
                continue
            text = f"{n:,} of {number(v['of'], 'recording')} {verb(n, 'drop')} out in {escaped(self.name)}: within the sound there is a gap of exact "
            text += f"zeros, up to {v['longest']:,} ms long, that begins and ends at once; the others have none"
            fix = "listen to them; cut the gap out, or fetch these recordings again"
            yield finding("silent-audio", "warning", text, fact, fix, v["where"], n)


def gap(value: Any, rate: float) -> int:
    """The length of the longest gap within the sound, in samples; 0 if there is none."""
    import numpy as np

    if not hasattr(value, "dtype") or value.dtype.kind not in "if" or not value.size or not rate > 0:
        return 0
    wave = value.reshape(len(value), -1)
    shortest = max(8, int(GAP * rate))
    if value.size - np.count_nonzero(value) < shortest * wave.shape[1]:
        return 0
    sound = np.flatnonzero(wave.any(1))
    steps = np.diff(sound)
    at = np.flatnonzero(steps > shortest)
    if not len(at):
        return 0
    size = np.abs(wave.astype(np.float64)).max(1)
    heard, (edge, beside) = HEARD * float(size.max()), (max(2, int(part * rate)) for part in (EDGE, BESIDE))
    longest = 0
    for k in at.tolist():
        before, after = size[: sound[k] + 1][::-1], size[sound[k + 1] :]
        sides = [(float(side[:edge].mean()), float(side[:beside].mean())) for side in (before, after)]
        if all(near >= max(heard, ABRUPT * far) for near, far in sides) and min(len(before), len(after)) >= beside:
            longest = max(longest, int(steps[k]) - 1)
    return longest


CHECK = Dropouts
