"""YOLO: a text file for each image, a line for each object: its class, and its centre, width and height as shares of the image.

A line may also hold a confidence, key points, or instead of a box the corners of an outline, as Ultralytics writes them; the
latter is read as the box around it. An image without a file, or with an empty one, shows nothing.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.annotations.record import MOST_TOLD, ODD, Annotations, around, folder_of
from dataloader_expert.sources.base import Objects
from dataloader_expert.sources.files import SIDE_FILES, Entry, Listing, is_about
from dataloader_expert.sources.pairing import key_of

KIND = "YOLO label"
BESIDE = (".names", ".labels", ".data", ".cfg")
"""Ends of the names of Darknet's files about the data."""
MOST_BYTES, MOST_CLASSES = 1 << 20, 10_000
BOX, LOOKED_AT = 5, 50
"""The numbers of a line up to its box, and the files that tell whether key points follow."""
_SEEN = re.compile(r"[012](?:\.0*)?")
"""How a key point's visibility is written."""


@dataclass
class Label:
    """What a file says: classes, boxes, whether some are boxes around outlines, and what is wrong with lines."""

    classes: list[int] = field(default_factory=list)
    boxes: list[list[float]] = field(default_factory=list)
    outlines: bool = False
    wrong: list[str] = field(default_factory=list)


def join_yolo(found: Annotations, listing: Listing, paths: list[str]) -> None:
    import numpy as np

    labels = _labels(listing, paths)
    if not any(exact(path) in labels or key_of(path)[0] in labels for path in paths if labels):
        return  # lines of five numbers may be anything
    names, points = _settings(listing)
    points = points or _points_of(listing, list({entry.path: entry for entry in labels.values()}.values()))
    found.negatives = True
    found.objects, found.key_points = Objects("classes", names), math.prod(points) if points else 0
    of = found.each.setdefault("yolo", {})
    used: dict[str, bool] = {}
    """Label files of images, and whether they are called exactly after them."""
    for path in paths:
        entry = labels.get(exact(path)) or labels.get(key_of(path)[0])
        label = Label()
        if entry is not None:
            used[entry.path] = exact(entry.path) == exact(path)
            found.tables.append(entry.path)
            of[path] = entry.path
            try:
                label = read_label(listing.read(entry.path, MOST_BYTES).decode(), points)
            except ODD as e:
                label.wrong = [f"is not a label file: {escaped(e, 80)}"]
            if label.wrong:
                more = f", and {len(label.wrong) - 1} more" if len(label.wrong) > 1 else ""
                found.problems.append(Unreadable("parse-error", label.wrong[0] + more, file=entry.path))
            found.outlines = found.outlines or label.outlines
        boxes, classes = np.array(label.boxes, np.float64).reshape(-1, 4), np.array(label.classes, np.int64)
        found.add(path, {"boxes": boxes, "classes": classes})
    alone = [entry for entry in labels.values() if entry.path not in used and entry.kind == KIND]
    found.tables += [entry.path for entry in alone]
    found.problems += [Unreadable("missing-pair", "has no image", file=e.path) for e in alone[:MOST_TOLD]]
    other = [path for path, as_image in used.items() if not as_image]
    if 2 * len(other) < len(used):  # else all are called so, for a reader of their own
        text = "is not named exactly like its image, unlike the other label files: training code does not find it, and the image counts as empty"
        found.problems += [Unreadable("odd-name", text, file=path) for path in other[:MOST_TOLD]]
    found.tables += [e.path for e in listing.entries if e.kind == "YAML" or e.path.endswith(BESIDE)]


