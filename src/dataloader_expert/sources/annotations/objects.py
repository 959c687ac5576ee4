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
from dataloader_expert.sources.annotations.record import (
    LOOKED_AT,
    MOST_FIELDS,
    NAMELESS,
    NEARLY_ALL,
    Row,
    Sides,
    around,
)
from dataloader_expert.sources.base import Objects
from dataloader_expert.sources.label_names import label_by_name
from dataloader_expert.sources.layout import split_of_folder
from dataloader_expert.sources.roles import words

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
BARE = {four for four, how in SIDES.items() if how == SIZE}
"""Those that may be of anything, unless something calls them a box: a point, and the size of the image."""
LOOSE = {("x1", "y1", "x2", "y2"), ("x0", "y0", "x1", "y1"), ("left", "top", "right", "bottom")}
"""Those that may be the ends of a line, or margins, unless the second corner is beyond the first."""
_POINT = re.compile(r"[xy]\d")
_SIDE = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)"
_FOUR = rf"{_SIDE}(?:[\s,]+{_SIDE}){{3}}"
_FOURS = re.compile(rf"\s*{_FOUR}(?:\s*;\s*{_FOUR})*[\s;]*")
_BOX = re.compile(r"(?:bounding|bbox|bndbox|box|bb|roi|rect)+(?=.)")
LISTS = ("bbox", "box", "boundingbox", "bndbox")
RUNS = ({"rle"}, {"rles"}, {"encoded", "pixels"})
"""Words in the names of masks that are written as the lengths of their runs."""
HOLDERS = (*LISTS, "box2d", "rect", "roi", "coordinates", "shapeattributes", "position")
"""Keys of an object under which its box stands; under the first also as a list."""
OTHERS = ("category", "name", "type", "title", "tag")
"""Keys that may hold the class of an object where none is called like a label."""


@dataclass(frozen=True)
class Folded:
    """Rows with ``boxes``; ``lists``: the fields of which each row holds one of several values of its file."""

    rows: list[Row]
    lists: frozenset[str] = frozenset()
    objects: Objects | None = None
    sides: Sides | None = None
    named: bool = False
    """Whether ``classes`` are names, not numbers."""
    nested: bool = False
    corners: bool = True
    """Whether each box is left, top, right and bottom: not known of lists."""
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Width and height of the image that a row names, as it says."""


def folded(rows: list[Row], naming: str) -> Folded:
    """The rows with their objects as ``boxes``, float64 [4] or [objects, 4], and numbers of classes; as they are, if none has any."""
    names = dict.fromkeys(name for row in rows[:LOOKED_AT] for name in row)
    if isinstance(rows, Images):
        return Folded(rows, sizes=rows.sizes)
    if "boxes" in names or len(names) > MOST_FIELDS:
        return Folded(rows)
    lists = {name for row in rows[:LOOKED_AT] for name, value in row.items() if _several(value)}
    for name in names:
        values = [_several(row.get(name)) for row in rows] if name in lists else []
        if any(values) and all(isinstance(one, dict | None) for of in values for one in of or ()):
            made = _listed(rows, name, values)
            if made is not None:
                return made
    one_each = len({str(row.get(naming)) for row in rows}) == len(rows)
    written = _written(rows, list(names)) if one_each else None
    return written or _sided(rows, naming, list(names))


def _written(rows: list[Row], names: list[str]) -> Folded | None:
    """Rows of which a cell lists all boxes, each as four numbers before a semicolon; what has no digit stands for none."""
    for name in names:
        cells = [row.get(name) for row in rows]
        if "box" not in name.lower() or not all(isinstance(cell, str | None) for cell in cells):
            continue
        read = [_FOURS.fullmatch(cell) is not None for cell in cells if cell and any(map(str.isdigit, cell))]
        if not read or not all(read):
            continue
        sides = [
            [float(word) for word in re.split(r"[\s,;]+", cell or "") if word] if _FOURS.fullmatch(cell or "") else []
            for cell in cells
        ]
        boxes = [[of[i : i + 4] for i in range(0, len(of), 4)] for of in sides]
        corners = all(box[0] < box[2] and box[1] < box[3] for of in boxes for box in of)
        made: list[Row] = [
            {k: v for k, v in row.items() if k != name} | {"boxes": of} for row, of in zip(rows, boxes, strict=True)
        ]
        return Folded(made, nested=True, corners=corners)
    return None


def _several(value: Any) -> list[Any] | None:
    """A list of objects; VIA's project files number them. An object alone is the only one, if it has a box."""
    if isinstance(value, dict) and value and all(key.isdigit() for key in value):
        return list(value.values())
    if isinstance(value, dict) and box_of(value) is not None:
        return [value]
    return value if isinstance(value, list) else None


