"""Supervisely: a JSON file for each image, with the corners of each object and the name of its class."""

from __future__ import annotations

import json
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import ODD, Annotations, Names, around
from dataloader_expert.sources.files import Listing

HEAD, MOST_BYTES = 1 << 14, 1 << 26
"""Bytes that tell whether a file is of this kind; masks may stand in it."""
RECTANGLE = "rectangle"


def join_supervisely(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Outlines are read as the boxes around them, and an object without corners, such as a mask, is told and not read."""
    read: dict[str, tuple[list[list[float]], list[str]]] = {}
    files = Names(paths if any(entry.kind == "json" for entry in listing.entries) else ())
    for entry in listing.entries:
        path = None
        if entry.kind == "json" and 0 < entry.size <= MOST_BYTES:
            path = files.nearest(entry.path.rpartition("/")[2].removesuffix(".json"), entry.path)
            path = path or files.beside(entry.path)
        if path is None:
            continue
        try:
            if b'"objects"' not in listing.head(entry.path, HEAD):
                continue
            held = json.loads(listing.read(entry.path))
            if "size" not in held or not all("classTitle" in one for one in held["objects"]):
                continue
            read[path] = objects(held)
            lost = sum(_corners(one) is None for one in held["objects"])
            if lost:
                text = f"{lost} of {len(held['objects'])} objects have no corners, such as masks: not read"
                found.problems.append(Unreadable("missing-values", text, file=entry.path, field="boxes"))
            found.outlines = found.outlines or any(one.get("geometryType") != RECTANGLE for one in held["objects"])
        except ODD as e:
            text = f"is not a Supervisely annotation: {escaped(e, 120)}"
            found.problems.append(Unreadable("parse-error", text, file=entry.path))
        found.tables.append(entry.path)
        found.each.setdefault("supervisely", {})[path] = entry.path
    found.add_named(read)


def objects(held: dict[str, Any]) -> tuple[list[list[float]], list[str]]:
    """Boxes, [left, top, right, bottom] in pixels, and the names of their classes."""
    boxes, names = [], []
    for one in held["objects"]:
        corners = _corners(one)
        if corners is not None:
            boxes.append(around([float(x) for x, _ in corners], [float(y) for _, y in corners]))
            names.append(str(one["classTitle"]).strip())
    return boxes, names


def _corners(one: dict[str, Any]) -> list[Any] | None:
    """The points of an object's outline; None if it has none."""
    points = one.get("points")
    exterior = points.get("exterior") if isinstance(points, dict) else None
    return exterior if isinstance(exterior, list) and exterior else None
