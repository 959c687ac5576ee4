"""CVAT's XML for images: one file for many of them, with boxes and outlines as attributes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, ODD, Annotations, Names, around, folder_of
from dataloader_expert.sources.annotations.voc import KIND, elements
from dataloader_expert.sources.files import Listing

MOST_BYTES = 1 << 26
SHAPES = ("box", "polygon", "polyline", "points", "ellipse")
SIDES = ("xtl", "ytl", "xbr", "ybr")
Objects = tuple[list[list[float]], list[str]]


def join_cvat(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Outlines are read as the boxes around them."""
    aside = {*found.tables}
    entries = [e for e in listing.entries if e.kind == KIND and e.path not in aside and e.size <= MOST_BYTES]
    files = Names(paths if entries else ())
    read: dict[str, Objects] = {}
    for entry in entries:
        own: dict[str, Objects] = {}
        lost: list[str] = []
        try:
            if b"<annotations" not in listing.head(entry.path):
                continue
            for image in elements(listing.read(entry.path), "image"):
                name = image.get("name")
                if name is None:
                    continue  # another format's
                path = files.find(name, False, f"{folder_of(entry.path)}/")
                if path is None:
                    lost.append(name)
                    continue
                boxes, names = own.setdefault(path, ([], []))
                for shape in image:
                    if shape.tag in SHAPES:
                        found.outlines = found.outlines or shape.tag != "box"
                        boxes.append(_box(shape))
                        names.append((shape.get("label") or "").strip())
                sides = [image.get(side) or "" for side in ("width", "height")]
                if all(side.isascii() and side.isdigit() for side in sides):
                    found.sizes[path] = int(sides[0]), int(sides[1])
        except ODD as e:
            if own:
                text = f"is damaged, and the rest is not read: {escaped(e, 120)}"
                found.problems.append(Unreadable("parse-error", text, file=entry.path))
        if not own:
            continue  # it names none of the images
        found.tables.append(entry.path)
        for path, (boxes, names) in own.items():
            every = read.setdefault(path, ([], []))
            every[0].extend(boxes)
            every[1].extend(names)
            found.by_line[path] = entry.path
        found.problems += [
            Unreadable("dangling-reference", f"names {escaped(name, 80)}, which is not there", file=entry.path)
            for name in lost[:MOST_TOLD]
        ]
    found.add_named(read)


def _box(shape: ElementTree.Element) -> list[float]:
    """Left, top, right and bottom; NaN for what is not said, or is no number."""
    try:
        if shape.tag == "box":
            return [float(shape.get(side) or "nan") for side in SIDES]
        if shape.tag == "ellipse":
            x, y, rx, ry = (float(shape.get(name) or "nan") for name in ("cx", "cy", "rx", "ry"))
            return [x - rx, y - ry, x + rx, y + ry]
        points = [[*map(float, point.split(","))] for point in (shape.get("points") or "").split(";") if point]
        xs, ys = zip(*points, strict=True)
        return around(xs, ys)
    except ValueError:
        return [float("nan")] * 4
