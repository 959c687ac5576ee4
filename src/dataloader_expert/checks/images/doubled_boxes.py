"""Images in which nearly every object has two boxes of its class that nearly cover each other, where the others have hardly any such pair: the
annotations of two people, or of two runs, were merged.

Two objects of a crowd may well overlap so closely, but then hardly all objects of an image do, two by two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import array_of, has_boxes
from dataloader_expert.sources.base import Block

DOUBLED = Quantity(
    "doubled_boxes", "samples", "images in which nearly all boxes nearly cover another one of their class, with places"
)
COVER, NEARLY, MOST_BOXES = 0.75, 0.8, 500
"""The least share of their union that two boxes have in common, the least share of an image's boxes that come in such pairs, and the most boxes of
an image that are compared."""
SEVERAL, SELDOM = 3, 0.02
"""The fewest such images, and the most boxes of the others that may come in pairs."""


class DoubledBoxes(Check):
    ids = ("duplicate-boxes",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.boxes = next((f.name for f in context.fields if has_boxes(f)), "")
        self.classes = context.classes_of_objects or ""
        self.images = self.doubled = self.others = self.pairs = 0
        """Images with objects; those with doubled boxes; the boxes of the others, and how many of these have a pair."""
        self.where = Places()

    def applies(self) -> bool:
        return bool(self.boxes and self.classes and self.context.corners)

    def looked(self) -> bool:
        return self.images > 0

    def see(self, block: Block) -> None:
        self.seen += block.samples
        boxes, classes = (block.columns.get(name) for name in (self.boxes, self.classes))
        if boxes is None or classes is None:
            return
        for i, (of, kinds) in enumerate(zip(boxes.values[: block.samples], classes.values, strict=False)):
            if of is None or kinds is None or not 0 < len(of) <= MOST_BOXES or len(of) != len(kinds):
                continue
            paired = int(pairs(array_of(of), array_of(kinds)).sum())
            self.images += 1
            if paired > 1 and paired >= NEARLY * len(of):
                self.doubled += 1
                self.where.add("doubled", block, i, self.boxes)
            else:
                self.others += len(of)
                self.pairs += paired

    def merge(self, other: Check) -> None:
        assert isinstance(other, DoubledBoxes)
        self.seen += other.seen
        for count in ("images", "doubled", "others", "pairs"):
            setattr(self, count, getattr(self, count) + getattr(other, count))
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        if self.doubled:
            value = {"count": self.doubled, "of": self.images, "others": self.others, "pairs": self.pairs}
            yield Fact(DOUBLED, value | {"where": self.where.of("doubled")}, self.evidence(), {"field": self.boxes})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(DOUBLED):
            v, n = fact.value, fact.value["count"]
            if n < SEVERAL or 2 * n > v["of"] or v["pairs"] > SELDOM * v["others"]:
                continue
            text = f"{n:,} of {number(v['of'], 'image')} {verb(n, 'have')} nearly every object twice in {escaped(str(fact.at['field']))}: two boxes of one "
            text += "class that nearly cover each other, which hardly occurs in the others"
            fix = "keep one box of each pair: two annotations of these images were probably merged"
            yield finding("duplicate-boxes", "warning", text, fact, fix, v["where"], n)


def pairs(boxes: Any, classes: Any) -> Any:
    """Which boxes, by left, top, right and bottom, [n, 4], nearly cover another one of their class without being equal to it, bool [n]."""
    import numpy as np

    boxes = boxes.astype(np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or classes.shape != (len(boxes),):
        return np.zeros(len(boxes), bool)
    low, high = boxes[:, :2], boxes[:, 2:]
    with np.errstate(invalid="ignore", divide="ignore"):
        sides = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
        common = np.clip(sides, 0, None).prod(2)
        area = np.clip(high - low, 0, None).prod(1)
        cover = common / (area[:, None] + area[None] - common)
    same = (boxes[:, None] == boxes[None]).all(2)  # equal ones are told as such
    return ((cover >= COVER) & ~same & (classes[:, None] == classes[None])).any(1)


CHECK = DoubledBoxes
