"""Near copies of real photographs: how many of each change are found, and how many pairs of different images are taken for copies.

``python -m benchmarks.copies [--seed N]`` changes each of the 260 clothing photographs in sixteen ways and runs the check for near
copies, as ``check_quality`` does: is each paired with its original, and which of all pairs of originals are taken for copies?
Half a minute.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from benchmarks.common import keep, real_data, seed_asked
from dataloader_expert.checks.common.picture_hashes import insides, looks, picture_hashes
from dataloader_expert.checks.duplicates.image_copies import Images, copies
from dataloader_expert.sources.base import Block, Column, Unit

NAME = "copies"
Change = Callable[[Image.Image, random.Random], Image.Image]


def recoded(image: Image.Image, quality: int) -> Image.Image:
    held = io.BytesIO()
    image.save(held, "JPEG", quality=quality)
    return Image.open(io.BytesIO(held.getvalue())).convert("RGB")


def cropped(image: Image.Image, left: float, top: float, right: float, low: float) -> Image.Image:
    w, h = image.size
    return image.crop((int(w * left), int(h * top), int(w * (1 - right)), int(h * (1 - low))))


def off_middle(image: Image.Image, rng: random.Random) -> Image.Image:
    left, top = rng.uniform(0, 0.05), rng.uniform(0, 0.05)
    return cropped(image, left, top, 0.05 - left, 0.05 - top)


CHANGES: dict[str, Change] = {
    "JPEG quality 30": lambda i, _: recoded(i, 30),
    "half the size": lambda i, _: i.resize((i.width // 2, i.height // 2)),
    "grey": lambda i, _: i.convert("L").convert("RGB"),
    "brightness 1.3": lambda i, _: ImageEnhance.Brightness(i).enhance(1.3),
    "contrast 1.3": lambda i, _: ImageEnhance.Contrast(i).enhance(1.3),
    "mirrored": lambda i, _: ImageOps.mirror(i),
    "5 % cropped, middle": lambda i, _: cropped(i, 0.025, 0.025, 0.025, 0.025),
    "5 % cropped, off the middle": off_middle,
    "10 % cropped, middle": lambda i, _: cropped(i, 0.05, 0.05, 0.05, 0.05),
    "20 % cropped, middle": lambda i, _: cropped(i, 0.1, 0.1, 0.1, 0.1),
    "black border of 5 pixels": lambda i, _: ImageOps.expand(i, 5, (0, 0, 0)),
    "white border of 5 pixels": lambda i, _: ImageOps.expand(i, 5, (255, 255, 255)),
    "black border of 10 pixels": lambda i, _: ImageOps.expand(i, 10, (0, 0, 0)),
    "turned by 1 degree": lambda i, _: i.rotate(1),
    "turned by 2 degrees": lambda i, _: i.rotate(2),
    "turned by 3 degrees": lambda i, _: i.rotate(3),
}


def compared(images: list[Image.Image]) -> Images:
    """What the check keeps of images without labels."""
    block = Block(Unit(0, "images", 0, len(images), 0), {"image": Column(images)})
    seen = looks(block, "image")
    grey, frames = insides(seen.small)
    alike = np.zeros(len(images), np.uint64)
    return Images(picture_hashes(grey), grey, seen.tints, seen.colours, frames, alike, alike)


def together(one: Images, other: Images) -> Images:
    return Images(*map(np.concatenate, zip(one, other, strict=True)))


def main() -> None:
    seed, data = seed_asked(__doc__), real_data()
    rng = random.Random(seed)
    images = [Image.open(p).convert("RGB") for p in sorted((data / "images" / "clothing_cc0").rglob("*.jpg"))]
    originals = compared(images)
    found = {}
    for name, change in CHANGES.items():
        pairs = copies(together(originals, compared([change(i, rng) for i in images]))).pairs
        found[name] = sum(b - a == len(images) for a, b in set(pairs)) / len(images)
        print(f"{name:28} {found[name]:.3f}")
    false = copies(originals).pairs
    print(
        f"seed {seed}: {len(false)} of {len(images) * (len(images) - 1) // 2:,} pairs of originals are taken for copies"
    )
    keep(NAME, {"complete": True, "seed": seed, "pictures": len(images), "found": found, "false": len(false)})


if __name__ == "__main__":
    main()
