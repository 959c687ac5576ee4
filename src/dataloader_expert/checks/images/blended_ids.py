"""Masks whose classes were blended along their borders: resized with interpolation, between 0 and 3 they hold 1 and 2, which are classes too.

Where classes touch whose numbers are not next to each other, a mask goes from one to the other at once. Blended, it goes by the numbers
between. Where most masks do the one, and a part of them the other, these were resized so; classes that are thin by nature, such as borders,
lie between others in most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

SEAMS = Quantity(
    "masks_with_seams",
    "masks",
    "masks that step through the class numbers in between at class borders, unlike the others",
)
LOOKED_AT, SIDE = 4_000, 256
"""About so many masks are looked at, and of each a square of so many pixels."""
CLASSES, ACROSS, LEAST = 64, 3, 12
"""The most classes of a mask; over how many pixels it may go from one to another, and the fewest such places that tell how it does."""
BLENDED, SHARP = 0.7, 0.3
"""The least share of places where a blended mask goes by the numbers between, and the largest where others do."""
FEWEST, KNOWN, UNCLEAR, MOST = 3, 8, 0.2, 0.5
"""The fewest blended masks, and others; the largest share of masks that are neither, and of blended ones."""


class BlendedIds(Check):
    ids = ("label-out-of-range",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.names = context.masks
        self.stride = max(1, (context.samples or 0) // LOOKED_AT)
        self.kinds: Counter[tuple[str, bool | None]] = Counter()
        """Masks by field, and whether they are blended; None: neither clearly so nor not."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.names)

    def see(self, block: Block) -> None:
        import numpy as np

        self.seen += block.samples
        for name in self.names:
            for i, mask in enumerate(block.columns[name].values if name in block.columns else ()):
                if block.index(i) % self.stride or not isinstance(mask, np.ndarray) or mask.ndim != 2:
                    continue
                share = blended(mask)
                if share is None:
                    continue
                kind = True if share >= BLENDED else False if share <= SHARP else None
                self.kinds[name, kind] += 1
                if kind:
                    self.where.add(name, block, i, name)

    def merge(self, other: Check) -> None:
        assert isinstance(other, BlendedIds)
        self.seen += other.seen
        self.kinds += other.kinds
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        for name in self.names:
            odd, usual, unclear = (self.kinds[name, kind] for kind in (True, False, None))
            of = odd + usual + unclear
            if odd < FEWEST or usual < KNOWN or odd > MOST * of or unclear > UNCLEAR * of:
                continue
            value = {"count": odd, "of": of, "where": self.where.of(name)}
            yield Fact(SEAMS, value, self.evidence("sampled" if self.stride > 1 else None), {"field": name})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(SEAMS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{name}: {v['count']:,} of {v['of']:,} masks step through the class numbers in between where two non-adjacent classes "
            text += "meet, unlike the other masks: they were probably resized with interpolation, which invents classes along borders"
            fix = "regenerate these masks with nearest-neighbour interpolation"
            yield finding("label-out-of-range", "warning", text, fact, fix, v["where"], v["count"])


def blended(mask: Any) -> float | None:
    """In which share of places a mask goes by the numbers between from one class to another whose number is not the next; None if there are few such
    places, or it is no mask of classes."""
    import numpy as np

    if mask.dtype.kind not in "bui" or min(mask.shape) < 8:
        return None
    top, left = (max(0, (side - SIDE) // 2) for side in mask.shape)
    part = mask[top : top + SIDE, left : left + SIDE]
    low, high = int(part.min()), int(part.max())
    if low < 0 or high - low < 2 or high > 255:
        return None
    part = part.astype(np.int16)
    if np.count_nonzero(np.bincount(part.reshape(-1))) > CLASSES:
        return None
    places = between = 0
    for lines in (part, part.T):
        ends = lines[:, :-ACROSS], lines[:, ACROSS:]
        apart = np.abs(ends[0] - ends[1]) > 1
        least, most = np.minimum(*ends)[apart], np.maximum(*ends)[apart]
        inner = [lines[:, step : step - ACROSS][apart] for step in range(1, ACROSS)]
        places += len(least)
        between += int(np.any([(least < x) & (x < most) for x in inner], axis=0).sum())
    return between / places if places >= LEAST else None


CHECK = BlendedIds
