"""Keypoints of some objects of one part that are mirrored, and those of a part that all lie off their boxes in one direction.

Left and right points that keep their names while the image is mirrored turn about the wrong way: where three points always follow one another
clockwise, as the eyes and the tip of a lizard seen from above do, they run counter-clockwise there. Objects that face either way have no such three.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import ODD_POINTS, Context
from dataloader_expert.checks.common.cohorts import Cohorts, only_there, told_of
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.per_sample import apart
from dataloader_expert.checks.common.rows_kept import in_order, places
from dataloader_expert.conclusions import Finding, finding, number, verb
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.base import Block

MIRRORED = Quantity("keypoints_mirrored", "samples", "samples of a part whose keypoints run the other way round")
OFFSET = Quantity(
    "keypoints_offset", "samples", "samples of a part whose keypoints all lie off their boxes in one direction"
)
KEPT, MOST_POINTS = 4_000, 64
LOOKED = 10
"""The first points of an object by which its sense is told."""
LEAST, SEVERAL, TRIPLES = 15, 5, 3
"""The fewest objects of a part and of all others, the fewest mirrored ones, and the fewest three points that tell the sense of an object."""
ALWAYS, WIDE, CLEAR = 0.98, 0.01, 0.9
"""The share of objects in which three points that tell it have one sense; the least area of nearly all of these triangles, in parts of that of the
points; and the share of an object's triangles that agree, and of objects that are clear."""
AWAY, SURE = 0.1, 0.9
"""By how much of their sides boxes lie off, and how often those of the part lie on one side of those of the others."""


class KeypointSides(DrawnRows):
    ids = ("keypoints-outside",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        found = [
            f
            for f in context.fields
            if f.name == "keypoints" and len(f.shape) == 3 and 3 <= (f.shape[1] or 0) <= MOST_POINTS
        ]
        self.points = found[0].name if found else ""
        self.width = (found[0].shape[1] or 0) if found else 0
        self.boxes = next((f.name for f in context.fields if has_boxes(f)), "")
        self.cohorts = Cohorts(context)
        self.drawn = Drawn(KEPT)
        self.beside, self.needs = [self.cohorts], [self.points]

    def applies(self) -> bool:
        return bool(self.points)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        points = block.columns[self.points].values
        boxes = block.columns[self.boxes].values if self.context.corners and self.boxes in block.columns else None
        made = [_main(points[i], None if boxes is None else boxes[i], self.width) for i in rows.tolist()]
        kept = {
            "points": np.stack([of for of, _ in made]).reshape(len(rows), -1),
            "off": np.stack([off for _, off in made]),
        }
        return kept | self.cohorts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        turns = senses(rows["points"].reshape(len(rows["sample"]), self.width, 2)[:, :LOOKED])
        told: set[str] = set()
        for kind, names, whose in self.cohorts.kinds(rows, LEAST):
            for k in np.argsort(np.bincount(whose[whose >= 0], minlength=len(names)), kind="stable").tolist():
                own, at = whose == k, {"field": self.points, "kind": kind, "of": names[k]}
                odd = mirrored(turns, own) if "sides" not in told else None
                if odd is not None and odd.any():
                    told.add("sides")
                    value: dict[str, Any] = {
                        "count": int(odd.sum()),
                        "of": int(own.sum()),
                        "where": places(rows, odd, self.points),
                    }
                    yield Fact(MIRRORED, value, self.evidence("sampled", len(own)), at)
                by = (
                    offset(rows["off"][own], rows["off"][~own])
                    if "offset" not in told and 2 * own.sum() <= len(own)
                    else None
                )
                if by is not None:
                    told.add("offset")
                    value = {"count": int(own.sum()), "by": by, "where": places(rows, own, self.points)}
                    yield Fact(OFFSET, value, self.evidence("sampled", len(own)), at)

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MIRRORED):
            v, name, n = fact.value, escaped(str(fact.at["field"])), fact.value["count"]
            if 2 * facts.value(ODD_POINTS, {"count": 0}, field=self.points, odd="swapped")["count"] >= n:
                continue  # swapping x and y mirrors points, too
            text = f"{n:,} of {number(v['of'], 'sample')} {told_of(str(fact.at['kind']), [str(fact.at['of'])])} {verb(n, 'seem')} to have left and right swapped "
            text += f"in {name}: the points run in the opposite direction to all others, as when images are flipped but the points keep their names"
            fix = (
                "overlay a few on their images; if so, swap the left and the right point of each pair in these samples"
            )
            yield finding("keypoints-outside", "warning", text, fact, fix, v["where"], n)
        for fact in facts.all(OFFSET):
            v, name = fact.value, escaped(str(fact.at["field"]))
            sides = ((v["by"][0], "width", "to the right", "to the left"), (v["by"][1], "height", "down", "up"))
            steps = [
                f"{abs(part):.0%} of the {side} {on if part > 0 else back}"
                for part, side, on, back in sides
                if abs(part) >= AWAY / 2
            ]
            text = f"{name} {told_of(str(fact.at['kind']), [str(fact.at['of'])])} are offset from their boxes by about {' and '.join(steps)} compared with the others"
            fix = "overlay a few on their images: the points or the boxes were moved, for example by a crop applied to only one of them"
            yield finding("keypoints-outside", "warning", text, fact, fix, v["where"], v["count"])


