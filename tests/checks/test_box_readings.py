"""Boxes of some images that are written otherwise than the rest, beside boxes that are merely not clipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.checks.base import new_checks
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Facts
from tests.checks.looking import Data, blocks_of, context_of

WIDE, HIGH, IMAGES, ODD = 160.0, 120.0, 400, 12
Sides = Any
"""Left, top, right and bottom of an image's boxes, [n, 4]."""


def drawn(edge: float = 0.0, seed: int = 3) -> list[Sides]:
    """Boxes of images, wider than high and within them; this share touches an edge."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(IMAGES):
        size = np.exp(rng.normal(np.log([44, 24]), 0.25, (int(rng.integers(2, 7)), 2)))
        corner = rng.uniform(0, 1, size.shape) * ([WIDE, HIGH] - size)
        at, side = rng.random(len(size)) < edge, rng.integers(2, size=size.shape)
        corner[at, side[at, 0]] = (side[at, 1:] * ([WIDE, HIGH] - size[at]))[np.arange(at.sum()), side[at, 0]]
        made.append(np.hstack([corner, corner + size]))
    return made


def told(boxes: list[Sides], **columns: Any) -> list[Finding]:
    """What is found of boxes outside, of which the reader made corners."""
    size = {"width": [WIDE] * IMAGES, "height": [HIGH] * IMAGES}
    data = Data({"boxes": boxes, **(columns or size)}, context={"corners": True})
    checks = new_checks(context_of(data))
    for block in blocks_of(data):
        checks["boxes"].see(block)
    return [f for f in checks["boxes"].judge(Facts(tuple(checks["boxes"].facts()))) if f.code == "box-outside"]


def with_odd(change: Callable[[Sides], Sides], boxes: list[Sides]) -> list[Sides]:
    return [change(own) if i < ODD else own for i, own in enumerate(boxes)]


def two_corners(sides: Sides) -> Sides:
    """A reader that knows widths and heights adds them to the first corner."""
    return np.hstack([sides[:, :2], sides[:, :2] + sides[:, 2:]])


def moved(by: float) -> Callable[[Sides], Sides]:
    return lambda sides: sides + by * np.tile(sides[:, 2:] - sides[:, :2], 2)


def of_centre(sides: Sides) -> Sides:
    """Two corners where a reader expects the centre and the size."""
    return np.hstack([sides[:, :2] - sides[:, 2:] / 2, sides[:, :2] + sides[:, 2:] / 2])


ODDLY = {
    "two corners": (two_corners, "two corners"),
    "two corners, read as a centre": (of_centre, "two corners"),
    "x and y swapped": (lambda sides: sides[:, [1, 0, 3, 2]], "swapped"),
    "the corner for the centre": (moved(-0.5), "top left corner, not the centre"),
    "the centre for the corner": (moved(0.5), "centre, not the top left corner"),
}


@pytest.mark.parametrize(("change", "words"), ODDLY.values(), ids=ODDLY)
@pytest.mark.parametrize("unclipped", [False, True])
def test_images_that_agree_on_a_reading_are_told_with_it(
    change: Callable[[Sides], Sides], words: str, unclipped: bool
) -> None:
    """Whether or not a few boxes elsewhere are merely not clipped."""
    boxes = with_odd(change, drawn(seed=5))
    if unclipped:
        for i in (50, 60):
            boxes[i] = np.array([[120.0, 60, 163, 90]])
    found = told(boxes)
    [misread] = [f for f in found if f.severity == "error"]
    assert words in misread.message
    assert {place["sample"] for place in misread.where} <= set(range(ODD))
    plain = {place["sample"] for f in found if f.severity == "warning" for place in f.where}
    assert plain - set(range(ODD)) == ({50, 60} if unclipped else set())


@pytest.mark.parametrize(
    "change, reading",
    [
        (two_corners, "if their four numbers are two corners"),
        (of_centre, "if their four numbers are two corners"),
        (moved(-0.5), "if their first two numbers are the top left corner, not the centre"),
    ],
)
def test_boxes_that_are_all_written_otherwise_are_told(change: Callable[[Sides], Sides], reading: str) -> None:
    """Our promise: a data set none of whose boxes are written as its format asks is an error, however many there are."""
    [found] = told([change(own) for own in drawn()])
    assert found.severity == "error" and reading in found.message and "all seem to be written" in found.message


@pytest.mark.parametrize("change", [two_corners, of_centre])
def test_a_split_that_is_written_otherwise_is_told_though_it_has_most_images(change: Callable[[Sides], Sides]) -> None:
    """Seen: training's boxes were corners and validation's were not, and boxes were said to extend beyond their images, to be clipped."""
    boxes = [change(own) if i < 0.75 * IMAGES else own for i, own in enumerate(drawn())]
    [misread] = [f for f in told(boxes) if f.severity == "error"]
    assert "written differently from the others" in misread.message
    assert {place["sample"] for place in misread.where} <= set(range(int(0.75 * IMAGES)))


def test_many_boxes_that_nobody_clipped_are_not_written_otherwise() -> None:
    rng = np.random.default_rng(8)
    boxes = [own + rng.choice([-1, 1], (len(own), 1)) * np.array([[30.0, 20, 30, 20]]) for own in drawn(edge=0.7)]
    assert {f.severity for f in told(boxes)} == {"warning"}


def test_boxes_on_another_scale_are_told_as_such() -> None:
    """Seen: boxes from 0 to 1000, of which it was said that each of them extends beyond its image, as if it were to be clipped."""
    (other,) = told([13 * sides + 90 for sides in drawn()])
    assert "they seem to be on another scale than the images" in other.message
    (few,) = told([sides + np.array([170.0, 0, 170, 0]) if i == 3 else sides for i, sides in enumerate(drawn())])
    assert "scale" not in few.message


def test_pixels_among_fractions() -> None:
    whole = np.array([WIDE, HIGH, WIDE, HIGH])
    picture = Image.new("RGB", (int(WIDE), int(HIGH)))
    boxes = [own / (1 if i < 5 else whole) for i, own in enumerate(drawn())]
    [found] = told(boxes, image=[picture] * IMAGES)
    assert "pixels, not fractions" in found.message
    assert [place["sample"] for place in found.where] == [0, 1, 2, 3, 4]


def shaken(boxes: list[Sides], part: float, seed: int = 8) -> list[Sides]:
    rng = np.random.default_rng(seed)
    return [own + part * rng.normal(0, 1, own.shape) * np.tile(own[:, 2:] - own[:, :2], 2) for own in boxes]


def reaching(part: float, seed: int) -> list[Sides]:
    """Boxes of whole objects, of which the edges of the image cut off up to half."""
    rng, made = np.random.default_rng(seed), []
    for own in drawn(seed=seed):
        size = own[:, 2:] - own[:, :2]
        middle = np.where(rng.random(len(own)) < part, rng.uniform(0, 1, (2, len(own))) * [[WIDE], [HIGH]], 60).T
        made.append(np.hstack([middle - size / 2, middle + size / 2]))
    return made


SOUND: dict[str, Callable[[int], list[Sides]]] = {
    "drawn by hand": lambda seed: shaken(drawn(0.3, seed), 0.04),
    "drawn by hand, and cut at zero": lambda seed: [np.maximum(own, 0) for own in shaken(drawn(0.3, seed), 0.04)],
    "drawn by hand in some images": lambda seed: with_odd(lambda own: shaken([own], 0.04)[0], drawn(0.5, seed)),
    "whole objects": lambda seed: reaching(1.0, seed),
    "some whole objects": lambda seed: reaching(0.2, seed),
    "whole objects in some images": lambda seed: [*reaching(1.0, seed)[:40], *drawn(0, seed)[40:]],
}


@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND)
@pytest.mark.parametrize("seed", range(3))
def test_boxes_that_are_not_clipped_are_not_read_otherwise(make: Callable[[int], list[Sides]], seed: int) -> None:
    assert all(f.severity == "warning" for f in told(make(seed)))


def test_one_image_is_no_agreement() -> None:
    boxes = drawn()
    boxes[0] = two_corners(np.array([[80.0, 60, 120, 80], [90, 70, 130, 95]]))
    assert [f.severity for f in told(boxes)] == ["warning"]


def test_images_on_their_side_are_no_faults() -> None:
    """Whether their boxes are of the image as stored or as shown is not known."""
    turned = Image.new("RGB", (int(HIGH), int(WIDE)))
    turned.getexif()[0x0112] = 6
    upright = Image.new("RGB", (int(WIDE), int(HIGH)))
    assert told(drawn(), image=[turned] * ODD + [upright] * (IMAGES - ODD)) == []
