"""Samples whose channels stand in reversed order, such as the bands of a satellite: the first for the last.

The means of the channels make a profile, of which each kind of samples has its own. A sample is told whose profile is like those of many
others once it is read from the end, and of few as it is, where nearly all are like many as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import places
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Field

REVERSED = Quantity("channels_reversed", "samples", "samples whose channels are in reverse order, with places")
KEPT, LEAST, FEWEST = 4_000, 10, 2
"""The most samples whose profiles are compared, the fewest that one must be like, and the fewest that are reversed."""
CHANNELS, MOST_CHANNELS = 4, 256
"""Three numbers are soon alike in either order."""
ALIKE, TIMES, MOSTLY = 0.95, 3, 0.9
"""The least correlation of profiles that are alike; to how many times as many a profile is like in one order as in the other; and the
least share of those that are like others at all which are so as they are."""
STRAIGHT = 0.9
"""The correlation of a profile with the numbers of its channels from which it rises or falls all along."""


class ChannelOrder(DrawnRows):
    ids = ("order-reversed",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        axes = {f.name: axis for f in context.fields if (axis := channel_axis(f)) is not None}
        self.name, self.axis = next(iter(axes.items()), ("", 0))
        self.shape = next((f.shape for f in context.fields if f.name == self.name), ())
        self.drawn = Drawn(KEPT)
        self.needs = [self.name]

    def applies(self) -> bool:
        return bool(self.name)

    def looked(self) -> bool:
        return bool(self.drawn.parts)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        values = block.columns[self.name].values
        other = tuple(k for k in range(3) if k != self.axis)
        found = np.full((len(rows), int(self.shape[self.axis] or 0)), np.nan)
        for i, row in enumerate(rows.tolist()):
            value = values[row]
            if isinstance(value, np.ndarray) and value.shape == self.shape and value.dtype.kind in "iuf":
                found[i] = value.mean(other, dtype=np.float64)
        return {"profile": found}

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        _, rows = self.drawn.all()
        odd = turned(rows["profile"])
        if odd.any():
            value = {"count": int(odd.sum()), "of": len(odd), "where": places(rows, odd, self.name)}
            yield Fact(REVERSED, value, self.evidence("sampled", len(odd)), {"field": self.name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(REVERSED):
            v, name = fact.value, escaped(self.name)
            text = f"the channels of {name} seem to be in reverse order in {v['count']:,} of {number(v['of'], 'sample')}: their "
            text += "channel means match those of the others in reverse"
            fix = "find out how these were written; if so, reverse their channels"
            yield finding("order-reversed", "warning", text, fact, fix, v["where"], v["count"])


def channel_axis(field: Field) -> int | None:
    """The first or last axis of an array's three, if it is the shortest and there are channels enough; None of others."""
    shape = field.shape
    if field.kind not in ("array", "image") or len(shape) != 3 or None in shape:
        return None
    size = [int(n or 0) for n in shape]
    axis = 0 if size[0] < min(size[1:]) else 2
    return (
        axis
        if CHANNELS <= size[axis] <= MOST_CHANNELS and size[axis] < min(n for k, n in enumerate(size) if k != axis)
        else None
    )


def turned(profiles: Any) -> Any:
    """Which profiles, float64 [n, channels], are the usual one from the last channel to the first; bool [n]."""
    import numpy as np

    off = profiles - profiles.mean(1, keepdims=True)
    size = np.linalg.norm(off, axis=1, keepdims=True)
    there = np.isfinite(size[:, 0]) & (size[:, 0] > 0)
    unit = off[there] / size[there]
    own, back = ((part @ unit.T >= ALIKE).sum(1) for part in (unit, unit[:, ::-1]))
    known = np.maximum(own, back) >= LEAST
    odd, sound = np.zeros(len(profiles), bool), np.zeros(len(profiles), bool)
    odd[there] = known & (back >= TIMES * own)
    sound[there] = known & (own >= TIMES * back)
    usual = unit[sound[there]].mean(0) if sound.any() else np.zeros(unit.shape[1])
    slope = np.arange(len(usual)) - (len(usual) - 1) / 2
    if abs(usual @ slope) >= STRAIGHT * np.linalg.norm(usual) * np.linalg.norm(slope):
        return odd & False  # one kind of ground may well fall as another rises
    return odd if odd.sum() >= FEWEST and sound.sum() >= MOSTLY * known.sum() else np.zeros(len(profiles), bool)


CHECK = ChannelOrder
