"""Objects in the rows of tables: a column for each side of a box, or a list of objects in each row.

OpenImages' and TensorFlow's CSV files, RetinaNet's without a header and GTSRB's have a row for each object; BDD100K's, CreateML's
and VIA's JSON a list of objects for each image.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dataloader_expert.sources.annotations.coco import Images
from dataloader_expert.sources.annotations.record import LOOKED_AT, NEARLY_ALL, Row, Sides
from dataloader_expert.sources.base import Objects
from dataloader_expert.sources.layout import label_by_name

CORNERS, SIZE, CENTRE = "corners", "size", "centre"
SIDES = {
    ("xmin", "ymin", "xmax", "ymax"): CORNERS,
    ("x1", "y1", "x2", "y2"): CORNERS,
    ("x0", "y0", "x1", "y1"): CORNERS,
    ("xtl", "ytl", "xbr", "ybr"): CORNERS,
    ("left", "top", "right", "bottom"): CORNERS,
    ("x1", "y1", "width", "height"): SIZE,
    ("xmin", "ymin", "width", "height"): SIZE,
    ("left", "top", "width", "height"): SIZE,
    ("x", "y", "width", "height"): SIZE,
    ("x", "y", "w", "h"): SIZE,
}
"""What four names say together, by letters and digits alone."""
BARE = {("x", "y", "width", "height"), ("x", "y", "w", "h"), ("left", "top", "width", "height")}
"""Those that may be of anything, unless something calls them a box: a point, and the size of the image."""
_BOX = re.compile(r"(?:bounding|bbox|bndbox|box|bb|roi|rect)+(?=.)")
HOLDERS = ("bbox", "box", "box2d", "boundingbox", "bndbox", "rect", "roi", "coordinates", "shapeattributes", "position")
"""Keys of an object under which its box stands."""
OTHERS = ("category", "name", "type", "title", "tag")
"""Keys that may hold the class of an object where none is called like a label."""
NAMELESS = re.compile(r"f\d+")


@dataclass(frozen=True)
class Folded:
    """Rows with ``boxes``; ``lists``: the fields of which each row holds one of several values of its file."""

    rows: list[Row]
    lists: frozenset[str] = frozenset()
    objects: Objects | None = None
    sides: Sides | None = None
    nested: bool = False
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Width and height of the image that a row names, as it says."""


def folded(rows: list[Row], naming: str) -> Folded:
    """The rows with their objects as ``boxes``, float64 [4] or [objects, 4], and numbers of classes; as they are, if none has any."""
    names = dict.fromkeys(name for row in rows[:LOOKED_AT] for name in row)
    if isinstance(rows, Images):
        return Folded(rows, sizes=rows.sizes)
    if "boxes" in names:
        return Folded(rows)
    for name in names:
        values = [_several(row.get(name)) for row in rows]
        if any(values) and all(isinstance(one, dict) for of in values for one in of or ()):
            made = _listed(rows, name, values)
            if made is not None:
                return made
    return _sided(rows, naming, list(names))


def _several(value: Any) -> list[Any] | None:
    """A list of objects; VIA's project files number them."""
    if isinstance(value, dict) and value and all(key.isdigit() for key in value):
        return list(value.values())
    return value if isinstance(value, list) else None


def _listed(rows: list[Row], name: str, values: list[list[Any] | None]) -> Folded | None:
    """Rows of which each has a list of objects; without those that have no box, if others have one."""
    own = [[(box, one) for one in of or () if (box := box_of(one)) is not None] for of in values]
    if not any(own):
        return None
    classes = [[class_of(one) for _, one in of] for of in own]
    told = [one for of in classes for one in of if one is not None]
    numbers, objects = _numbered(told)
    made = []
    for row, of, kinds in zip(rows, own, classes, strict=True):
        kept: Row = {k: v for k, v in row.items() if k != name} | {"boxes": [box for box, _ in of]}
        made.append(kept | ({"classes": [numbers.get(kind, -1) for kind in kinds]} if told else {}))
    return Folded(made, objects=objects if told else None, nested=True)


def _sided(rows: list[Row], naming: str, names: list[str]) -> Folded:
    """Rows of which each is an object, if columns hold the sides of a box."""
    found = sides_in(names) or _unnamed(rows, [name for name in names if name != naming])
    if found is None:
        return Folded(rows)
    how, sides = found
    boxes = [
        None if all(row.get(side) is None for side in sides) else _box(how, [row.get(s) for s in sides]) for row in rows
    ]
    there = [box for box in boxes if box is not None]
    if sum(not any(map(math.isnan, box)) for box in there) < max(1, NEARLY_ALL * len(there)):
        return Folded(rows)
    one_each = len({row.get(naming) for row in rows}) == len(rows)
    size = _size_in(names, sides)
    sizes = {
        str(row.get(naming)): (width, height)
        for row in rows
        if size and isinstance(width := row.get(size[0]), int) and isinstance(height := row.get(size[1]), int)
    }
    sides = (*sides, *size)
    made: list[Row] = []
    for row, box in zip(rows, boxes, strict=True):
        rest = {k: v for k, v in row.items() if k not in sides}
        made.append(rest if box is None else rest | {"boxes": [box] if one_each else box})
    about = Sides(how, found[1], size, one_each=one_each)
    if one_each:
        return Folded(made, sides=about, sizes=sizes)
    left = [name for name in names if name not in sides and name != naming]
    # a column that never differs says something of the objects, if of anything
    same = {name for name in left if len(rows) > 1 and all(row.get(name) == rows[0].get(name) for row in rows)}
    label = label_by_name([name for name in left if not any(isinstance(row.get(name), float) for row in rows)])[0]
    if label is None:
        label = left[0] if len(left) == 1 and NAMELESS.fullmatch(left[0]) else _class_among(left)
    if label is None:
        return Folded(made, frozenset({"boxes", *same}), sides=about, sizes=sizes)
    numbers, objects = _numbered([row[label] for row in made if "boxes" in row and row.get(label) is not None])
    for row in made:
        told = row.pop(label, None)
        if "boxes" in row:
            row["classes"] = numbers.get(told, -1)
    about = replace(about, kind=label, names=tuple(objects.names.values()))
    return Folded(made, frozenset({"boxes", "classes", *same}), objects, about, sizes=sizes)


