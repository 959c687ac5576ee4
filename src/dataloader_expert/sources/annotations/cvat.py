"""CVAT's XML for images: one file for many of them, with boxes and outlines as attributes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, ODD, Annotations, Names
from dataloader_expert.sources.annotations.voc import KIND, parsed
from dataloader_expert.sources.files import Listing

MOST_BYTES = 1 << 28
SHAPES = ("box", "polygon", "polyline", "points", "ellipse")
SIDES = ("xtl", "ytl", "xbr", "ybr")


def join_cvat(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Outlines are read as the boxes around them."""
    entries = [e for e in listing.entries if e.kind == KIND and e.path not in {*found.tables} and e.size <= MOST_BYTES]
    files = Names(paths if entries else ())
    read: dict[str, tuple[list[list[float]], list[str]]] = {}
    for entry in entries:
        lost = []
        try:
            if b"<image" not in (head := listing.head(entry.path)) and b"<meta" not in head:
                continue
            for image in parsed(listing.read(entry.path)).iter("image"):
                name = image.get("name") or ""
                path = files.find(name, False)
                if path is None:
                    lost.append(name)
                    continue
                boxes, names = read.setdefault(path, ([], []))
                for shape in image:
                    if shape.tag in SHAPES:
                        found.outlines = found.outlines or shape.tag != "box"
                        boxes.append(_box(shape))
                        names.append((shape.get("label") or "").strip())
                sides = [image.get(side) or "" for side in ("width", "height")]
                if all(map(str.isdigit, sides)):
                    found.sizes[path] = int(sides[0]), int(sides[1])
        except ODD as e:
            found.problems.append(
                Unreadable("parse-error", f"is no CVAT annotation: {escaped(e, 120)}", file=entry.path)
            )
        found.tables.append(entry.path)
        found.by_line |= dict.fromkeys(read, entry.path)
        found.problems += [
            Unreadable("dangling-reference", f"names {escaped(name, 80)}, which is not there", file=entry.path)
            for name in lost[:MOST_TOLD]
        ]
    found.add_named(read)


def _box(shape: ElementTree.Element) -> list[float]:
    """Left, top, right and bottom; NaN for what is not said."""
    if shape.tag == "box":
        return [float(shape.get(side) or "nan") for side in SIDES]
    if shape.tag == "ellipse":
        x, y, rx, ry = (float(shape.get(name) or "nan") for name in ("cx", "cy", "rx", "ry"))
        return [x - rx, y - ry, x + rx, y + ry]
    points = [tuple(map(float, point.split(","))) for point in (shape.get("points") or "").split(";") if point]
    if not points:
        return [float("nan")] * 4
    xs, ys = zip(*points, strict=True)
    return [min(xs), min(ys), max(xs), max(ys)]
