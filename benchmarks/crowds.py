"""Near copies in sets of images that resemble each other: shapes on a plain ground, waves, blots, cells, digits, line charts.

``python -m benchmarks.crowds [--seed N]`` draws such sets, and takes real photographs for comparison. For each it counts the pairs of unrelated
images that are taken for copies; how many of 60 changed copies that are added are found; and of seven versions of each of 60 images, how many
images are found to have a near copy. The last rows are of more images than are aligned. Three minutes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator
from PIL import Image, ImageDraw, ImageFilter
from sklearn.datasets import load_digits

from benchmarks.common import keep, real_data, seed_asked
from benchmarks.copies import CHANGES, compared, recoded
from dataloader_expert.checks.common.picture_hashes import low_frequencies
from dataloader_expert.checks.duplicates.image_copies import copies, copies_by_hash

NAME = "crowds"
ADDED, VERSIONS = 60, 7
MANY = 45_000
CHANGED = (
    "JPEG quality 30",
    "half the size",
    "brightness 1.3",
    "5 % cropped, off the middle",
    "turned by 2 degrees",
    "black border of 5 pixels",
)


def of_numbers(values: np.ndarray) -> Image.Image:
    return Image.fromarray(np.clip(values, 0, 255).astype(np.uint8)).convert("RGB")


def ellipse(rng: Generator) -> Image.Image:
    image = Image.new("L", (64, 64), 255)
    (x, y), (a, b) = rng.uniform(16, 48, 2), rng.uniform(6, 16, 2)
    ImageDraw.Draw(image).ellipse((x - a, y - b, x + a, y + b), fill=int(rng.integers(0, 120)))
    return image.convert("RGB")


def waves(rng: Generator) -> Image.Image:
    y, x = np.mgrid[:64, :64] / 64
    turn, phase = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi)
    along = 2 * np.pi * rng.uniform(2, 8) * (x * np.cos(turn) + y * np.sin(turn))
    return of_numbers(127 + 100 * np.sin(along + phase) + rng.normal(0, 5, (64, 64)))


def blots(rng: Generator) -> Image.Image:
    y, x = np.mgrid[:64, :64] / 64
    total = np.zeros((64, 64))
    for _ in range(3):
        (left, top), size = rng.uniform(0.15, 0.85, 2), rng.uniform(0.08, 0.2)
        total += rng.uniform(0.4, 1) * np.exp(-((x - left) ** 2 + (y - top) ** 2) / 2 / size**2)
    return of_numbers(20 + 180 * total / total.max() + rng.normal(0, 3, (64, 64)))


def cell(rng: Generator) -> Image.Image:
    image = Image.new("RGB", (96, 96), (235, 225, 230))
    draw, (x, y), size = ImageDraw.Draw(image), rng.uniform(40, 56, 2), rng.uniform(22, 36)
    high = size * rng.uniform(0.85, 1.15)
    draw.ellipse((x - size, y - high, x + size, y + high), fill=(210, 120, 150))
    (right, down), core = rng.uniform(-8, 8, 2), size * rng.uniform(0.3, 0.6)
    draw.ellipse((x + right - core, y + down - core, x + right + core, y + down + core), fill=(110, 50, 120))
    soft = np.asarray(image.filter(ImageFilter.GaussianBlur(1.5)), float)
    return of_numbers(soft + rng.normal(0, 4, (96, 96, 1)))


def chart(rng: Generator) -> Image.Image:
    image = Image.new("RGB", (160, 120), "white")
    draw = ImageDraw.Draw(image)
    draw.line((15, 105, 150, 105), fill="black")
    draw.line((15, 10, 15, 105), fill="black")
    heights = np.clip(50 + np.cumsum(rng.normal(0, 8, 20)), 10, 104)
    draw.line([(15 + 7 * i, float(h)) for i, h in enumerate(heights)], fill=(31, 119, 180), width=2)
    return image


DIGITS = load_digits().images * 15.9


def digit(rng: Generator) -> Image.Image:
    """A digit as of MNIST: one of scikit-learn's, scaled, sheared, turned and moved, 28 x 28."""
    small = Image.fromarray(DIGITS[rng.integers(len(DIGITS))].astype(np.uint8)).resize(
        (20, 20), Image.Resampling.BICUBIC
    )
    image = Image.new("L", (28, 28))
    image.paste(small, (4, 4))
    turn, shear, (wide, high), (right, down) = (
        rng.normal(0, 0.15),
        rng.normal(0, 0.2),
        rng.normal(1, 0.12, 2),
        rng.normal(0, 1, 2),
    )
    a, b, d, e = wide * np.cos(turn), np.sin(turn) + shear, -np.sin(turn), high * np.cos(turn)
    way = (a, b, 14 - 14 * (a + b) + right, d, e, 14 - 14 * (d + e) + down)
    return image.transform((28, 28), Image.Transform.AFFINE, way, Image.Resampling.BICUBIC).convert("RGB")


