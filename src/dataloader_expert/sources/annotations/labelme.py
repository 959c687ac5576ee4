"""LabelMe: a JSON file beside each image, with the corners of each object and the name of its class."""

from __future__ import annotations

import json
import math
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import ODD, Annotations, around
from dataloader_expert.sources.files import Listing

HEAD, MOST_BYTES = 1 << 14, 1 << 26
"""Bytes that tell whether a file is of this kind; the image itself may stand in it."""


def join_labelme(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Outlines are read as the boxes around them."""
    images = {path.rpartition(".")[0]: path for path in paths}
    read: dict[str, tuple[list[list[float]], list[str]]] = {}
    for entry in listing.entries:
        path = images.get(entry.path.rpartition(".")[0])
        if entry.kind != "json" or path is None or not 0 < entry.size <= MOST_BYTES:
            continue
        try:
            if b'"shapes"' not in listing.head(entry.path, HEAD):
                continue
            read[path] = objects(json.loads(listing.read(entry.path)))
        except ODD as e:
            text = f"is not a LabelMe annotation: {escaped(e, 120)}"
            found.problems.append(Unreadable("parse-error", text, file=entry.path))
        found.tables.append(entry.path)
        found.each.setdefault("labelme", {})[path] = entry.path
    found.add_named(read)
    found.outlines = found.outlines or bool(read)


def objects(held: dict[str, Any]) -> tuple[list[list[float]], list[str]]:
    """Boxes, [left, top, right, bottom] in pixels, and the names of their classes.

    Raises:
        ValueError, TypeError, KeyError: if an object has no points or no name.
    """
    boxes, names = [], []
    for shape in held["shapes"]:
        xs, ys = zip(*[(float(x), float(y)) for x, y in shape["points"]], strict=True)
        if shape.get("shape_type") == "circle" and len(xs) == 2:  # its centre, and a point of its edge
            radius = math.hypot(xs[1] - xs[0], ys[1] - ys[0])
            xs, ys = (xs[0] - radius, xs[0] + radius), (ys[0] - radius, ys[0] + radius)
        boxes.append(around(xs, ys))
        names.append(str(shape["label"]).strip())
    return boxes, names
