"""What is annotated within images of one part: keypoints in another order, labelled ones at the corner, boxes that are there twice; and marks."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from dataloader_expert.sources.base import Objects
from tests.checks.looking import Data, judged_alone

RNG = np.random.default_rng(47)
SPLITS = ["train"] * 60 + ["val"] * 30
PLACES = np.array([[0.05, 0.1], [0.2, 0.5], [0.5, 0.1], [0.8, 0.6], [0.9, 0.95], [0.3, 0.9]])
CLASSES = {"objects": Objects("classes", {0: "thing"})}


def posed(change: Any = None, **odd: Any) -> Data:
    """Objects with six points each, some of them facing the other way; ``change`` of the points of the second split."""
    boxes, points = [], []
    for i in range(90):
        corner, size = RNG.uniform(5, 40, 2), RNG.uniform(20, 50, 2)
        at = PLACES + RNG.normal(0, 0.02, PLACES.shape)
        at[:, 0] = np.where(RNG.random() < 0.5, 1 - at[:, 0], at[:, 0])
        seen = np.where(RNG.random(6) < 0.1, 0, 2)
        made = np.c_[corner + at * size, seen] * (seen > 0)[:, None]
        boxes.append(np.r_[corner, corner + size][None])
        points.append((change(made) if change is not None and i >= 60 else made)[None].astype(np.float32))
    columns = {"boxes": boxes, "keypoints": points}
    return Data(columns, splits=SPLITS, kinds={"keypoints": "other", "boxes": "other"}, context={"corners": True} | odd)


def rolled(points: Any) -> Any:
    return np.roll(points, 1, 0)


def crouched(points: Any) -> Any:
    made = points.copy()
    made[:, 1] = np.where(points[:, 2] > 0, 0.7 * points[:, 1] + 20, 0)
    return made


def at_corner(points: Any) -> Any:
    made = points.copy()
    made[2] = 0, 0, 2
    return made


ORDER_SILENT = {"one order": posed(), "another pose": posed(crouched)}
ORDER = {"points that come in another order": (posed(rolled), "keypoints-outside", "warning")}


def boxed(doubled: Any = (), crowd: float = 0.0) -> Data:
    """Images with a few boxes; of some, all are there again, a pixel off; a share of all others has a neighbour as close."""
    boxes = []
    for i in range(60):
        corner = RNG.uniform(0, 200, (4, 2))
        made = np.c_[corner, corner + RNG.uniform(20, 40, (4, 2))]
        if i in doubled:
            made = np.r_[made, made + 1]
        elif RNG.random() < crowd:
            made = np.r_[made, made[:1] + 1]
        boxes.append(made)
    columns = {"boxes": boxes, "classes": [np.zeros(len(of), np.int64) for of in boxes]}
    return Data(columns, kinds={"boxes": "other", "classes": "other"}, context={"corners": True} | CLASSES)


BOXES_SILENT = {
    "boxes": boxed(),
    "crowds": boxed(range(0, 60, 8), crowd=0.5),
    "two images": boxed(range(2)),
    "most images": boxed(range(50)),
}
BOXES = {"images with each object twice": (boxed(range(0, 60, 6)), "duplicate-boxes", "warning")}


def marked(rows: Any, splits: Any = SPLITS, value: int = 255) -> Data:
    """Pictures of noise in large squares, some with a small square at one place."""
    images = []
    for i in range(90):
        pixels = RNG.integers(0, 255, (8, 8), np.uint8).repeat(8, 0).repeat(8, 1)
        if i in rows:
            pixels[4:12, 6:14] = value
        images.append(Image.fromarray(pixels))
    return Data({"image": images}, splits=splits)


MARKS_SILENT = {
    "no marks": marked(()),
    "marks in all": marked(range(90)),
    "marks in some of both": marked(range(30, 70)),
}
MARKS = {"a mark in one split": (marked(range(60, 90)), "preprocessing-differs", "warning")}


def test_the_order_is_said_by_the_points() -> None:
    """Seen: the tail had moved from the end of the list to its beginning in one split, and nothing was said."""
    found = judged_alone("keypoint_order", posed(rolled))["keypoints-outside"]
    assert "in val: within their boxes, number 0 lies where number 5 does elsewhere" in found.message


def test_labelled_points_at_the_corner_of_the_image_are_told() -> None:
    """Seen: points that nobody had labelled were written as (0, 0) and visible."""
    found = judged_alone("keypoints", posed(at_corner))["keypoints-outside"]
    assert found.count == 30 and "at (0, 0)" in found.message
    assert judged_alone("keypoints", posed()) == {}
