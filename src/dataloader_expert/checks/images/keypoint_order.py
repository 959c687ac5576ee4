"""Keypoints that come in another order in one split or part: each lies, within the box of its object, where another one does elsewhere.

A pose or a view moves all points; only another order puts several of them exactly where others are. Whether an object faces left or right is left
out: places are by the distance from the middle of the box.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.cohorts import Cohorts, told_of
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import in_order, places
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Quantity
from dataloader_expert.sources.arrays import has_boxes
from dataloader_expert.sources.base import Block

REORDERED = Quantity(
    "keypoints_reordered",
    "samples",
    "samples of a part whose keypoints come in another order than elsewhere, and which",
)
KEPT, MOST_POINTS = 4_000, 64
LEAST = 15
"""The fewest objects of a part, and of all others, in which each point is labelled."""
FAR, NEAR, TIMES = 0.12, 0.06, 3.0
"""In parts of the sides of a box: how far from where it is elsewhere a moved point lies at least, how far at most from the place of the
other one, and how many times as far it is from its own."""
TOLD = 4


class KeypointOrder(DrawnRows):
    ids = ("keypoints-outside",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        found = [
            f
            for f in context.fields
            if f.name == "keypoints" and len(f.shape) == 3 and (f.shape[1] or 0) <= MOST_POINTS
        ]
        self.points = found[0].name if found and found[0].shape[1] is not None else ""
        self.width = (found[0].shape[1] or 0) if found else 0
        self.boxes = next((f.name for f in context.fields if has_boxes(f)), "")
        self.cohorts = Cohorts(context)
        self.drawn = Drawn(KEPT)
        self.beside, self.needs = [self.cohorts], [self.points, self.boxes]

    def applies(self) -> bool:
        return bool(self.points and self.boxes and self.context.corners)

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        points, boxes = (block.columns[name].values for name in (self.points, self.boxes))
        made = [placed(points[i], boxes[i], self.width) for i in rows.tolist()]
        return {"places": np.stack(made).reshape(len(rows), -1)} | self.cohorts.of(block, rows)

    def facts(self) -> Iterable[Fact]:
        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        every = rows["places"].reshape(len(rows["sample"]), self.width, 2)
        for kind, names, whose in self.cohorts.kinds(rows, LEAST):
            found = []
            for k in sorted(range(len(names)), key=lambda k: (names[k] == "train", int((whose == k).sum()))):
                own = whose == k
                of = reordered(every[own], every[~own]) if 2 * own.sum() <= len(own) or len(names) == 2 else {}
                if of:
                    found.append((k, of))
            for k, of in found[:1] if len(names) == 2 else found:
                own = whose == k
                value: dict[str, Any] = {"of": names[k], "pairs": [[a, b] for a, b in sorted(of.items())]}
                value |= {"count": round(float(own.mean()) * self.seen), "where": places(rows, own, self.points)}
                at = {"field": self.points, "kind": kind, "of": names[k]}
                yield Fact(REORDERED, value, self.evidence("sampled", len(own)), at)
            if found:
                return

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(REORDERED):
            v, name = fact.value, escaped(str(fact.at["field"]))
            pairs = ", ".join(f"number {a} lies where number {b} does elsewhere" for a, b in v["pairs"][:TOLD])
            text = f"{name} seem to come in another order {told_of(str(fact.at['kind']), [v['of']])}: within their boxes, {pairs}"
            text += ", …" if len(v["pairs"]) > TOLD else ""
            fix = "compare the lists of keypoints by which the parts were annotated, and bring all into one order"
            yield finding("keypoints-outside", "warning", text, fact, fix, v["where"], v["count"])


def placed(points: Any, boxes: Any, width: int) -> Any:
    """Where the labelled points of an image's objects lie in their boxes on average, by the distance from the middle across and from the
    top, in parts of the sides, [width, 2]; NaN for one that none has."""
    import numpy as np

    made = np.full((width, 2), np.nan)
    if points is None or boxes is None or not len(points) or len(points) != len(boxes):
        return made
    points, boxes = np.asarray(points, np.float64), np.asarray(boxes, np.float64)
    if points.shape[1:] != (width, 3) or boxes.shape[1:] != (4,):
        return made
    sides = boxes[:, 2:] - boxes[:, :2]
    with np.errstate(invalid="ignore", divide="ignore"):
        at = (points[:, :, :2] - boxes[:, None, :2]) / sides[:, None]
    there = (points[:, :, 2] > 0) & np.isfinite(at).all(2) & (np.abs(at - 0.5) <= 1).all(2)
    at[:, :, 0] = np.abs(at[:, :, 0] - 0.5)
    counts = there.sum(0)
    sums = np.where(there[:, :, None], at, 0).sum(0)
    made[counts > 0] = sums[counts > 0] / counts[counts > 0, None]
    return made


def reordered(own: Any, others: Any) -> dict[int, int]:
    """The points that lie where another one does elsewhere, by their numbers; empty unless they are permuted.

    Args:
        own, others: places of points, [objects, points, 2], NaN for what is not labelled.
    """
    import numpy as np

    enough = [np.isfinite(part[:, :, 0]).sum(0) >= LEAST for part in (own, others)]
    known = np.flatnonzero(enough[0] & enough[1])
    if len(known) < 2:
        return {}
    here, there = (np.nanmedian(part[:, known], axis=0) for part in (own, others))
    far = np.linalg.norm(here[:, None] - there[None], axis=2)
    at = assigned(far)
    each = np.arange(len(known))
    moved = (at != each) & (far[each, each] >= FAR)
    if moved.sum() < 2 or far[each, at][moved].max() > NEAR or far.trace() < TIMES * far[each, at].sum():
        return {}
    return {int(known[k]): int(known[at[k]]) for k in np.flatnonzero(moved).tolist()}


def assigned(far: Any) -> Any:
    """Which place each point has if each has one of its own, so that no two should swap theirs, int64 [n]; ``far``: distances, [n, n]."""
    import numpy as np

    at = np.arange(len(far))
    for _ in range(len(far)):  # each round swaps the best pair of each point; few rounds are needed
        better = False
        for a, b in combinations(range(len(far)), 2):
            if far[a, at[b]] + far[b, at[a]] < far[a, at[a]] + far[b, at[b]] - 1e-12:
                at[a], at[b] = at[b], at[a]
                better = True
        if not better:
            break
    return at


CHECK = KeypointOrder
