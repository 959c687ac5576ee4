"""Images of little content are alike by chance: what is told of them, of few and of very many, are copies."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.checks.duplicates import hashed_copies
from dataloader_expert.checks.duplicates.crowded import dimensions
from tests.checks.looking import Data, judged

IMAGES, COPIES = 400, 30


def spots(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """One to three soft spots on black."""
    y, x = np.mgrid[0:48, 0:48]
    for k in range(IMAGES):
        held = np.zeros((48, 48))
        for _ in range(k % 3 + 1):
            (cx, cy), size = rng.uniform(8, 40, 2), rng.uniform(3, 7)
            held += rng.uniform(100, 200) * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / 2 / size**2)
        yield held


def ellipses(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """An ellipse each, on a noisy ground."""
    y, x = np.mgrid[0:64, 0:64]
    for k in range(IMAGES):
        (cx, cy), radius, turn = rng.uniform(24, 40, 2), rng.uniform(8, 18), rng.uniform(0, np.pi)
        along = (x - cx) * np.cos(turn) + (y - cy) * np.sin(turn)
        across = ((y - cy) * np.cos(turn) - (x - cx) * np.sin(turn)) * (1, 1.6, 2.4)[k % 3]
        inside = along**2 + across**2 < radius**2
        yield inside * rng.uniform(120, 230) + rng.normal(20, 4, (64, 64))


def blots(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Something like a photograph each."""
    for _ in range(IMAGES):
        coarse = Image.fromarray(rng.integers(0, 256, (9, 9), np.uint8))
        yield np.asarray(coarse.resize((64, 64), Image.Resampling.BICUBIC), float)


KINDS = {"spots": spots, "ellipses": ellipses, "blots": blots}


def made(kind: str, rng: np.random.Generator) -> list[Image.Image]:
    return [Image.fromarray(a.clip(0, 255).astype(np.uint8)) for a in KINDS[kind](rng)]


def encoded(image: Image.Image) -> Image.Image:
    held = io.BytesIO()
    image.save(held, "JPEG", quality=90)
    return Image.open(io.BytesIO(held.getvalue())).convert("L")


def told(images: list[Image.Image]) -> tuple[int, str]:
    """How many near duplicates are found, and what is said of them."""
    data = Data({"image": images, "label": ["a"] * len(images)}, "label", kinds={"image": "image"})
    found = judged("near_pictures", data).get("near-duplicates")
    return (found.count, found.message) if found else (0, "")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng()


@pytest.mark.parametrize("kind", ["spots", pytest.param("ellipses", marks=pytest.mark.journey)])
def test_shapes_that_are_alike_by_chance_are_no_copies(kind: str, rng: np.random.Generator) -> None:
    """Our promise: a set of generated shapes, and its test split, are not called leaking; copies among them are found."""
    images = made(kind, rng)
    assert told(images)[0] <= 2
    count, _ = told(images + [encoded(image) for image in images[:COPIES]])
    assert COPIES / 4 <= count <= COPIES  # copies of a mere shape may differ from it as much as another shape does


@pytest.mark.parametrize(("kind", "most"), [("spots", 2), ("blots", 0)])
def test_of_very_many_images_a_sample_tells_whether_near_hashes_are_copies(
    kind: str, most: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our promise: beyond 40,000 images, digits whose hashes are near are not called copies, and photographs with copies are."""
    monkeypatch.setattr(hashed_copies, "MOST", 300)
    monkeypatch.setattr(hashed_copies, "SOME", 300)
    images = made(kind, rng)
    assert told(images)[0] <= most
    if kind == "blots":
        count, message = told(images + [encoded(image) for image in images[: IMAGES // 3]])
        assert count >= 0.95 * IMAGES // 3
        assert "without alignment" in message and "alignment confirmed" in message


def test_the_dimension_of_a_neighbourhood_is_that_of_the_space(rng: np.random.Generator) -> None:
    """Levina and Bickel, 2004: points spread evenly in a space tell its dimension by how far their neighbours are."""
    for size in (2, 5):
        points = rng.uniform(0, 1, (2_000, size))
        inner = points[(abs(points - 0.5) < 0.25).all(1)][:100]
        apart = np.sort(np.linalg.norm(inner[:, None] - points, axis=2), 1)[:, 1:21]
        assert abs(np.median(dimensions(apart)) - size) < 0.25 * size
