"""Keypoints of a part that are mirrored, or lie off their boxes, beside those of another pose."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks.looking import Data, judged, judged_alone

RNG = np.random.default_rng(53)
SPLITS = ["train"] * 80 + ["val"] * 30
LIZARD = np.array([[0.5, 0.0], [0.2, 0.3], [0.8, 0.3], [0.15, 0.7], [0.85, 0.7], [0.5, 1.0]])
"""Its nose, left and right feet in front and behind, and tail, seen from above."""


def seen(change: Any = None, rows: Any = (), facing: bool = True, boxes: bool = True) -> Data:
    """A lizard in each image, turned by any angle; ``facing``: never upside down. ``change``: of the points of these samples."""
    around, points = [], []
    for i in range(110):
        angle = RNG.uniform(0, 2 * np.pi)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        at = (LIZARD - 0.5 + RNG.normal(0, 0.02, LIZARD.shape)) * (1 if facing or RNG.random() < 0.5 else (-1, 1))
        made = at @ turn.T * RNG.uniform(30, 50) + RNG.uniform(60, 100, 2)
        around.append(np.r_[made.min(0) - RNG.uniform(1, 5, 2), made.max(0) + RNG.uniform(1, 5, 2)][None])
        made = change(made) if i in rows else made
        visible = np.where(RNG.random(6) < 0.1, 0, 2)
        points.append(np.c_[made * (visible > 0)[:, None], visible][None].astype(np.float32))
    columns: dict[str, Any] = {"keypoints": points} | ({"boxes": around} if boxes else {})
    kinds = {"keypoints": "other", "boxes": "other"}
    return Data(columns, splits=SPLITS, kinds=kinds, context={"corners": True})


def swapped(points: Any) -> Any:
    return points[[0, 2, 1, 4, 3, 5]]


SILENT = {
    "lizards as they lie": seen(),
    "ones on their backs, and not": seen(swapped, range(10, 40), facing=False),
    "a few in both splits": seen(swapped, range(70, 90)),
    "points a little beside": seen(lambda points: points + 1, range(80, 110)),
}
SPOILT = {
    "left and right swapped in a part of training": (seen(swapped, range(10, 40)), "keypoints-outside", "warning"),
    "points of a split off their boxes": (
        seen(lambda points: points + 9, range(80, 110)),
        "keypoints-outside",
        "warning",
    ),
}


def test_mirrored_keypoints_are_told_without_boxes_too() -> None:
    """Seen: a third of the images were mirrored and their points kept their names, and nothing was said."""
    for boxes in (True, False):
        found = judged_alone("keypoint_sides", seen(swapped, range(10, 40), boxes=boxes))["keypoints-outside"]
        assert found.count is not None and 27 <= found.count <= 30 and found.severity == "warning"
        assert "of 80 samples in train seem to have left and right swapped in keypoints" in found.message


def test_keypoints_off_their_boxes_are_told_with_the_way() -> None:
    found = judged_alone("keypoint_sides", seen(lambda points: points + np.array([9, 0]), range(80, 110)))[
        "keypoints-outside"
    ]
    assert "keypoints in val are offset from their boxes by about" in found.message
    assert "of the width to the right compared" in found.message


def test_points_with_x_and_y_swapped_are_told_once() -> None:
    """Seen: points written as y and x were said to have left and right swapped, too."""
    data = seen(lambda points: points[:, ::-1], range(80, 110))
    assert "with x and y swapped" in judged("keypoints", data)["keypoints-outside"].message
    assert judged("keypoint_sides", data) == {}
