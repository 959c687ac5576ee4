# mypy: ignore-errors
"""Images with objects in the formats of well-known data sets, and defects of their annotations."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

from benchmarks.plants.sound import picture
from benchmarks.plants.tree import Expected, Tree, plant

SIDE, IMAGES = 64, 48
KINDS = ("boat", "cart", "kite")
Objects = list[list[tuple[float, float, float, float, str]]]
"""Of each image: left, top, right and bottom in pixels, and the class of each object."""


def columns(root: Path, of: Objects) -> None:
    """Shares of the image in columns, as Open Images has them."""
    with (root / "boxes.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["ImageID", "LabelName", "XMin", "XMax", "YMin", "YMax"])
        for i, boxes in enumerate(of):
            for x1, y1, x2, y2, kind in boxes:
                out.writerow([f"{i:04}", kind, *(f"{side / SIDE:.5f}" for side in (x1, x2, y1, y2))])


def nested(root: Path, of: Objects) -> None:
    """A list of objects for each image, as BDD100K has it."""
    rows = [
        {
            "name": f"{i:04}.png",
            "labels": [
                {"category": kind, "box2d": dict(zip(("x1", "y1", "x2", "y2"), sides, strict=True))}
                for *sides, kind in boxes
            ],
        }
        for i, boxes in enumerate(of)
    ]
    (root / "det.json").write_text(json.dumps(rows), encoding="utf-8")


def kitti(root: Path, of: Objects) -> None:
    (root / "label_2").mkdir(exist_ok=True)
    for i, boxes in enumerate(of):
        lines = [f"{k} 0.00 0 -1.57 {a} {b} {c} {d} 1.5 1.6 3.9 1.0 1.5 9.0 -1.6\n" for a, b, c, d, k in boxes]
        (root / "label_2" / f"{i:04}.txt").write_text("".join(lines), encoding="utf-8")


def visdrone(root: Path, of: Objects) -> None:
    (root / "annotations").mkdir(exist_ok=True)
    for i, boxes in enumerate(of):
        lines = [f"{a:.0f},{b:.0f},{c - a:.0f},{d - b:.0f},1,{1 + KINDS.index(k)},0,0\n" for a, b, c, d, k in boxes]
        (root / "annotations" / f"{i:04}.txt").write_text("".join(lines), encoding="utf-8")


def cvat(root: Path, of: Objects) -> None:
    whole = ElementTree.Element("annotations")
    ElementTree.SubElement(whole, "meta")
    for i, boxes in enumerate(of):
        image = ElementTree.SubElement(whole, "image", name=f"{i:04}.png", width=str(SIDE), height=str(SIDE))
        for *sides, kind in boxes:
            named = dict(zip(("xtl", "ytl", "xbr", "ybr"), map(str, sides), strict=True))
            ElementTree.SubElement(image, "box", label=kind, **named)
    ElementTree.ElementTree(whole).write(root / "annotations.xml")


WRITE: dict[str, Callable[[Path, Objects], None]] = {
    "columns": columns,
    "nested": nested,
    "kitti": kitti,
    "visdrone": visdrone,
    "cvat": cvat,
}
LINES = ("kitti", "visdrone")


def drawn(tree: Tree) -> Objects:
    of = []
    for i in range(IMAGES):
        boxes = []
        for k in range(tree.rng.randint(1, 4)):
            x, y = tree.rng.randrange(0, 30), tree.rng.randrange(0, 30)
            kind = KINDS[i % 3] if not k else tree.rng.choice(KINDS)
            boxes.append((float(x), float(y), float(x + 8 + k), float(y + tree.rng.randrange(8, 30)), kind))
        of.append(boxes)
    return of


def sound_objects(tree: Tree) -> None:
    (tree.root / "images").mkdir()
    for i in range(IMAGES):
        picture(tree.rng, SIDE).save(tree.root / "images" / f"{i:04}.png")
    tree.rows = drawn(tree)
    WRITE[tree.format](tree.root, tree.rows)


def changed(tree: Tree, i: int, boxes: list) -> None:
    tree.rows[i] = boxes
    WRITE[tree.format](tree.root, tree.rows)


def image(i: int) -> tuple[str, ...]:
    return (f"images/{i:04}.png",)


@plant(*WRITE)
def box_beyond_its_image(tree: Tree) -> Expected:
    i = tree.rng.randrange(IMAGES)
    x, y, _, bottom, kind = tree.rows[i][0]
    changed(tree, i, [(x, y, SIDE + 20.0, bottom, kind), *tree.rows[i][1:]])
    return Expected(("box-outside",), "warning", (image(i),))


@plant(*WRITE)
def box_without_area(tree: Tree) -> Expected:
    i = tree.rng.randrange(IMAGES)
    x, y, _, bottom, kind = tree.rows[i][0]
    changed(tree, i, [(x, y, x, bottom, kind), *tree.rows[i][1:]])
    return Expected(("box-degenerate",), "warning", (image(i),))


@plant(*WRITE)
def box_again(tree: Tree) -> Expected:
    i = tree.rng.randrange(IMAGES)
    changed(tree, i, [*tree.rows[i], tree.rows[i][0]])
    return Expected(("duplicate-boxes",), "warning", (image(i),))


@plant(*LINES)
def line_damaged(tree: Tree) -> Expected:
    path = tree.some(1, "*.txt")[0]
    path.write_text(path.read_text(encoding="utf-8") + "boat 12 x\n", encoding="utf-8")
    return Expected(("parse-error",), "error", tree.at(path))


@plant("kitti", "visdrone")
def image_lost(tree: Tree) -> Expected:
    path = tree.some(1, "*.png")[0]
    path.unlink()
    label = next(p for p in tree.files("*.txt") if p.stem == path.stem)
    return Expected(("missing-pair",), "warning", tree.at(label))


@plant("columns", "nested", "cvat")
def image_missing(tree: Tree) -> Expected:
    tree.some(1, "*.png")[0].unlink()
    [table] = [p for p in tree.files() if p.suffix != ".png"]
    return Expected(("dangling-reference",), "warning", tree.at(table))
