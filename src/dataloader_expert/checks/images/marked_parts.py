"""A small mark at a fixed place in all images of one split, site or device, and in no others: a stamp, a ruler or a logo that was burned in.

A model may take it for what the part has in common, and what it learns elsewhere is disturbed by it. Marks of one class are told as giveaways.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.common.cohorts import DrawnImages, told_of
from dataloader_expert.checks.common.fixed_marks import mark
from dataloader_expert.checks.common.picture_hashes import small_of, visible
from dataloader_expert.checks.common.rows_kept import in_order, places
from dataloader_expert.conclusions import Finding, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.base import Block

MARKED = Quantity(
    "part_marked", "samples", "images of a split, site or device that all have the same small mark at one place"
)
LEAST, OTHERS = 12, 25
"""The fewest images of a part, and of all others."""


class MarkedParts(DrawnImages):
    ids = ("preprocessing-differs",)
    most = 3_000

    def rows(self, block: Block) -> Any:
        return visible(block, self.name, super().rows(block))

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        return {"small": small_of(block, self.name, rows)} | self.cohorts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        small = rows["small"].reshape(-1, 32, 32).astype(np.float32)
        told = np.zeros(len(small), bool)
        for kind, names, whose in self.cohorts.kinds(rows, LEAST):
            for k, name in enumerate(names):
                own = whose == k
                if (~own).sum() < OTHERS or 2 * (told & own).sum() > own.sum():
                    continue
                box = mark(small[own], small[~own])
                if box is None:
                    continue
                told |= own
                value: dict[str, Any] = {"of": name, "count": int(own.sum()), "box": [round(100 * n / 32) for n in box]}
                value["where"] = places(rows, own, self.name)
                at = {"field": self.name, "kind": kind, "of": name}
                yield Fact(MARKED, value, self.evidence("sampled", len(own)), at)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MARKED):
            v = fact.value
            top, left, bottom, right = v["box"]
            text = f"{number(v['count'], 'image')} that were checked {told_of(str(fact.at['kind']), [v['of']])} have the same small patch in "
            text += f"{escaped(self.name)}, from {top} to {bottom} % of the height and from {left} to {right} % of the width, and hardly any others do"
            fix = "cover or crop that place in all images: it was burned in where these were exported"
            yield finding("preprocessing-differs", "warning", text, fact, fix, v["where"], v["count"])


CHECK = MarkedParts
