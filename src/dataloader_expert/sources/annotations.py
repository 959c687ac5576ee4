"""Tables next to images or recordings that say something of each file: its label, its split, its boxes.

A table annotates the files below its own folder if one of its columns names them, with or without suffix. JSON may be a list of
objects or in the format of COCO (Lin et al., "Microsoft COCO: Common Objects in Context", 2014). Several rows of one file become
lists. YOLO's and Pascal VOC's files, one for each image, are read too. Boxes become left, top, right and bottom, [n, 4], in pixels,
YOLO's in shares of the image.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.base import Block, Column, Field, Unit
from dataloader_expert.sources.dialects import sniff_dialect
from dataloader_expert.sources.files import SIDE_FILES, Entry, Listing, is_about
from dataloader_expert.sources.pairing import key_of
from dataloader_expert.sources.plain import NULLS
from dataloader_expert.sources.references import FileNames

Row = dict[str, Any]
MOST_BYTES, MOST_XML = 1 << 28, 1 << 22
VOC = "XML (Pascal VOC annotations)"
NEARLY_ALL = 0.9
"""The least share of a column's first values that name files."""
LOOKED_AT = 200
MOST_TOLD = 1_000


@dataclass
class Annotations:
    """``rows`` by the path of the sample; ``tables``: the files that they come from."""

    rows: dict[str, Row] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    problems: list[Unreadable] = field(default_factory=list)
    negatives: bool = False
    """Whether a sample that is not annotated shows nothing."""

    def columns(self, paths: Sequence[str]) -> dict[str, Column]:
        """A column of each field, for these samples."""
        names = dict.fromkeys(name for row in self.rows.values() for name in row)
        return {name: column_of([self.rows.get(path, {}).get(name) for path in paths]) for name in names}