def _main(points: Any, boxes: Any, width: int) -> tuple[Any, Any]:
    """The labelled points of the object of an image that has most of them, [width, 2], in parts of their extent; and how far their middle lies
    from that of its box, in parts of the box's sides. NaN for what is unknown."""
    import numpy as np

    made, off = np.full((width, 2), np.nan), np.full(2, np.nan)
    every = np.asarray(points if points is not None else (), np.float64)
    if every.ndim != 3 or every.shape[1:] != (width, 3) or not len(every):
        return made, off
    there = (every[:, :, 2] > 0) & np.isfinite(every[:, :, :2]).all(2)
    i = int(there.sum(1).argmax())
    own = every[i][there[i], :2]
    if len(own) < 3:
        return made, off
    low, high = own.min(0), own.max(0)
    made[there[i]] = (own - low) / np.maximum(high - low, 1e-9)
    around = np.asarray(boxes if boxes is not None else (), np.float64)
    if around.shape == (len(every), 4) and (around[i, 2:] > around[i, :2]).all():
        off = ((low + high) / 2 - (around[i, :2] + around[i, 2:]) / 2) / (around[i, 2:] - around[i, :2])
    return made, off


def senses(points: Any) -> Any:
    """Twice the area of each three of the points, [n, points, 2], negative where they run the other way; NaN where one is unknown, [n, triples]."""
    import numpy as np

    at = np.array([*combinations(range(points.shape[1]), 3)]).reshape(-1, 3)
    a, b, c = (points[:, at[:, k]] for k in range(3))
    one, two = b - a, c - a
    return one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0]


def mirrored(turns: Any, own: Any) -> Any:
    """Which objects of a part, ``own``, run the other way than all others do; bool [n]. ``turns``: as of ``senses``."""
    import numpy as np

    none, others = np.zeros(len(turns), bool), turns[~own]
    known = np.isfinite(others)
    enough = known.sum(0) >= LEAST
    if not enough.any():
        return none
    ahead = np.where(known, others > 0, False).sum(0) / np.maximum(known.sum(0), 1)
    size = np.where(known, np.abs(others), np.inf)
    wide = (
        np.sort(size, 0)[np.minimum((known.sum(0) * (1 - CLEAR)).astype(int), len(size) - 1), np.arange(size.shape[1])]
        >= WIDE
    )
    telling = enough & wide & (np.maximum(ahead, 1 - ahead) >= ALWAYS)
    if telling.sum() < TRIPLES:
        return none
    side = np.where(ahead[telling] > 0.5, 1, -1)
    here = turns[:, telling] * side
    there = np.isfinite(here)
    agree = np.where(there, here > 0, False).sum(1) / np.maximum(there.sum(1), 1)
    judged = own & (there.sum(1) >= TRIPLES)
    odd, sound = judged & (agree <= 1 - CLEAR), judged & (agree >= CLEAR)
    rest = int((known[:, telling].sum(1) >= TRIPLES).sum())
    sure = odd.sum() >= SEVERAL and only_there(int(odd.sum()), int(judged.sum()), rest)
    return odd if sure and (odd | sound).sum() >= CLEAR * judged.sum() else none


def offset(own: Any, others: Any) -> list[float] | None:
    """By how much the points of a part lie off their boxes, across and down, if nearly all lie on one side of those of the others; None if not."""
    import numpy as np

    own, others = (part[np.isfinite(part).all(1)] for part in (own, others))
    if min(len(own), len(others)) < LEAST:
        return None
    by = np.median(own, 0) - np.median(others, 0)
    sure = [abs(by[k]) >= AWAY and apart(own[:, k].tolist(), np.sort(others[:, k]).tolist()) >= SURE for k in range(2)]
    return [float(x) for x in by] if any(sure) else None


CHECK = KeypointSides
