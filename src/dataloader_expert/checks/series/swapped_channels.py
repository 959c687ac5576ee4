"""Two channels of windows, or bands of images, that are swapped in one split, file, site or device: columns in another order, a sensor that was mounted
otherwise.

Each channel has, in the samples of the part, the levels and the spreads that the other one has elsewhere, and neither those of its own. Where there are
several kinds of samples, the difference between the two tells more than either of them: it is turned about.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.cohorts import SPLIT, Cohorts, told_of
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import in_order, places
from dataloader_expert.checks.common.scores import apart, chance_apart
from dataloader_expert.checks.features import Channels
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block, Column

SWAPPED = Quantity("swapped_channels", "samples", "windows of a part in which two channels are swapped, and which")
KINDS = ("array", "sequence")
KEPT, CHANNELS, STEPS = 6_000, 16, 8
"""The most windows that are looked at, the most channels, and the fewest steps of one."""
LEAST, UNLIKE, LIKE, CHANCE, MAY_BE = 20, 0.5, 0.5, 1e-6, 1e-3
"""The fewest windows of a part and of all others; the least distance from elsewhere of either channel's levels or spreads, or of the difference between
their levels; the part of it that may remain from those of the other channel; and how unlikely such a distance must be by chance, and of each channel at least."""


class SwappedChannels(DrawnRows):
    ids = ("scale-drift",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        found = [f for f in context.fields if f.kind in KINDS and len(f.shape) in (2, 3) and f.name != context.label]
        channels = Channels.of(found[0]) if len(found) == 1 and context.objects is None else None
        self.channels = channels if channels is not None and channels.width <= CHANNELS else None
        self.name = "" if self.channels is None else self.channels.name
        self.cohorts = Cohorts(context)
        self.drawn = Drawn(KEPT)
        self.beside, self.needs = [self.cohorts], [self.name]

    def applies(self) -> bool:
        return self.channels is not None

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        return {"looks": self._looks(block.columns[self.name], rows)} | self.cohorts.of(block, rows)

    def _looks(self, column: Column, rows: Any) -> Any:
        """Of each row the level of each channel, and then the logarithm of the spread of each; NaN of windows with gaps or of another
        layout."""
        import numpy as np

        assert self.channels is not None
        width = self.channels.width
        made = np.full((len(rows), 2 * width), np.nan)
        for i, row in enumerate(rows.tolist()):
            value = column.values[row]
            parts = self.channels.apart(value[None]) if hasattr(value, "dtype") else None
            if parts is not None and parts.shape[2] >= STEPS:
                window = parts[0].astype(np.float64)
                if np.isfinite(window).all():
                    made[i, :width], made[i, width:] = window.mean(1), np.log(window.std(1) + 1e-12)
        return made

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        rows = {name: values[np.isfinite(rows["looks"]).all(1)] for name, values in rows.items()}
        told = np.zeros(len(rows["sample"]), bool)
        for kind, names, whose in self.cohorts.kinds(rows, LEAST):
            for k, name in enumerate(names):
                own = whose == k
                if (2 * own.sum() > len(own) and kind != SPLIT) or 2 * (told & own).sum() > own.sum():
                    continue
                pairs = swapped_pairs(rows["looks"], own)
                if len(pairs) != 1 or (kind == SPLIT and name == "train" and len(names) > 1):
                    continue
                told |= own
                value: dict[str, Any] = {"channels": list(pairs[0]), "of": name}
                value |= {"count": round(float(own.mean()) * self.seen), "where": places(rows, own, self.name)}
                at = {"field": self.name, "kind": kind, "of": name}
                yield Fact(SWAPPED, value, self.evidence("sampled", len(own)), at)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SWAPPED):
            v = fact.value
            a, b = (self.channels.called(k) if self.channels is not None else str(k) for k in v["channels"])
            text = f"{a} and {b} seem to be swapped {told_of(str(fact.at['kind']), [v['of']])}: each has the levels and spreads there that the other "
            text += "has elsewhere"
            fix = "compare the order of channels, or how the sensor was mounted; if they differ, swap the two in these samples"
            yield finding("scale-drift", "warning", text, fact, fix, v["where"], v["count"])


def swapped_pairs(looks: Any, own: Any) -> list[tuple[int, int]]:
    """The pairs of channels that have each other's looks in some rows, ``own``, and not their own.

    Args:
        looks: the levels of the channels, then their spreads, [rows, 2 * channels].
    """
    width, n, others = looks.shape[1] // 2, int(own.sum()), int((~own).sum())
    if min(n, others) < LEAST:
        return []
    sure = chance_apart(n, others, CHANCE / width**2)

    def far(a: int, b: int) -> float:
        return max(apart(looks[own, a + k], looks[~own, b + k]) for k in (0, width))

    def turned(a: int, b: int) -> tuple[float, float]:
        """How far the difference between two channels is from the one elsewhere, as it is and turned about."""
        here, there = (looks[part, a] - looks[part, b] for part in (own, ~own))
        return apart(here, there), apart(-here, there)

    odd = {a: d for a in range(width) if (d := far(a, a)) >= chance_apart(n, others, MAY_BE)}
    found = []
    for a, b in combinations(odd, 2):
        least, (straight, back) = min(odd[a], odd[b]), turned(a, b)
        if max(least, straight) >= max(UNLIKE, sure) and max(far(a, b), far(b, a), back) <= LIKE * least:
            found.append((a, b))
    return found


CHECK = SwappedChannels