def _size_in(names: list[str], sides: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of the width and the height of the image, if there are such."""
    plain = {re.sub(r"[^a-z]", "", name.lower()): name for name in names if name not in sides}
    both = (("width", "height"), ("imagewidth", "imageheight"), ("imgwidth", "imgheight"), ("w", "h"))
    return next(((plain[w], plain[h]) for w, h in both if {w, h} <= plain.keys()), ())


def _class_among(names: Iterable[str]) -> str | None:
    """OpenImages calls it ``LabelName``, others ``class_name`` or ``category_id``."""
    plain = {re.sub(r"[^a-z]", "", name.lower()): name for name in names}
    known = [a + b for a in ("label", "class", "category") for b in ("name", "id", "")]
    return next((plain[name] for name in known if name in plain), None)


def _unnamed(rows: list[Row], names: list[str]) -> tuple[str, tuple[str, ...]] | None:
    """The first four columns of a table without names, if they are corners and at most one column is left, which is the class."""
    if not 4 <= len(names) <= 5 or not all(map(NAMELESS.fullmatch, names)):
        return None
    sides = tuple(names[:4])
    values: list[list[Any]] = [[row.get(side) for side in sides] for row in rows]
    told = [v for v in values if any(x is not None for x in v)]
    right = sum(all(isinstance(x, int | float) for x in v) and v[0] < v[2] and v[1] < v[3] for v in told)
    return (CORNERS, sides) if told and right >= NEARLY_ALL * len(told) else None


def sides_in(names: Iterable[str], a_box: bool = False) -> tuple[str, tuple[str, ...]] | None:
    """What four of these names say together, and the four. ``a_box``: something calls them all a box."""
    plain: dict[str, str] = {}
    called: set[str] = set()
    for name in names:
        letters = re.sub(r"[^a-z0-9]", "", name.lower())
        bare = _BOX.sub("", letters, count=1) if _BOX.match(letters) else letters
        if bare != letters:
            called.add(bare)
        if bare not in plain or bare != letters:
            plain[bare] = name
    for four, how in SIDES.items():
        if set(four) <= plain.keys() and (a_box or four not in BARE or set(four) <= called):
            return how, tuple(plain[name] for name in four)
    return None


def box_of(one: Mapping[str, Any]) -> list[float] | None:
    """The box of an object, [left, top, right, bottom] unless it is a list, which stays as it is; None if it has none."""
    for key, value in one.items():
        bare = re.sub(r"[^a-z0-9]", "", key.lower())
        if bare not in HOLDERS:
            continue
        if isinstance(value, list) and len(value) == 4:
            return [_number(side) for side in value]
        if isinstance(value, dict):
            around = _outline(value)
            if around is not None:
                return around
            found = sides_in(value, a_box=True)
            if found is not None:
                how = CENTRE if bare == "coordinates" else found[0]  # CreateML's
                return _box(how, [value[side] for side in found[1]])
    found = sides_in(one)
    return None if found is None else _box(found[0], [one[side] for side in found[1]])


def _outline(held: Mapping[str, Any]) -> list[float] | None:
    """The box around a polygon of VIA, or around its circle."""
    xs, ys = held.get("all_points_x"), held.get("all_points_y")
    if isinstance(xs, list) and isinstance(ys, list) and xs and ys:
        return [min(map(_number, xs)), min(map(_number, ys)), max(map(_number, xs)), max(map(_number, ys))]
    if {"cx", "cy"} <= held.keys() and ("r" in held or {"rx", "ry"} <= held.keys()):
        x, y = _number(held["cx"]), _number(held["cy"])
        rx, ry = (_number(held.get(side, held.get("r"))) for side in ("rx", "ry"))
        return [x - rx, y - ry, x + rx, y + ry]
    return None


def class_of(one: Mapping[str, Any]) -> str | int | None:
    """The class of an object; VIA has it among the attributes of the region."""
    plain = {key: v for key, v in one.items() if isinstance(v, str | int) and not isinstance(v, bool)}
    name = label_by_name(list(plain))[0] or _class_among(plain) or next((key for key in OTHERS if key in plain), None)
    if name is not None:
        return plain[name]
    for key, held in one.items():
        if key.endswith("attributes") and isinstance(held, dict) and "shape" not in key:
            texts = [value for value in held.values() if isinstance(value, str) and value]
            if texts:
                return texts[0]
    return None


def _numbered(told: list[Any]) -> tuple[dict[Any, int], Objects]:
    """A number for each class: its own if all are whole numbers, else its place among the names."""
    distinct = set(told)
    if all(isinstance(one, int) for one in distinct):
        return {one: one for one in distinct}, Objects("classes", {})
    names = sorted(distinct, key=str)
    return {name: i for i, name in enumerate(names)}, Objects("classes", dict(enumerate(map(str, names))))


def _box(how: str, values: list[Any]) -> list[float]:
    """Left, top, right and bottom; NaN for what is no number."""
    x, y, a, b = map(_number, values)
    if how == CORNERS:
        return [x, y, a, b]
    return [x, y, x + a, y + b] if how == SIZE else [x - a / 2, y - b / 2, x + a / 2, y + b / 2]


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
