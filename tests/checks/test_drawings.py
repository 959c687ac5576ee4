"""Drawings on an even ground are alike by chance: near copies keep their place, size, colour and direction."""

from __future__ import annotations

import io
import random
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageOps

from dataloader_expert.checks.images.pictures import filled_up
from tests.checks.looking import Data, judged

INK = {
    "red": (220, 40, 40),
    "blue": (40, 90, 210),
    "black": (30, 30, 30),
    "green": (40, 150, 70),
    "ochre": (240, 170, 20),
}


def arrow(size: int, at: tuple[int, int], ink: str = "black", left: bool = False) -> Image.Image:
    image = Image.new("RGB", (128, 128), "white")
    x, y = at
    points = [(0, 3), (5, 3), (5, 1), (9, 5), (5, 9), (5, 7), (0, 7)]
    ImageDraw.Draw(image).polygon([(x + px * size, y + py * size) for px, py in points], INK[ink])
    return ImageOps.mirror(image) if left else image


def drawn(seed: int, ink: str, left: bool) -> Image.Image:
    rng = random.Random(seed)
    size = rng.randint(3, 8)
    return arrow(size, (rng.randint(8, 120 - 9 * size), rng.randint(0, 120 - 9 * size)), ink, left)


def found(images: list[Image.Image], labels: list[str]) -> dict[str, int]:
    told = judged("near_pictures", Data({"image": images, "label": labels}, "label", kinds={"image": "image"}))
    return {code: finding.count for code, finding in told.items()}


def test_arrows_of_other_colours_sizes_and_directions_are_no_copies() -> None:
    """Our promise: an icon set is not halved by "keep one of each"."""
    seeds = random.SystemRandom().sample(range(10**6), 40)
    images = [drawn(s, ink=ink, left=bool(s % 2)) for s in seeds for ink in INK]
    labels = ["left" if s % 2 else "right" for s in seeds for _ in INK]
    told = found(images, labels)
    assert "label-conflict" not in told
    assert told.get("near-duplicates", 0) <= 0.03 * len(
        images
    )  # the few of one colour that have the same place by chance


def encoded(image: Image.Image) -> Image.Image:
    held = io.BytesIO()
    image.save(held, "JPEG", quality=95)
    return Image.open(io.BytesIO(held.getvalue())).convert("RGB")


@pytest.mark.parametrize(
    "change", [encoded, lambda i: i.resize((96, 96)), lambda i: i.convert("L").convert("RGB")], ids=["JPEG", "smaller", "grey"]
)  # fmt: skip
def test_copies_of_drawings_are_found(change: Callable[[Image.Image], Image.Image]) -> None:
    inks = list(INK)
    images = [arrow(4 + i % 4, (8 + 5 * i, 60 - 5 * i), inks[i % 5]) for i in range(10)]
    assert found([*images, *map(change, images[3:5])], ["a"] * 12) == {"near-duplicates": 2}


def blots(seed: int) -> Image.Image:
    """Something like a photograph."""
    coarse = np.random.default_rng(seed).integers(0, 256, (9, 9, 3), np.uint8)
    return Image.fromarray(coarse).resize((120, 120), Image.Resampling.BICUBIC)


def test_a_mirror_image_of_another_label_is_no_copy() -> None:
    images = [blots(i) for i in range(12)]
    mirrored = ImageOps.mirror(images[5])
    assert found([*images, mirrored], ["a"] * 13) == {"near-duplicates": 1}
    assert found([*images, mirrored], [*["a"] * 12, "b"]) == {}
    assert "label-conflict" in found([*images, encoded(images[5])], [*["a"] * 12, "b"])


def test_a_cropped_copy_is_found_among_images_that_resemble_one_another() -> None:
    """Our promise: unaligned, it is no nearer to its original than to others; aligned, it is by far."""
    common = np.random.default_rng().integers(0, 256, (9, 9, 3))
    images = []
    for i in range(60):
        own = np.random.default_rng(i).integers(0, 256, (9, 9, 3))
        mixed = (0.55 * common + 0.45 * own).astype(np.uint8)
        images.append(Image.fromarray(mixed).resize((160, 160), Image.Resampling.BICUBIC))
    copies = [images[k].crop((6, 4, 158, 156)) for k in (7, 23, 41)]
    assert found([*images, *copies], ["a"] * 63) == {"near-duplicates": 3}