def _listed(rows: list[Row], name: str, values: list[list[Any] | None]) -> Folded | None:
    """Rows of which each has a list of objects; without those that have no box, if others have one. What is no object has a box that
    is none."""
    nothing: dict[str, Any] = {"box": None}
    own = [[(box, one or {}) for one in of or () if (box := box_of(one or nothing)) is not None] for of in values]
    if not any(one for of in own for _, one in of):
        return None
    classes = [[class_of(one) for _, one in of] for of in own]
    told = {one for of in classes for one in of if one is not None}
    made = []
    for row, of, kinds in zip(rows, own, classes, strict=True):
        kept: Row = {k: v for k, v in row.items() if k != name} | {"boxes": [box for box, _ in of]}
        made.append(kept | ({"classes": _classes(kinds, told)} if told else {}))
    corners = not any(
        isinstance(v, list) and (_letters(key) in LISTS or _is_box(key, v))
        for of in own
        for _, one in of
        for key, v in one.items()
    )
    return Folded(made, objects=_objects(told), named=_named(told), nested=True, corners=corners)


def boxed(names: Iterable[str]) -> list[str]:
    """The columns that are called like boxes."""
    return [name for name in names if _letters(name) in LISTS]


def in_runs(name: str) -> bool:
    """Whether a column is called like masks that are written as the lengths of their runs."""
    return any(of <= {*words(name)} for of in RUNS)


