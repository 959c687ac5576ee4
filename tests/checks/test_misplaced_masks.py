"""Masks that lie mirrored over their images, or belong to the images beside; and the many that are where they should be."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from dataloader_expert.conclusions import Finding
from tests.checks.looking import Data, judged
from tests.checks.scenes import SIZE, things

PAIRS = 120
SEEDS = st.integers(0, 3)
Pairs = tuple[list[Any], list[Any]]


@functools.cache
def drawn(seed: int) -> list[tuple[Any, Any]]:
    return [things(seed * PAIRS + i) for i in range(PAIRS)]


def pairs(seed: int) -> Pairs:
    images, masks = zip(*drawn(seed), strict=True)
    return list(images), list(masks)


def on_one_ground() -> Pairs:
    """Pictures of one ground, as of one organ, each with something small of its own on it."""
    rng = np.random.default_rng(5)
    down, across = np.mgrid[:SIZE, :SIZE] / SIZE
    ground = 250.0 * ((across - 0.5) ** 2 + ((down - 0.5) / 1.3) ** 2 < 0.18)
    images, masks = [], []
    for _ in range(PAIRS):
        x, y, size = rng.uniform(0.3, 0.42), rng.uniform(0.3, 0.7), rng.uniform(0.06, 0.09)
        mask = ((across - x) ** 2 + (down - y) ** 2 < size**2).astype(np.uint8)
        light = ground - 90.0 * mask + rng.normal(0, 4, ground.shape)
        images.append(Image.fromarray(np.clip(light, 0, 255).astype(np.uint8)))
        masks.append(mask)
    return images, masks


def found(pairs: Pairs) -> dict[str, Finding]:
    return judged("misplaced_masks", laid(pairs))


def laid(pairs: Pairs) -> Data:
    return Data({"image": pairs[0], "mask": pairs[1]}, kinds={"mask": "mask"})


def delivered(pairs: Pairs) -> Data:
    """As a Dataset delivers them, without names: floats, the channel first, and whole numbers."""
    images = np.stack([np.asarray(image.convert("L"), np.float32)[None] / 255 - 0.5 for image in pairs[0]])
    return Data({"0": images, "1": np.stack(pairs[1]).astype(np.int64)}, kinds={"0": "array", "1": "array"})


def mirrored(pairs: Pairs, at: range, *flips: int) -> Pairs:
    return pairs[0], [np.flip(m, flips) if i in at else m for i, m in enumerate(pairs[1])]


@pytest.mark.parametrize(("flips", "told"), [((1,), "left to right"), ((0,), "top to bottom"), ((0, 1), "180°")])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_masks_that_lie_mirrored_are_told(flips: tuple[int, ...], told: str, seed: int) -> None:
    """Our promise: most of them are found, and hardly another mask."""
    every = found(mirrored(pairs(seed), range(30, 50, 2), *flips))
    finding = every.pop("mask-mirrored")
    assert every == {}
    assert finding.severity == "warning"
    assert told in finding.message
    named = {place["sample"] for place in finding.where}
    assert len(named & set(range(30, 50, 2))) >= 5
    assert len(named - set(range(30, 50, 2))) <= 1


def beside(pairs: Pairs, at: range, by: int) -> Pairs:
    return pairs[0], [put_by(m, by, by) if i in at else m for i, m in enumerate(pairs[1])]


def put_by(mask: Any, down: int, right: int) -> Any:
    """The mask moved by so many pixels; what leaves the image is gone."""
    padded = np.pad(mask, SIZE)
    return padded[SIZE - down : 2 * SIZE - down, SIZE - right : 2 * SIZE - right]


@pytest.mark.parametrize(("down", "right"), [(-10, -8), (0, 10), (8, 14)])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_masks_that_lie_beside_their_things_are_told(down: int, right: int, seed: int) -> None:
    images, masks = pairs(seed)
    moved = set(range(20, 50, 2))
    told = found((images, [put_by(m, down, right) if i in moved else m for i, m in enumerate(masks)]))
    finding = told.pop("mask-shifted")
    assert told == {}
    assert finding.severity == "warning"
    assert f"of the width {'left' if right > 0 else 'right'}" in finding.message  # back to where they belong
    named = {place["sample"] for place in finding.where}
    assert len(named & moved) >= 8
    assert len(named - moved) <= 1


@settings(max_examples=2)
@given(seed=SEEDS)
def test_masks_that_lie_beside_their_things_each_by_steps_of_its_own_are_told(seed: int) -> None:
    images, masks = pairs(seed)
    rng = np.random.default_rng(seed)
    moved = {i: rng.choice([-12, -9, 9, 12], 2).tolist() for i in range(20, 50, 2)}
    finding = found((images, [put_by(m, *moved.get(i, (0, 0))) for i, m in enumerate(masks)]))["mask-shifted"]
    assert "each by an offset of its own" in finding.message
    named = {place["sample"] for place in finding.where}
    assert len(named & moved.keys()) >= 6
    assert len(named - moved.keys()) <= 1


@pytest.mark.parametrize("by", [1, -1])
@settings(max_examples=2)
@given(seed=SEEDS)
def test_masks_of_the_images_beside_are_told(by: int, seed: int) -> None:
    images, masks = pairs(seed)
    masks[40:60] = masks[40 + by : 60 + by]
    finding = found((images, masks))["rows-shifted"]
    assert f"of the {'next' if by > 0 else 'previous'} sample" in finding.message
    named = {int(str(place["sample"])) for place in finding.where}
    assert len(named & set(range(40, 60))) >= 8
    assert named <= set(range(39, 61))


def clip(seed: int) -> Pairs:
    """Frames of clips of ten: one mask of a clip that does not fit fits none of its frames."""
    images, masks = pairs(seed)
    moved = [(i // 10 * 10, 2 * (i % 10)) for i in range(PAIRS)]
    return [images[at].rotate(0, translate=(by, 0)) for at, by in moved], [
        np.roll(masks[at], by, 1) for at, by in moved
    ]


def unlike(seed: int) -> Pairs:
    images, masks = pairs(seed)
    return images, masks[1:] + masks[:1]


SOUND: dict[str, Callable[[int], Pairs]] = {
    "in their places": pairs,
    "frames of clips": clip,
    "of nothing that is seen": unlike,
    "all mirrored with their images": lambda seed: (
        [i.transpose(0) for i in pairs(seed)[0]],
        mirrored(pairs(seed), range(PAIRS), 1)[1],
    ),
    "empty": lambda seed: (pairs(seed)[0], [np.zeros((SIZE, SIZE), np.uint8)] * PAIRS),
}


@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND)
@settings(max_examples=2)
@given(seed=SEEDS)
def test_other_masks_are_left_alone(make: Callable[[int], Pairs], seed: int) -> None:
    assert found(make(seed)) == {}


def mosaics(n: int = 60) -> Pairs:
    """Grains that fill the image, each of one of four minerals."""
    rng = np.random.default_rng(11)
    down, across = np.mgrid[:SIZE, :SIZE]
    images, masks = [], []
    for _ in range(n):
        seeds, kinds = rng.uniform(0, SIZE, (20, 2)), rng.integers(0, 4, 20)
        nearest = ((down[..., None] - seeds[:, 0]) ** 2 + (across[..., None] - seeds[:, 1]) ** 2).argmin(2)
        mask = kinds[nearest].astype(np.uint8)
        light = 50.0 * mask + 40 + rng.normal(0, 8, mask.shape)
        images.append(Image.fromarray(np.clip(light, 0, 255).astype(np.uint8)))
        masks.append(mask)
    return images, masks


def test_masks_that_fill_the_image_and_lie_beside_are_told() -> None:
    """Seen: masks of grains fitted their images so well that those which were moved by an eighth of them, and fitted less well where they belong,
    were not told."""
    images, masks = mosaics()
    assert found((images, masks)) == {}
    told = found((images, [np.roll(m, (8, 8), (0, 1)) if i % 5 == 2 else m for i, m in enumerate(masks)]))
    assert told["mask-shifted"].count is not None and told["mask-shifted"].count >= 10
    assert "after moving by 12% of the height up and 12% of the width left" in told["mask-shifted"].message


def test_masks_of_a_split_that_lie_a_little_beside_are_told() -> None:
    """Seen: all masks for validation were moved by a sixteenth of the width, and nothing was said."""
    images, masks = mosaics()
    splits = ["train"] * 40 + ["val"] * 20

    def told(by: int) -> dict[str, Finding]:
        moved = [np.roll(m, by, 1) if i >= 40 else m for i, m in enumerate(masks)]
        return judged("misplaced_masks", Data({"image": images, "mask": moved}, splits=splits, kinds={"mask": "mask"}))

    assert told(0) == {}
    assert "after moving by 6% of the width left; " in told(4)["mask-shifted"].message
