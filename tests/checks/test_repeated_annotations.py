"""Masks and boxes that are those of another image, and those that recur by nature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.checks.looking import Data, judged_alone
from tests.checks.scenes import SIZE, chest, things

N = 60
DRAWN = [things(seed) for seed in range(N)]
IMAGES, MASKS = [image for image, _ in DRAWN], [mask for _, mask in DRAWN]


def boxed(seed: int, n: int = 4) -> Any:
    low = np.random.default_rng(seed).integers(0, SIZE - 20, (n, 2))
    return np.concatenate([low, low + np.random.default_rng(seed + 1).integers(5, 20, (n, 2))], 1).astype(float)


BOXES = [boxed(seed) for seed in range(0, 2 * N, 2)]


def masked(masks: list[Any], images: list[Any] = IMAGES) -> Data:
    return Data({"image": images, "mask": masks}, kinds={"image": "image", "mask": "mask"})


def with_boxes(boxes: list[Any], images: list[Any] = IMAGES) -> Data:
    return Data({"image": images, "boxes": boxes}, kinds={"image": "image"})


def before(values: list[Any], at: set[int]) -> list[Any]:
    return [values[i - 1] if i in at else value for i, value in enumerate(values)]


def brighter(images: list[Any]) -> list[Any]:
    """Each image twice, the second time in another light."""
    return [change for image in images[: N // 2] for change in (image, Image.eval(image, lambda x: x // 2 + 20))]


EARLIER = before(MASKS, set(range(4, N, 9)))
SLIPPED = BOXES[:30] + BOXES[29:-1]
SOUND = {
    "masks of their own": masked(MASKS),
    "boxes of their own": with_boxes(BOXES),
    "copies in another light": masked([mask for mask in MASKS[: N // 2] for _ in range(2)], brighter(IMAGES)),
    "pairs from before and after": masked([mask for mask in MASKS[: N // 2] for _ in range(2)]),
    "one field of view": masked([MASKS[0]] * N),
    "frames of chests with one mask each five": masked([MASKS[i // 5] for i in range(N)], [chest(i // 5) for i in range(N)]),
    "forms of three layouts": with_boxes([boxed(i % 3) for i in range(N)]),
    "one box around most of the picture": with_boxes([np.array([[i % 3, 0.0, 60.0, 63.0]]) for i in range(N)]),
    "two alike by chance": with_boxes(before([boxed(i, 1) for i in range(N)], {7})),
}  # fmt: skip
SPOILT = {
    "masks of the image before": (masked(EARLIER), 7, "7 of them as the one right before"),
    "masks of an image elsewhere": (masked([MASKS[(i + 20) % N] if i in (3, 8) else m for i, m in enumerate(MASKS)]), 2, "2 samples"),
    "boxes that slipped by one": (with_boxes(SLIPPED), 1, "exactly the same boxes"),
}  # fmt: skip


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_annotations_may_recur(data: Data) -> None:
    assert judged_alone("repeated_annotations", data) == {}


@pytest.mark.parametrize(("data", "count", "words"), SPOILT.values(), ids=SPOILT)
def test_annotations_of_another_image_are_told(data: Data, count: int, words: str) -> None:
    """Our promise: exact copies over other images are told with both files, one is enough where it says much."""
    found = judged_alone("repeated_annotations", data)["rows-shifted"]
    assert found.severity == "warning"
    assert found.count == count
    assert words in found.message