def textures(rng: Generator) -> Image.Image:
    """Images of much content: noise of all sizes."""
    total = np.zeros((64, 64))
    for size in (2, 4, 8, 16, 32, 64):
        part = Image.fromarray(rng.normal(0, 1, (size, size)).astype(np.float32)).resize(
            (64, 64), Image.Resampling.BICUBIC
        )
        total += np.asarray(part) * 30
    return of_numbers(128 + total)


Set = Callable[[Generator], Image.Image]
SETS: dict[str, tuple[Set, int]] = {
    "ellipses": (ellipse, 1_500),
    "waves": (waves, 1_500),
    "blots": (blots, 1_500),
    "cells": (cell, 1_500),
    "line charts": (chart, 1_500),
    "digits": (digit, 6_000),
    "textures": (textures, 1_500),
    "many digits": (digit, MANY),
    "many textures": (textures, MANY),
}


def pairs_of(images: Sequence[Image.Image]) -> list[tuple[int, int]]:
    all_of = compared(list(images))
    if len(images) < MANY:
        return copies(all_of).pairs
    hashes, grey, tints, _, frames, rest, _ = all_of
    return copies_by_hash(hashes[:, 0], low_frequencies(grey), tints, frames, rest).pairs


def row(images: list[Image.Image], rng: random.Random) -> dict[str, object]:
    false = pairs_of(images)
    chosen = rng.sample(range(len(images)), ADDED)
    changed = [CHANGES[CHANGED[k % len(CHANGED)]](images[i], rng) for k, i in enumerate(chosen)]
    found = {
        b - len(images) for a, b in pairs_of(images + changed) if b >= len(images) and a == chosen[b - len(images)]
    }
    by_change = {c: sum(k % len(CHANGED) == i for k in found) for i, c in enumerate(CHANGED)}
    versions = [recoded(images[i], rng.randrange(40, 95)) for i in chosen for _ in range(VERSIONS)]
    source = {len(images) + k: chosen[k // VERSIONS] for k in range(len(versions))}
    paired = {b for a, b in pairs_of(images + versions) if b in source and source.get(a, a) == source[b]}
    return {"images": len(images), "false": len(false), "found": by_change, "versions": len(paired) / len(versions)}


def main() -> None:
    seed, data = seed_asked(__doc__), real_data()
    numbers, rng, rows = np.random.default_rng(seed), random.Random(seed), {}
    real: dict[str, Path] = {"clothing": data / "images" / "clothing_cc0", "CIFAR-10": data / "images" / "cifar10_jpg"}
    sets = {name: [Image.open(p).convert("RGB") for p in sorted(of.rglob("*.jpg"))] for name, of in real.items()}
    for name in (*sets, *SETS):
        images = sets[name] if name in sets else [SETS[name][0](numbers) for _ in range(SETS[name][1])]
        rows[name] = row(images, rng)
        print(name, rows[name], flush=True)
    keep(NAME, {"complete": True, "seed": seed, "sets": rows})


if __name__ == "__main__":
    main()