def test_a_mirror_image_without_a_label_is_a_copy() -> None:
    images = [blots(i) for i in range(12)]
    labels: list[str | None] = ["a"] * 12
    told = judged(
        "near_pictures",
        Data(
            {"image": [*images, ImageOps.mirror(images[5])], "label": [*labels, None]}, "label",
            kinds={"image": "image", "label": "category"}, nulls={"label": [False] * 12 + [True]},
        ),
    )  # fmt: skip
    assert told["near-duplicates"].count == 1


@pytest.mark.parametrize("own", [9.0, 20.0])
def test_images_that_all_resemble_one_another_are_no_copies(own: float) -> None:
    """Our promise: radiographs of different people correlate, aligned or not."""
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    body = rng.integers(0, 256, (6, 6)).astype(float)
    images = [
        Image.fromarray(np.clip(body + rng.normal(0, own, (6, 6)), 0, 255).astype(np.uint8)).resize((96, 96), Image.Resampling.BICUBIC)
        for _ in range(30)
    ]  # fmt: skip
    assert found([i.convert("RGB") for i in images], ["a"] * 30) == {}


def test_a_mask_with_a_grey_lower_part_is_no_truncated_file() -> None:
    """Seen: colour masks of streets under a grey sky were called truncated. A photograph whose lower part is grey still is."""
    rng = np.random.default_rng(5)
    photograph = rng.integers(0, 256, (32, 32)).astype(np.float64)
    mask = np.where(np.arange(32)[:, None] < 10, 40.0, 90.0) + np.where(np.arange(32)[None] < 16, 0.0, 80.0)
    small = np.stack([photograph, mask])
    small[:, 18:] = 128.0
    assert filled_up(small).tolist() == [True, False]


def flower(petals: str, middle: str, x: int) -> Image.Image:
    """On weave, so that it has no margin."""
    rng = np.random.default_rng(x)
    image = Image.fromarray(rng.integers(90, 130, (96, 96, 3), np.uint8))
    draw = ImageDraw.Draw(image)
    for turn in range(6):
        px, py = 26 * np.cos(turn * np.pi / 3), 26 * np.sin(turn * np.pi / 3)
        draw.ellipse([34 + x + px, 34 + py, 62 + x + px, 62 + py], fill=petals)
    draw.ellipse([34 + x, 34, 62 + x, 62], fill=middle)
    return image


def test_flowers_of_one_shape_and_other_colours_are_no_copies() -> None:
    """Our promise: what agrees in gray only is another thing; a copy keeps its colours, also cropped and encoded anew."""
    others = [blots(i) for i in range(12)]
    flowers = [flower("#c09090", "#3030c0", 0), flower("#80a8a0", "#a01010", 1)]  # as bright as each other
    assert found([*others, *flowers], ["a"] * 14) == {}
    copy = encoded(flowers[0].crop((3, 2, 93, 94)))
    assert found([*others, *flowers, copy], ["a"] * 15) == {"near-duplicates": 1}


def chain(seed: int) -> Image.Image:
    """A chain of cells of one kind in one place, as a microscope shows them: on a plain ground, each a little different."""
    rng = np.random.default_rng(seed)
    image = Image.fromarray(np.linspace(190, 220, 128).astype(np.uint8)[None].repeat(128, 0))
    draw = ImageDraw.Draw(image)
    for k in range(4):
        x, y = 34 + 15 * k + rng.normal(0, 1), 64 + rng.normal(0, 1)
        draw.rectangle([x, y - 9, x + 10 + rng.normal(0, 1), y + 9 + rng.normal(0, 1)], fill=130, outline=60)
        dot = x + 5 + rng.normal(0, 1)
        draw.ellipse([dot - 3, y - 3, dot + 3, y + 3], fill=60)
    noisy = np.asarray(image, float) + rng.normal(0, 4, (128, 128))
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).convert("RGB")


def test_shapes_of_one_kind_on_a_plain_ground_are_no_copies() -> None:
    """Seen: chains of cells that lay alike correlated after alignment. Copies of one agree along its edges."""
    others, chains = [blots(i) for i in range(12)], [chain(i) for i in (7, 23, 31)]
    assert found([*others, *chains], ["a"] * 15) == {}
    changed = [encoded(chains[0]), chains[0].rotate(2), chains[0].crop((4, 3, 124, 126))]
    for copy in changed:
        assert found([*others, *chains, copy], ["a"] * 16) == {"near-duplicates": 1}
