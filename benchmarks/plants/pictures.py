# mypy: ignore-errors
"""Defects of images and of their folders."""

from __future__ import annotations

import io
import zipfile

import numpy as np
from PIL import Image

from benchmarks.plants.sound import picture
from benchmarks.plants.tree import Expected, Tree, plant

PICTURES = ("jpg", "png")


@plant(*PICTURES)
def cell_flipped(tree: Tree) -> Expected:
    """Bytes in the midst of the compressed pixels."""
    paths = tree.some(3)
    for path in paths:
        data = bytearray(path.read_bytes())
        for _ in range(40):
            data[tree.rng.randrange(len(data) // 2, len(data) - 16)] ^= 0xA5
        path.write_bytes(data)
    if tree.format == "jpg":  # a JPEG has no checksum: what it decodes to may be anything
        return Expected(("truncated", "unreadable", "trailing-bytes", "flat"), "warning", ())
    return Expected(("truncated", "unreadable", "checksum-mismatch"), "error", tree.at(*paths))


@plant("jpg")
def png_called_jpg(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        picture(tree.rng).save(path, "PNG")
    return Expected(("wrong-extension",), "warning", tree.at(*paths))


@plant(*PICTURES)
def archive_behind_pixels(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        hidden = io.BytesIO()
        with zipfile.ZipFile(hidden, "w") as out:
            out.writestr("a.txt", "x" * 500)
        path.write_bytes(path.read_bytes() + hidden.getvalue())
    return Expected(("trailing-bytes", "executable-payload"), "warning", tree.at(*paths))


@plant(*PICTURES)
def grey_among_colours(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        picture(tree.rng, grey=True).save(path)
    return Expected(("mode-drift", "shape-drift"), "warning", tree.at(*paths))


@plant(*PICTURES)
def one_colour(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        Image.new("RGB", (64, 64), tuple(tree.rng.randrange(60, 200) for _ in range(3))).save(path)
    return Expected(("flat",), "warning", tree.at(*paths))


@plant(*PICTURES)
def black(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    dimmed = np.asarray(picture(tree.rng), np.uint8) // 40
    Image.fromarray(dimmed).save(path)
    return Expected(("dark", "flat"), "info", tree.at(path))


@plant("jpg")
def turned_by_exif(tree: Tree) -> Expected:
    paths = tree.some(2)
    for path in paths:
        exif = Image.Exif()
        exif[0x0112] = tree.rng.choice([3, 6, 8])
        picture(tree.rng).save(path, quality=92, exif=exif)
    return Expected(("rotated-by-exif",), "warning", tree.at(*paths))


@plant(*PICTURES)
def huge_beside_small(tree: Tree) -> Expected:
    path = tree.some(1)[0]
    picture(tree.rng, 640).save(path)
    return Expected(("odd-size",), "info", tree.at(path))


@plant(*PICTURES)
def across_splits(tree: Tree) -> Expected:
    paths = []
    for path in tree.some(3, "train/*/*"):
        copy = tree.root / "val" / path.parent.name / f"c{path.name}"
        copy.write_bytes(path.read_bytes())
        paths.append(copy)
    return Expected(("splits-overlap",), "error", tree.at(*paths))


@plant(*PICTURES)
def saved_anew_across_splits(tree: Tree) -> Expected:
    paths = []
    for path in tree.some(3, "train/*/*"):
        copy = tree.root / "val" / path.parent.name / f"c{path.stem}.jpg"
        Image.open(path).convert("RGB").save(copy, quality=tree.rng.randint(60, 85))
        paths.append(copy)
    return Expected(("splits-near-overlap",), "warning", tree.at(*paths))


@plant(*PICTURES)
def one_picture_two_classes(tree: Tree) -> Expected:
    paths = []
    for path in tree.some(2, "train/fern/*"):
        copy = tree.root / "train" / "reed" / f"c{path.name}"
        copy.write_bytes(path.read_bytes())
        paths.append(copy)
    return Expected(("label-conflict",), "error", tree.at(*paths))


@plant(*PICTURES)
def class_spelt_twice(tree: Tree) -> Expected:
    twin = tree.root / "train" / "Fern"
    twin.mkdir()
    for i in range(4):
        picture(tree.rng).save(twin / f"t{i}.{tree.format}")
    return Expected(("label-twins",), "warning")


@plant(*PICTURES)
def folder_without_pictures(tree: Tree) -> Expected:
    (tree.root / "train" / "birch").mkdir()
    return Expected(("empty-class",), "warning")


@plant(*PICTURES)
def class_only_in_training(tree: Tree) -> Expected:
    for path in tree.files("val/moss/*"):
        path.unlink()
    (tree.root / "val" / "moss").rmdir()
    return Expected(("class-missing-in-split",), "warning")


@plant(*PICTURES)
def few_of_one_class(tree: Tree) -> Expected:
    for i in range(300):
        picture(tree.rng, 24).resize((64, 64)).save(tree.root / "train" / "fern" / f"n{i}.{tree.format}")
    for path in tree.files("train/reed/*")[4:]:
        path.unlink()
    return Expected(("severe-imbalance",), "warning")
