"""Key points of objects: those outside the box of their object, those with x and y swapped, and labelled ones at the corner of the image, (0, 0),
where points that are not labelled are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import ODD_POINTS, Check, Context
from dataloader_expert.checks.common.places import Places
from dataloader_expert.conclusions import Finding, Severity, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.base import Block

CORNER = Quantity(
    "keypoints_at_corner", "objects", "objects with keypoints at (0, 0), outside their box, that are marked as labelled"
)
MARGIN, INSIDE, OUTSIDE = 0.15, 0.9, 0.5
"""By how much of its sides a box is widened; the share of an object's points from which they lie in it, and below which they do not."""
LEAST, USUAL, FEWEST = 20, 0.5, 3
"""The fewest objects, the least share of them whose points lie in their box, and the fewest points of an object."""


class Keypoints(Check):
    ids = ("keypoints-outside",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.points = next((f.name for f in context.fields if f.name == "keypoints" and len(f.shape) == 3), None)
        self.boxes = next((f.name for f in context.fields if has_boxes(f)), None)
        self.counts: Counter[str] = Counter()
        self.corner = 0
        self.where = Places()

    def applies(self) -> bool:
        return self.points is not None and self.boxes is not None and self.context.corners

    def looked(self) -> bool:
        return bool(self.counts)

    def see(self, block: Block) -> None:
        self.seen += block.samples
        points, boxes = (block.columns.get(name or "") for name in (self.points, self.boxes))
        if points is None or boxes is None:
            return
        for i, (of, around) in enumerate(zip(points.values, boxes.values, strict=False)):
            if of is None or around is None or len(of) != len(around):
                continue
            for own, box in zip(of, around, strict=True):
                if at_corner(own, box):
                    self.corner += 1
                    self.where.add("corner", block, i, self.points)
                kind = how(own, box)
                if kind is not None:
                    self.counts[kind] += 1
                    if kind != "inside":
                        self.where.add(kind, block, i, self.points)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Keypoints)
        self.seen += other.seen
        self.counts += other.counts
        self.corner += other.corner
        self.where.merge(other.where)

    def facts(self) -> Iterable[Fact]:
        if self.corner:
            value = {"count": self.corner, "where": self.where.of("corner")}
            yield Fact(CORNER, value, self.evidence(), {"field": self.points})
        total = self.counts.total()
        if total < LEAST or self.counts["inside"] < USUAL * total:
            return  # boxes of something else, such as heads
        for kind in ("swapped", "outside"):
            if n := self.counts[kind]:
                value = {"count": n, "of": total, "where": self.where.of(kind)}
                yield Fact(ODD_POINTS, value, self.evidence(), {"field": self.points, "odd": kind})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(CORNER):
            v, name = fact.value, escaped(str(fact.at["field"]))
            text = f"{number(v['count'], 'object')} {verb(v['count'], 'have')} keypoints ({name}) at (0, 0), outside the box, that are marked as "
            text += "labelled: (0, 0) is what is written where a point is not labelled"
            fix = "set their visibility to 0, so that the loss and the metric leave them out"
            yield finding("keypoints-outside", "warning", text, fact, fix, v["where"], v["count"])
        for fact in facts.all(ODD_POINTS):
            v, name = fact.value, escaped(str(fact.at["field"]))
            severity: Severity = "warning"
            text = f"{name} of {v['count']:,} of {number(v['of'], 'object')} {verb(v['count'], 'lie')} outside the box of their object"
            fix = "overlay them on the image: they may belong to another image size, or to another object"
            if fact.at["odd"] == "swapped":
                severity, text, fix = (
                    "error",
                    text + ", and inside it with x and y swapped",
                    "swap x and y of these objects",
                )
            yield finding("keypoints-outside", severity, text, fact, fix, v["where"], v["count"])


def at_corner(points: Any, box: Any) -> bool:
    """Whether labelled points lie exactly at (0, 0), and the box does not reach there."""
    import numpy as np

    left, top, *_ = np.asarray(box, np.float64)
    x, y, seen = np.asarray(points, np.float64).T
    return bool((left > 0 or top > 0) and ((x == 0) & (y == 0) & (seen > 0)).any())


def how(points: Any, box: Any) -> str | None:
    """``inside`` its box, ``swapped`` if that with x and y swapped, ``outside``; None for few points, and between these."""
    import numpy as np

    x, y, seen = np.asarray(points, np.float64).T
    there = (seen > 0) & np.isfinite(x) & np.isfinite(y)
    left, top, right, bottom = np.asarray(box, np.float64)
    wide, high = MARGIN * (right - left), MARGIN * (bottom - top)
    if there.sum() < FEWEST or not wide > 0 or not high > 0:
        return None

    def share(a: Any, b: Any) -> float:
        held = (a >= left - wide) & (a <= right + wide) & (b >= top - high) & (b <= bottom + high)
        return float(held[there].mean())

    if share(x, y) >= INSIDE:
        return "inside"
    if share(y, x) >= INSIDE:
        return "swapped"
    return "outside" if share(x, y) < OUTSIDE else None


CHECK = Keypoints
