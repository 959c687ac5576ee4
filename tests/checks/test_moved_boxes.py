"""Boxes that are those of the image beside in one stretch."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.checks.images.moved_boxes import MovedBoxes
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Facts
from tests.checks.looking import Data, blocks_of, context_of, judged, judged_alone
from tests.checks.scenes import SIZE, things

IMAGES = 150
SEEDS = st.integers(0, 3)


@functools.cache
def boxed(seed: int) -> tuple[list[Any], list[Any]]:
    """Images, and for each the left, top, right and bottom of its things."""
    images, boxes = [], []
    for i in range(IMAGES):
        image, mask = things(seed * IMAGES + i)
        images.append(image)
        places = [np.nonzero(mask == thing) for thing in np.unique(mask)[1:]]
        boxes.append(np.array([[x.min(), y.min(), x.max() + 1, y.max() + 1] for y, x in places], float))
    return images, boxes


def shifted(boxes: list[Any], first: int, last: int, by: int) -> list[Any]:
    return boxes[:first] + boxes[first + by : last + by] + boxes[last:]


def laid(images: list[Any], boxes: list[Any]) -> Data:
    return Data({"image": images, "boxes": boxes})


def delivered(images: list[Any], boxes: list[Any]) -> Data:
    """As a detector's Dataset does: tensors of normalised floats, channels first, and the boxes in a target."""
    tensors = [((np.asarray(i.convert("RGB"), np.float32) / 255 - 0.45) / 0.22).transpose(2, 0, 1) for i in images]
    return Data({"0": tensors, "1.boxes": boxes}, kinds={"0": "array"})


def found(images: list[Any], boxes: list[Any], code: str | None = None) -> Finding | None:
    every = judged("moved_boxes", laid(images, boxes))
    return next(iter(every.values()), None) if code is None else every.get(code)


@pytest.mark.parametrize("shape", [(1, 3, 40, 40), (4800,), (3, 0, 40)])
def test_a_sample_that_is_no_picture_is_passed_over(shape: tuple[int, ...]) -> None:
    """Seen: one tensor with a batch dimension among the others ended the check."""
    images, boxes = boxed(0)
    data = delivered(images, mirrored(boxes, 50, 90, 0))
    check = MovedBoxes(context_of(data))
    data.columns["0"][7] = np.zeros(shape, np.float32)
    for block in blocks_of(data):
        check.see(block)
    assert "box-mirrored" in {f.code for f in check.judge(Facts(tuple(check.facts())))}


def mirrored(boxes: list[Any], first: int, last: int, axis: int) -> list[Any]:
    """The boxes of a stretch mirrored left to right (0) or top to bottom (1)."""
    order = [2, 1, 0, 3] if axis == 0 else [0, 3, 2, 1]
    signs = [SIZE, 0, SIZE, 0] if axis == 0 else [0, SIZE, 0, SIZE]
    way = np.array([-1, 1, -1, 1] if axis == 0 else [1, -1, 1, -1])
    return [(np.array(signs) + way * b[:, order]) if first <= i < last else b for i, b in enumerate(boxes)]


@pytest.mark.parametrize("axis", [0, 1])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_a_stretch_of_mirrored_boxes_is_told(axis: int, seed: int) -> None:
    images, boxes = boxed(seed)
    finding = found(images, mirrored(boxes, 50, 90, axis), "box-mirrored")
    assert finding is not None
    assert ("left to right", "top to bottom")[axis] in finding.message
    first, last = (int(str(place["sample"])) for place in finding.where)
    assert abs(first - 50) <= 6
    assert abs(last - 89) <= 6


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize("by", [1, -1])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_a_stretch_of_other_images_boxes_is_told(by: int, shares: bool, seed: int) -> None:
    """Our promise: where it begins and ends, to a few images, whether boxes are pixels or shares."""
    images, boxes = boxed(seed)
    moved = shifted(boxes, 60, 85, by)
    finding = found(images, [b / SIZE for b in moved] if shares else moved, "rows-shifted")
    assert finding is not None
    assert f"fit the {'next' if by > 0 else 'previous'} image" in finding.message
    first, last = (int(str(place["sample"])) for place in finding.where)
    assert abs(first - 60) <= 4
    assert abs(last - 84) <= 4


