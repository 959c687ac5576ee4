"""Classes of boxes and of masks that look like others in a split or in a group."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataloader_expert.sources.base import Objects
from tests.checks.looking import Data, judged

COLOURS = np.array([[200, 60, 60], [60, 200, 60], [60, 60, 200], [200, 200, 60]], np.float64)
N, TRAIN = 160, 110


def scenes(
    of: list[int], masks: bool = False, noise: float = 12.0, light: float = 1.0, alike: bool = False, by: str = ""
) -> Data:
    """Images of two things each, of four colours, on a gray ground; the classes of those of the second split, or of one camera, have these
    numbers, and its light is another."""
    rng = np.random.default_rng(12)
    images, boxes, classes, maps = [], [], [], []
    camera = np.arange(N) % 4
    for i in range(N):
        other = camera[i] == 3 if by else i >= TRAIN
        image = rng.normal(120, 8, (48, 64, 3))
        own, drawn = rng.integers(0, 4, 2), np.zeros((48, 64), np.uint8)
        corners = []
        for k, c in enumerate(own.tolist()):
            left, top = 4 + 30 * k + int(rng.integers(0, 6)), int(rng.integers(2, 20))
            wide, high = (int(size) for size in rng.integers(14, 22, 2))
            image[top : top + high, left : left + wide] = COLOURS[0 if alike else c] + rng.normal(0, noise, 3)
            corners.append([left, top, left + wide, top + high])
            drawn[top : top + high, left : left + wide] = 1 + (of[c] if other else c)
        images.append((image * (light if other else 1)).clip(0, 255).astype(np.uint8))
        boxes.append(np.array(corners, np.float64))
        classes.append(np.array([of[c] if other else c for c in own.tolist()]))
        maps.append(drawn)
    shown = np.stack(images)
    columns: dict[str, Any] = (
        {"image": shown, "mask": np.stack(maps)} if masks else {"image": shown, "boxes": boxes, "classes": classes}
    )
    columns |= {by: [f"{by} {c}" for c in camera]} if by else {}
    kinds = {"image": "image", "mask": "mask", "boxes": "sequence", "classes": "sequence"}
    objects = Objects("classes", {}) if not masks else None
    splits: Any = "" if by else ["train"] * TRAIN + ["val"] * (N - TRAIN)
    kinds = {name: kind for name, kind in kinds.items() if name in columns} | ({by: "category"} if by else {})
    return Data(columns, splits=splits, kinds=kinds, context={"objects": objects, "corners": not masks})


SILENT: dict[str, Data] = {
    "boxes of the same classes": scenes([0, 1, 2, 3]),
    "masks of the same classes": scenes([0, 1, 2, 3], masks=True),
    "a split in other light": scenes([0, 1, 2, 3], light=0.6),
    "masks of a split in other light": scenes([0, 1, 2, 3], masks=True, light=0.6),
    "things that all look alike": scenes([1, 2, 3, 0], alike=True),
    "masks of things that all look alike": scenes([1, 0, 2, 3], masks=True, alike=True),
    "two classes that are one in a split": scenes([0, 1, 1, 3]),
    "things of any colour": scenes([1, 2, 3, 0], noise=150.0),
    "cameras that agree": scenes([0, 1, 2, 3], by="camera"),
}
SPEAKS: dict[str, tuple[Data, str]] = {
    "classes of boxes that are one further": (scenes([1, 2, 3, 0]), "label-drift"),
    "two classes of masks": (scenes([1, 0, 2, 3], masks=True), "label-drift"),
    "two classes of boxes": (scenes([0, 1, 3, 2]), "label-drift"),
    "two classes of one camera": (scenes([0, 2, 1, 3], by="camera"), "label-odd-one-out"),
    "two classes of masks of one camera": (scenes([0, 2, 1, 3], masks=True, by="camera"), "label-odd-one-out"),
}


def test_which_classes_and_where_is_told() -> None:
    """Our promise: the classes, and how many objects look so."""
    found = judged("class_looks", scenes([0, 1, 3, 2]))["label-drift"]
    assert found.severity == "warning"
    assert "in val: 3 looks like 2 elsewhere, 2 looks like 3 elsewhere" in found.message