def _points_of(listing: Listing, labels: list[Entry]) -> tuple[int, int] | None:
    """The key points of an object where no settings say how many there are: all lines are equally long, and end in points of which the
    third number says whether it is visible. Lines of which only some end so are outlines."""
    rows: list[list[str]] = []
    for entry in [entry for entry in labels if entry.size][:LOOKED_AT]:
        try:
            rows += [line.split() for line in listing.read(entry.path, MOST_BYTES).decode("latin-1").splitlines()]
        except ODD:
            continue
    rows = [row for row in rows if row]
    widths = {len(row) for row in rows}
    [width, *others] = widths or {0}
    seen = width > BOX and not others and all(_with_visible(row) is not row for row in rows)
    return ((width - BOX) // 3, 3) if seen else None


def _with_visible(row: list[str]) -> list[str]:
    """A line's numbers without those that say whether a key point is visible, 0, 1 or 2; the line itself if it has none."""
    beyond = row[BOX:]
    if beyond and len(beyond) % 3 == 0 and all(map(_SEEN.fullmatch, beyond[2::3])):
        return [*row[:BOX], *(number for i, number in enumerate(beyond) if i % 3 != 2)]
    return row


def _labels(listing: Listing, paths: list[str]) -> dict[str, Entry]:
    """The label files by the key of their image: those that look like it, empty ones, and damaged ones between them."""
    texts = [
        e
        for e in listing.entries
        if e.path.endswith(".txt") and e.kind in ("text", KIND, None) and not is_about(e.path)
    ]
    texts = [entry for entry in texts if entry.path.rsplit("/", 1)[-1] not in SIDE_FILES]
    keys = {key for path in paths if texts for key in (exact(path), key_of(path)[0])}
    beside = [entry for entry in texts if entry.kind == KIND or {exact(entry.path), key_of(entry.path)[0]} & keys]
    sure = [
        entry for entry in beside if entry.kind == KIND or (_announced(listing, entry) and _is_label(listing, entry))
    ]
    if not sure:
        return {}
    folders = {folder_of(entry.path) for entry in sure}
    empty = [entry for entry in texts if not entry.size]
    found = [*empty, *(entry for entry in beside if folder_of(entry.path) in folders), *sure]
    own = {exact(entry.path): entry for entry in found}
    return {**{key_of(entry.path)[0]: entry for entry in found if key_of(entry.path)[0] not in own}, **own}


def exact(path: str) -> str:
    """A key that tells ``a-1`` and ``a_1`` apart."""
    folder, _, name = path.rpartition("/")
    return f"{key_of(folder + '/x')[0].rpartition('/')[0]}/{name.rpartition('.')[0]}"


def _announced(listing: Listing, entry: Entry) -> bool:
    """Whether files of classes or settings, or the name of its folder, say that a text may be a label."""
    folder = folder_of(entry.path).lower().split("/")
    return "labels" in folder or any(e.kind == "YAML" or e.path.endswith(BESIDE) for e in listing.entries)


def _is_label(listing: Listing, entry: Entry) -> bool:
    try:
        return is_yolo(listing.head(entry.path).decode("latin-1"))
    except Unreadable:
        return False


def read_label(text: str, points: tuple[int, int] | None = None) -> Label:
    """``points``: how many key points follow each box, and of how many numbers each consists."""
    found = Label()
    for at, line in enumerate(text.splitlines(), 1):
        row = line.split()
        if not row:
            continue
        try:
            number, *values = map(float, row)
            if number != int(number) or abs(number) >= 1 << 31:
                raise ValueError("the class is not a whole number")
            box = _box(values, points)
        except (ValueError, OverflowError):
            found.wrong.append(f"line {at} is not a class and four numbers, or the corners of an outline: {line[:60]}")
            continue
        found.classes.append(int(number))
        found.boxes.append(box)
        found.outlines = found.outlines or is_outline(len(values), points)
    return found


def is_outline(values: int, points: tuple[int, int] | None = None) -> bool:
    """Whether so many numbers after the class are corners; if not, the first four are a box."""
    return values >= 6 and values % 2 == 0 and (points is None or values != 4 + math.prod(points))


def _box(values: list[float], points: tuple[int, int] | None) -> list[float]:
    """Left, top, right and bottom.

    Raises:
        ValueError: if there are fewer than four numbers, or a half is missing.
    """
    if is_outline(len(values), points):
        return around(values[::2], values[1::2])
    x, y, width, height = values[:4]
    return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]


def _settings(listing: Listing) -> tuple[dict[int, str], tuple[int, int] | None]:
    """The names of the classes by number, and the key points of an object, from the YAML file or a list of names."""
    import yaml  # type: ignore[import-untyped]  # its stubs are a package of their own

    for entry in listing.entries:
        if not 0 < entry.size <= MOST_BYTES or not (entry.kind == "YAML" or entry.path.endswith((".names", ".labels"))):
            continue
        try:
            text = listing.read(entry.path).decode()
            if entry.kind != "YAML":
                return dict(enumerate(line.strip() for line in text.splitlines() if line.strip())), None
            held = yaml.safe_load(text)
            names = _names(held)
            points: Any = held.get("kpt_shape") if isinstance(held, dict) else None
        except (*ODD, yaml.YAMLError):
            continue
        if names:
            both = isinstance(points, list) and len(points) == 2 and all(isinstance(n, int) for n in points)
            return names, (points[0], points[1]) if both else None
    return {}, None


def _names(held: Any) -> dict[int, str]:
    """``names``, a list or by number; else as many numbers as ``nc`` says."""
    names = held.get("names") if isinstance(held, dict) else None
    if isinstance(names, list):
        return {i: str(name) for i, name in enumerate(names)}
    if isinstance(names, dict):
        return {int(number): str(name) for number, name in names.items()}
    count = held.get("nc") if isinstance(held, dict) else None
    return {i: str(i) for i in range(min(count, MOST_CLASSES))} if isinstance(count, int) else {}


_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")


def is_yolo(text: str) -> bool:
    """Whether these lines, of which the last may be cut off, are those of a label file: a class and shares of the image."""
    lines = text.splitlines()
    whole = [line.split() for line in (lines[:-1] if len(lines) > 1 else lines) if line.strip()]
    if not whole or "." not in text:
        return False
    values = []
    for row in whole:
        if len(row) < 5 or not re.fullmatch(r"\d{1,5}(?:\.0*)?", row[0]) or not all(map(_NUMBER.fullmatch, row[1:])):
            return False
        values += [float(v) for v in _with_visible(row)[1:]]
    return 10 * sum(0 <= v <= 1 for v in values) >= 9 * len(values)