def _sizes(rows: list[Row], naming: str, size: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """Width and height of the image that each row names, in columns of these names."""
    return {
        str(row.get(naming)): (width, height)
        for row in rows
        if size and isinstance(width := row.get(size[0]), int) and isinstance(height := row.get(size[1]), int)
    }


def _sided(rows: list[Row], naming: str, names: list[str]) -> Folded:
    """Rows of which each is an object, if columns hold the sides of a box."""
    found = sides_in(names) or _unnamed(rows, [name for name in names if name != naming])
    boxes = None if found is None else _boxes(rows, *found)
    one_each = len({str(row.get(naming)) for row in rows}) == len(rows)
    if found is None or boxes is None:
        size = () if one_each or not boxed(names) else _size_in(names, ())
        kept = [{k: v for k, v in row.items() if k not in size} for row in rows] if size else rows
        return Folded(kept, sizes=_sizes(rows, naming, size))
    size = _size_in(names, found[1]) or _unnamed_size(rows, [name for name in names if name != naming])
    sizes = _sizes(rows, naming, size)
    gone = {*found[1], *size}
    made: list[Row] = []
    for row, box in zip(rows, boxes, strict=True):
        rest = {k: v for k, v in row.items() if k not in gone}
        made.append(rest if box is None else rest | {"boxes": [box] if one_each else box})
    about = Sides(*found, size, one_each=one_each)
    if one_each:
        return Folded(made, sides=about, sizes=sizes)
    return _with_classes(made, naming, [name for name in names if name not in gone and name != naming], about, sizes)


def _boxes(rows: list[Row], how: str, sides: tuple[str, ...]) -> list[list[float] | None] | None:
    """The box of each row, None where all its sides are missing; None if these columns hold something else."""
    boxes = [
        None if all(row.get(side) is None for side in sides) else _box(how, [row.get(s) for s in sides]) for row in rows
    ]
    there = [box for box in boxes if box is not None]
    if sum(not any(map(math.isnan, box)) for box in there) < max(1, NEARLY_ALL * len(there)):
        return None
    beyond = sum(box[0] < box[2] and box[1] < box[3] for box in there)
    loose = {_bare(side) for side in sides} in map(set, LOOSE)
    return None if loose and beyond < NEARLY_ALL * len(there) else boxes


def _with_classes(
    rows: list[Row], naming: str, names: list[str], about: Sides, sizes: dict[str, tuple[int, int]]
) -> Folded:
    """The rows with the class of each object, if one of these columns tells it."""
    # what never differs says something of the objects, if of anything, unless it is the split of this table
    marks = [name for name in names if split_of_folder(str(rows[0].get(name))) is None]
    same = {name for name in marks if all(row.get(name) == rows[0].get(name) for row in rows)}
    label = label_by_name([name for name in names if not any(isinstance(row.get(name), float) for row in rows)])[0]
    if label is None:
        label = names[0] if len(names) == 1 and NAMELESS.fullmatch(names[0]) else _class_among(names)
    if label is None or _of_files(rows, naming, label):
        return Folded(rows, frozenset({"boxes", *same}), sides=about, sizes=sizes)
    told = {row[label] for row in rows if "boxes" in row and isinstance(row.get(label), str | int)}
    beside = {} if _named(told) else _names_beside(rows, label, _class_among([n for n in names if n != label]))
    for row in rows:
        kind = row.pop(label, None)
        if "boxes" in row:
            row["classes"] = _classes([kind], told)[0]
    about = replace(about, kind=label)
    objects = _objects(told) and Objects("classes", beside)
    return Folded(rows, frozenset({"boxes", "classes", *same}), objects, about, named=_named(told), sizes=sizes)


def _named(told: set[Any]) -> bool:
    """Whether some classes are names, not numbers."""
    return any(isinstance(one, str) for one in told)


def _classes(kinds: list[Any], told: set[Any]) -> list[Any]:
    """Classes as numbers, -1 for none, or all as texts, None for none, if others are names: these are numbered for all tables."""
    if not _named(told):
        return [kind if isinstance(kind, int) else -1 for kind in kinds]
    return [str(kind) if isinstance(kind, str | int) else None for kind in kinds]


def _objects(told: set[Any]) -> Objects | None:
    return Objects("classes", {}) if told and not _named(told) else None


def _of_files(rows: list[Row], naming: str, label: str) -> bool:
    """Whether the column says one thing of each file, and not the same of all: it is no class of its objects."""
    told: dict[str, set[str]] = {}
    for row in rows:
        told.setdefault(str(row.get(naming)), set()).add(str(row.get(label)))
    return all(len(of) == 1 for of in told.values()) and len(set().union(*told.values())) > 1


def _names_beside(rows: list[Row], label: str, column: str | None) -> dict[int, str]:
    """What the numbers of classes stand for, if another column says it of each alike."""
    if column is None:
        return {}
    both = {(row.get(label), row[column]) for row in rows if isinstance(row.get(column), str)}
    names = {number: name for number, name in both if isinstance(number, int)}
    return {n: str(names[n]) for n in sorted(names)} if len(names) == len(both) else {}


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
    """The first four columns of a table without names, if they are corners and at most one column is left, which is the class, before
    the width and the height of the image."""
    sized = _unnamed_size(rows, names)
    if not 4 <= len(names) - len(sized) <= 5 or not all(map(NAMELESS.fullmatch, names)):
        return None
    for first in (
        (0, 1) if all(isinstance(row.get(names[0]), str) for row in rows) else (0,)
    ):  # the class may stand before
        sides = tuple(names[first : first + 4])
        values: list[list[Any]] = [[row.get(side) for side in sides] for row in rows]
        told = [v for v in values if any(x is not None for x in v)]
        right = sum(all(isinstance(x, int | float) for x in v) and v[0] < v[2] and v[1] < v[3] for v in told)
        if len(sides) == 4 and told and right >= NEARLY_ALL * len(told):
            return CORNERS, sides
    return None


def _unnamed_size(rows: list[Row], names: list[str]) -> tuple[str, ...]:
    """The last two columns of a table without names that hold the size of the image: no box of any row ends beyond it."""
    if not 6 <= len(names) <= 7 or not all(map(NAMELESS.fullmatch, names)):
        return ()
    ends: list[list[Any]] = [
        [row.get(names[2]), row.get(names[3]), row.get(names[-2]), row.get(names[-1])] for row in rows
    ]
    told = [of for of in ends if all(isinstance(x, int | float) for x in of)]
    within = sum(isinstance(w, int) and isinstance(h, int) and x <= w and y <= h for x, y, w, h in told)
    return (names[-2], names[-1]) if told and within >= NEARLY_ALL * len(ends) else ()


def sides_in(names: Iterable[str], a_box: bool = False) -> tuple[str, tuple[str, ...]] | None:
    """What four of these names say together, and the four. ``a_box``: something calls them all a box."""
    plain: dict[str, str] = {}
    called: set[str] = set()
    for name in names:
        letters = _letters(name)
        bare = _bare(name)
        if bare != letters:
            called.add(bare)
        if bare not in plain or bare != letters:
            plain[bare] = name
    points = {name for name in plain if _POINT.fullmatch(name)}
    for four, how in SIDES.items():
        if points and points != {side for side in four if _POINT.fullmatch(side)}:
            continue  # there are more points than two
        if set(four) <= plain.keys() and (a_box or four not in BARE or set(four) <= called):
            return how, tuple(plain[name] for name in four)
    return None


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _bare(name: str) -> str:
    """Its letters and digits, without a word for a box before others."""
    letters = _letters(name)
    return _BOX.sub("", letters, count=1) if _BOX.match(letters) else letters


def box_of(one: Mapping[str, Any]) -> list[float] | None:
    """The box of an object, [left, top, right, bottom] unless it is a list, which stays as it is; None if it has none, NaN if what is
    called so is no box."""
    for key, value in one.items():
        bare = _letters(key)
        if bare not in HOLDERS:
            continue
        if bare in LISTS and not isinstance(value, dict):
            whole = isinstance(value, list) and len(value) == 4
            return [_number(side) for side in value] if whole else [math.nan] * 4
        if isinstance(value, dict):
            around = _outline(value)
            if around is not None:
                return around
            found = sides_in(value, a_box=True)
            if found is not None:
                how = CENTRE if bare == "coordinates" else found[0]  # CreateML's
                return _box(how, [value[side] for side in found[1]])
    found = sides_in(one)
    if found is None:
        first = next((value for key, value in one.items() if _is_box(key, value)), None)
        return None if first is None else [_number(side) for side in first]
    return _box(found[0], [one[side] for side in found[1]])


def _is_box(key: str, value: Any) -> bool:
    """Whether a list of four is called a box, perhaps with a word for which of several it is: CrowdHuman's ``fbox`` before ``vbox``."""
    return isinstance(value, list) and len(value) == 4 and _letters(key).endswith("box")


def _outline(held: Mapping[str, Any]) -> list[float] | None:
    """The box around a polygon of VIA, or around its circle."""
    xs, ys = held.get("all_points_x"), held.get("all_points_y")
    if isinstance(xs, list) and isinstance(ys, list) and xs and ys:
        return around([*map(_number, xs)], [*map(_number, ys)])
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