def annotations_of(listing: Listing, samples: Iterable[Entry]) -> Annotations:
    """What the tables of a listing say of its samples."""
    found = Annotations()
    paths = [entry.path for entry in samples]
    _join_yolo(found, listing, paths)
    _join_voc(found, listing, paths)
    for entry in listing.entries:
        read = READERS.get(entry.kind or "")
        name = entry.path.rsplit("/", 1)[-1]
        if read is None or entry.size > MOST_BYTES or is_about(entry.path) or name in SIDE_FILES:
            continue
        folder = entry.path[: -len(name)]
        below = [path for path in paths if path.startswith(folder)] or paths  # a folder for annotations alone
        try:
            rows = read(listing.read(entry.path))
        except (Unreadable, ValueError, RecursionError):  # as a damaged table it is no annotation
            continue
        files = FileNames("")
        for path in below:
            files.add(path)
        naming = _naming(rows, files)
        if naming is not None:
            _join(found, entry.path, rows, *naming, files)
    folders = {_folder(path) for path in found.rows}
    without = [path for path in paths if path not in found.rows and _folder(path) in folders]
    if not found.negatives and 2 * len(without) < len(found.rows):
        tables = escaped(found.tables[0]) if len(found.tables) == 1 else "any table of annotations"
        found.problems += [Unreadable("missing-pair", f"has no row in {tables}", file=p) for p in without[:MOST_TOLD]]
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _join_yolo(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """YOLO's label files: a box a line, its class and its centre, width and height as shares of the image. An image without a
    file, or with an empty one, shows nothing."""
    labels = {key_of(e.path)[0]: e for e in listing.entries if e.kind == "YOLO label"}
    if not labels:
        return
    labels |= {
        key_of(e.path)[0]: e for e in listing.entries if not e.size and e.path.endswith(".txt") and not is_about(e.path)
    }
    for path in paths:
        entry = labels.get(key_of(path)[0])
        if entry is None:
            continue
        rows = [
            line.split() for line in listing.read(entry.path).decode("utf-8", "replace").splitlines() if line.strip()
        ]
        try:
            inside = [[float(x) for x in row[1:5]] for row in rows]
            boxes = [corners_of([x - w / 2, y - h / 2, w, h]) for x, y, w, h in inside]
            classes = [int(row[0]) for row in rows]
        except (ValueError, IndexError):
            found.problems.append(Unreadable("parse-error", "a line is not a class and four numbers", file=entry.path))
            boxes, classes = [], []
        _add(found, path, {"boxes": boxes, "classes": classes})
        found.tables.append(entry.path)
        found.negatives = True
    if found.negatives:
        found.tables += [entry.path for entry in listing.entries if entry.kind == "YAML"]


def _join_voc(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Pascal VOC's files: XML, one for each image, its boxes as corners in pixels and their classes by name, here numbered."""
    entries = [entry for entry in listing.entries if entry.kind == VOC and entry.size <= MOST_XML]
    files = FileNames("")
    for path in paths if entries else ():
        files.add(path)
    read: dict[str, tuple[list[list[float]], list[str]]] = {}
    for entry in entries:
        stem = entry.path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        at = files.find(stem, True)
        if at is None:
            continue
        found.tables.append(entry.path)
        try:
            read[files.paths[at]] = _objects(listing.read(entry.path))
        except (Unreadable, ValueError, ElementTree.ParseError) as e:
            found.problems.append(
                Unreadable("parse-error", f"is no Pascal VOC annotation: {escaped(e, 120)}", file=entry.path)
            )
    names = sorted({name for _, of in read.values() for name in of})
    for path, (boxes, of) in read.items():
        _add(found, path, {"boxes": boxes, "classes": [names.index(name) for name in of]})


def _objects(data: bytes) -> tuple[list[list[float]], list[str]]:
    if b"\0" in data or b"<!" in data.replace(b"<!--", b""):  # entities, which may expand without end
        raise ValueError("it declares a document type")
    boxes, names = [], []
    for one in ElementTree.fromstring(data).iter("object"):  # without entities
        box = one.find("bndbox")
        sides = [None if box is None else box.findtext(side) for side in ("xmin", "ymin", "xmax", "ymax")]
        boxes.append([float(side) if side else float("nan") for side in sides])
        names.append((one.findtext("name") or "").strip())
    return boxes, names


def _add(found: Annotations, path: str, row: Row) -> None:
    """What an earlier table said stays: a data set may hold the same boxes in several formats."""
    found.rows[path] = {**row, **found.rows.get(path, {})}


def _naming(rows: list[Row], files: FileNames) -> tuple[str, bool] | None:
    """The column that names files, and whether it does so without their suffix."""
    for name in dict.fromkeys(name for row in rows[:LOOKED_AT] for name in row):
        values = [row.get(name) for row in rows[:LOOKED_AT]]
        texts = [str(v) for v in values if isinstance(v, str | int) and not isinstance(v, bool)]
        for by_stem in (False, True):
            if texts and sum(files.find(v, by_stem) is not None for v in texts) >= NEARLY_ALL * len(values):
                return name, by_stem
    return None


def _join(found: Annotations, table: str, rows: list[Row], name: str, by_stem: bool, files: FileNames) -> None:
    grouped: dict[str, list[Row]] = {}
    lost = []
    for row in rows:
        value = row.get(name)
        at = None if value is None else files.find(str(value), by_stem)
        if at is None:
            lost.append(value)
        else:
            grouped.setdefault(files.paths[at], []).append({k: v for k, v in row.items() if k != name})
    several = any(len(of) > 1 for of in grouped.values())
    for path, of in grouped.items():
        row = {k: [r.get(k) for r in of] for k in of[0]} if several else of[0]
        _add(found, path, row)
    found.tables.append(table)
    for value in lost[:MOST_TOLD]:
        text = f"names {escaped(str(value), 80)}, which is not there"
        found.problems.append(Unreadable("dangling-reference", text, file=table, field=name))


def corners_of(box: Any) -> list[float]:
    """Left, top, right and bottom of a box that is given by its left, top, width and height; NaN if it is none."""
    try:
        x, y, width, height = map(float, box)
    except (TypeError, ValueError):
        return [float("nan")] * 4
    return [x, y, x + width, y + height]


def column_of(values: list[Any]) -> Column:
    """A column of numbers, if all values that are there are such; else of the values themselves, lists of numbers as arrays."""
    import numpy as np

    there = [v for v in values if v is not None]
    if there and all(isinstance(v, int | float) for v in there):
        dtype = np.result_type(*{np.dtype(type(v)) for v in there})
        absent = np.array([v is None for v in values], bool)
        with contextlib.suppress(OverflowError):  # beyond 64 bits
            made = np.array([0 if v is None else v for v in values], dtype)
            return Column(made, absent if absent.any() else None)
    return Column([_listed(v) if isinstance(v, list) else v for v in values])


def _listed(value: list[Any]) -> Any:
    """An array if it is a list of numbers, or of equally long lists of numbers."""
    import numpy as np

    try:
        made = np.array(value)
    except ValueError:  # ragged
        return value
    return made if made.dtype.kind in "biuf" else value


def described(columns: Mapping[str, Column]) -> list[Field]:
    from dataloader_expert.sources.tables import field_of

    return [field_of(name, column) for name, column in columns.items()]


def block_of(columns: dict[str, Column], n: int) -> Block:
    """All rows as one block, by which their roles are found."""
    return Block(Unit(0, "", 0, n, 0), columns)


def _separated(data: bytes) -> list[Row]:
    text = data.decode("utf-8-sig", "replace")
    dialect = sniff_dialect(data[: 256 << 10], ",;\t|", len(data) <= 256 << 10)
    file = io.StringIO(text, newline="")
    try:
        if dialect.quoted:
            lines = list(csv.reader(file, delimiter=dialect.delimiter))
        else:
            lines = list(csv.reader(file, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE))
    except csv.Error as e:
        raise ValueError(str(e)) from None
    rows = [line for line in lines if line][dialect.header :]
    columns = [_typed([row[i] if i < len(row) else "" for row in rows]) for i in range(len(dialect.names))]
    return [dict(zip(dialect.names, values, strict=True)) for values in zip(*columns, strict=True)]


def _typed(cells: list[str]) -> list[Any]:
    """Numbers if all cells that are not empty are such."""
    for convert in (int, float):
        try:
            return [None if cell in NULLS else convert(cell) for cell in cells]
        except ValueError:
            continue
    return [None if cell in NULLS else cell for cell in cells]


def _lines(data: bytes) -> list[Row]:
    rows = [json.loads(line) for line in data.splitlines() if line.strip()]
    return [row for row in rows if isinstance(row, dict)]


def _json(data: bytes) -> list[Row]:
    found = json.loads(data)
    if isinstance(found, dict) and isinstance(found.get("images"), list) and isinstance(found.get("annotations"), list):
        return _coco(found)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _coco(found: dict[str, Any]) -> list[Row]:
    """An image a row: its boxes, [n, 4], and the numbers of their categories."""
    of: dict[Any, list[dict[str, Any]]] = {}
    for one in found["annotations"]:
        if isinstance(one, dict):
            of.setdefault(one.get("image_id"), []).append(one)
    rows = []
    for image in found["images"]:
        if not isinstance(image, dict) or "file_name" not in image:
            continue
        own = of.get(image.get("id"), [])
        row: Row = {"file_name": image["file_name"]}  # the image itself says how large it is
        if any("bbox" in one for one in own) or not own:
            row["boxes"] = [corners_of(one.get("bbox")) for one in own]
        if all(isinstance(one.get("category_id"), int) for one in own):
            row["categories"] = [one["category_id"] for one in own]
        if own and "caption" in own[0]:
            row = {"file_name": image["file_name"], "caption": str(own[0]["caption"])}
        rows.append(row)
    return rows


READERS: dict[str, Callable[[bytes], list[Row]]] = {
    "csv": _separated,
    "tsv": _separated,
    "jsonl": _lines,
    "json": _json,
}