@settings(max_examples=2)
@given(seed=SEEDS)
def test_boxes_in_their_places_are_left_alone(seed: int) -> None:
    images, boxes = boxed(seed)
    assert found(images, boxes) is None
    assert found(images, boxes[1:] + boxes[:1]) is None  # of nothing that is seen
    clip = [i // 10 * 10 for i in range(IMAGES)]
    assert found([images[i] for i in clip], [boxes[i] for i in clip]) is None


@pytest.mark.parametrize("axis", [0, 1])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_mirrored_boxes_here_and_there_are_told(axis: int, seed: int) -> None:
    """Our promise: images that were mirrored one by one, without their boxes, are told as those of a stretch are."""
    images, boxes = boxed(seed)
    other = mirrored(boxes, 0, IMAGES, axis)
    finding = found(images, [other[i] if i % 5 == 2 else b for i, b in enumerate(boxes)], "box-mirrored")
    assert finding is not None
    assert ("left to right", "top to bottom")[axis] in finding.message
    assert sum(int(str(place["sample"])) % 5 == 2 for place in finding.where) >= 0.9 * len(finding.where)


@pytest.mark.parametrize("scale", [2.0, 3.0])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_boxes_of_smaller_copies_here_and_there_are_told(scale: float, seed: int) -> None:
    images, boxes = boxed(seed)
    finding = found(images, [b / scale if i % 5 == 2 else b for i, b in enumerate(boxes)], "box-scale")
    assert finding is not None
    assert f"scaled by {scale:g}" in finding.message


def in_splits(images: list[Any], boxes: list[Any]) -> Finding | None:
    data = Data({"image": images, "boxes": boxes}, splits=["train"] * 100 + ["val"] * 50)
    return judged_alone("moved_boxes", data).get("preprocessing-differs")


def in_validation(change: Any, images: Any = None) -> Finding | None:
    """With the boxes of the last images, those of validation, changed so."""
    own, boxes = boxed(0)
    return in_splits(images or own, [change(b) if i >= 100 else b for i, b in enumerate(boxes)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: b + np.array([4, 0, 4, 0]), "moved by about 6% of the width to the left"),
        (lambda b: b + np.array([0, 0, 6, 6]), "made smaller by about 9% at the right and the bottom"),
        (lambda b: b - (b[:, [2, 3, 2, 3]] - b[:, [0, 1, 0, 1]]) / 2, "moved by half their size to the right and down"),
    ],
)
def test_boxes_of_a_split_that_fit_once_changed_are_told(change: Any, words: str) -> None:
    """Our promise: which split, and what brings its boxes back to the edges."""
    finding = in_validation(change)
    assert finding is not None
    assert finding.severity == "warning"
    assert "boxes of val do not fit" in finding.message
    assert words in finding.message


def test_splits_whose_boxes_fit_as_they_are_say_nothing() -> None:
    """Our promise: nothing is said of a split of blurred or noisy images, of boxes drawn loosely at random, nor where all are drawn wide."""
    images, boxes = boxed(0)
    rng = np.random.default_rng(3)
    noisy = [np.clip(np.asarray(i, float) + rng.normal(0, 60, (SIZE, SIZE)), 0, 255).astype(np.uint8) for i in images]
    assert in_validation(lambda b: b, images[:100] + [Image.fromarray(i) for i in noisy[100:]]) is None
    assert in_validation(lambda b: b + rng.normal(0, 1.5, b.shape)) is None
    assert in_splits(images, [b + np.array([-3, -3, 3, 3]) for b in boxes]) is None
