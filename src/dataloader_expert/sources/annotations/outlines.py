"""Objects whose box and polygon contradict each other, in COCO's format: the box is that which encloses the polygon."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Sides = tuple[float, float, float, float]
"""Left, top, right and bottom."""
AGREE, APART = 0.8, 0.5
"""The share that a box and the extent of its polygon have in common (intersection over union) from which they agree, and below which they are of
different things."""
ENCLOSED = 0.9
"""The share of a polygon's extent in a box that encloses it."""
USUAL, ONE_WAY = 0.5, 0.9
"""The least share of objects that agree where others are odd; and that of the odd ones, or of all, that another reading explains."""
FEWEST = 5
"""The fewest objects with a polygon of a file of which all are odd."""
READINGS: dict[str, Callable[[float, float, float, float], Sides]] = {
    "the centre and the size": lambda a, b, c, d: (a - c / 2, b - d / 2, a + c / 2, b + d / 2),
    "two corners": lambda a, b, c, d: (a, b, c, d),
    "the top left corner and the size, with x and y swapped": lambda a, b, c, d: (b, a, b + d, a + c),
}


def contradicted(objects: list[dict[str, Any]]) -> dict[int, str]:
    """What is odd about the few objects whose box does not enclose their polygon, by their id, or about all if one other reading of their boxes
    explains them."""
    held = {id(one): pair for one in objects if (pair := _both(one)) is not None}
    shared = {key: _shared(_sized(*box), extent) for key, (box, extent) in held.items()}
    odd = [key for key, share in shared.items() if share < APART and not _holds(_sized(*held[key][0]), held[key][1])]
    agree = sum(share >= AGREE for share in shared.values())
    if not odd:
        return {}
    fits = {
        words: sum(_shared(sides(*held[key][0]), held[key][1]) >= AGREE for key in odd)
        for words, sides in READINGS.items()
    }
    words = max(fits, key=lambda words: fits[words])
    explained = fits[words] >= ONE_WAY * len(odd)
    whole = explained and len(held) >= FEWEST and len(odd) >= ONE_WAY * len(held)
    if not whole and agree < USUAL * len(held):
        return {}  # boxes of something else
    reading = f": read as {words}, it does" if explained else ""
    return dict.fromkeys(odd, f"the box of an object does not enclose its polygon{reading}")


def _both(one: dict[str, Any]) -> tuple[Sides, Sides] | None:
    """The numbers of an object's box and the extent of its polygons; None if it lacks one."""
    box, polygons = one.get("bbox"), one.get("segmentation")
    if one.get("iscrowd") or not isinstance(polygons, list) or not isinstance(box, list) or len(box) != 4:
        return None
    try:
        xs = [float(x) for polygon in polygons for x in polygon[::2]]
        ys = [float(y) for polygon in polygons for y in polygon[1::2]]
        a, b, c, d = map(float, box)
    except (TypeError, ValueError, LookupError, OverflowError):
        return None
    if len(xs) < 3 or len(xs) != len(ys) or not all(map(math.isfinite, (*xs, *ys, a, b, c, d))):
        return None
    extent = min(xs), min(ys), max(xs), max(ys)
    return ((a, b, c, d), extent) if extent[0] < extent[2] and extent[1] < extent[3] else None


def _sized(a: float, b: float, c: float, d: float) -> Sides:
    return a, b, a + c, b + d


def _holds(box: Sides, extent: Sides) -> bool:
    """Whether nearly all of the extent lies in the box: of a thing that is partly hidden, a box may show the whole, and the polygon what is seen."""
    inside = max(box[0], extent[0]), max(box[1], extent[1]), min(box[2], extent[2]), min(box[3], extent[3])
    return _area(inside) >= ENCLOSED * _area(extent)


def _area(sides: Sides) -> float:
    return max(0.0, sides[2] - sides[0]) * max(0.0, sides[3] - sides[1])


def _shared(one: Sides, other: Sides) -> float:
    """Intersection over union."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    both = max(0.0, wide) * max(0.0, high)
    return both / (_area(one) + _area(other) - both) if both > 0 else 0.0
