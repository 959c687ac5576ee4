"""Tables next to images or recordings that say something of each file: its label, its split, its boxes.

A table annotates the files below its own folder (all, where it lies in a folder without any) if one of its columns names them,
with or without suffix. JSON may be a list of objects or in the format of COCO (Lin et al., "Microsoft COCO: Common Objects in
Context", 2014). Values of several rows of one file become lists where they differ. YOLO's and Pascal VOC's files, one for each
image, are read too. Boxes of these three become left, top, right and bottom, float64 [n, 4], in pixels, YOLO's in shares of the
image; those of a table stay as they are.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.base import Block, Column, Field, Unit
from dataloader_expert.sources.dialects import Dialect, sniff_dialect
from dataloader_expert.sources.files import SIDE_FILES, Entry, Listing, is_about
from dataloader_expert.sources.pairing import key_of
from dataloader_expert.sources.plain import NULLS
from dataloader_expert.sources.roles import words

Row = dict[str, Any]
MOST_BYTES, MOST_XML = 1 << 26, 1 << 22
MOST_CELLS, MOST_FIELDS = 10_000_000, 1_000
VOC, YOLO = "XML (Pascal VOC annotations)", "YOLO label"
NEARLY_ALL = 0.9
"""The least share of a column's first values that name files."""
LOOKED_AT = 200
NAMING = {"id", "ids", "file", "filename", "image", "img", "name", "path", "picture", "photo", "audio", "clip", "key"}
"""Words of a column whose whole numbers may name files; others may be counts or classes."""
MOST_TOLD = 1_000
MARKS = ",;\t|"
"""What may separate the values of a table."""
ODD = (
    Unreadable,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
    ElementTree.ParseError,
)
"""What a file that is damaged, or well-formed but no annotation, may raise."""
_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d*)")
_NUMBER = re.compile(r"[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_DECLARES = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


class Images(list[Row]):
    """Rows of a file in COCO's format."""


@dataclass(frozen=True)
class Table:
    """A table that names files in its column ``naming``, without their suffix if ``by_stem``.

    ``paths``: the sample that each of its names stands for; ``lists``: the fields of which rows of one file differ.
    """

    path: str
    kind: str
    naming: str
    by_stem: bool
    dialect: Dialect | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    lists: frozenset[str] = frozenset()


@dataclass
class Annotations:
    """``rows`` by the path of the sample; ``tables``: the files that they come from."""

    rows: dict[str, Row] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    joined: list[Table] = field(default_factory=list)
    """The tables that name files, in the order in which they were read."""
    each: dict[str, dict[str, str]] = field(default_factory=dict)
    """By kind, ``yolo`` or ``voc``, the file of annotations of each sample."""
    names: tuple[str, ...] = ()
    """What the numbers of Pascal VOC's classes stand for."""
    problems: list[Unreadable] = field(default_factory=list)
    negatives: bool = False
    """Whether a sample that is not annotated shows nothing."""

    def columns(self, paths: Sequence[str]) -> dict[str, Column]:
        """A column of each field, for these samples."""
        names = dict.fromkeys(name for row in self.rows.values() for name in row)
        return {name: column_of([self.rows.get(path, {}).get(name) for path in paths]) for name in names}

    def add(self, path: str, row: Row) -> None:
        """What an earlier file said stays: a data set may hold the same boxes in several formats."""
        self.rows[path] = {**row, **self.rows.get(path, {})}


class Names:
    """Files by what may name them: a path from any folder on the way, or the name with or without its suffix. A name that several
    files have names none of them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = list(paths)
        self.whole = set(self.paths)
        self.named: dict[str, list[str]] = {}
        self.stems: dict[str, list[str]] = {}
        for path in self.paths:
            name = path.rsplit("/", 1)[-1]
            self.named.setdefault(name, []).append(path)
            self.stems.setdefault(name.rsplit(".", 1)[0], []).append(path)

    def find(self, value: str, by_stem: bool, folder: str = "") -> str | None:
        """``folder``: of the table, from which paths may begin; with its final slash."""
        if by_stem:
            found = self.stems.get(value, ())
            return found[0] if len(found) == 1 else None
        asked = value.replace("\\", "/").removeprefix("./").strip("/")
        if folder + asked in self.whole:
            return folder + asked
        parts = asked.split("/")
        for at in range(len(parts)):
            if (path := "/".join(parts[at:])) in self.whole:
                return path
        found = self.named.get(parts[-1], ())
        alike = [path for path in found if path.endswith("/" + asked)] if len(found) > 1 else found
        return alike[0] if len(alike) == 1 else None


def annotations_of(listing: Listing, samples: Iterable[Entry]) -> Annotations:
    """What the tables of a listing say of its samples."""
    found = Annotations()
    paths = [entry.path for entry in samples]
    _join_yolo(found, listing, paths)
    _join_voc(found, listing, paths)
    of: dict[str, Names] = {}
    for entry in listing.entries:
        read = READERS.get(entry.kind or "")
        name = entry.path.rsplit("/", 1)[-1]
        if read is None or not 0 < entry.size <= MOST_BYTES or is_about(entry.path) or name in SIDE_FILES:
            continue
        folder = entry.path[: -len(name)]
        try:
            large = entry.size > HEAD and entry.kind != "json"  # the beginning of which tells nothing
            few = read(listing.head(entry.path, HEAD), True) if large else read(listing.read(entry.path), False)
            if not few:
                continue
            if folder not in of:
                below = [path for path in paths if path.startswith(folder)]
                of[folder] = Names(below or paths)  # a folder for annotations alone
            naming = naming_of(few, of[folder], folder)
            if naming is not None:
                rows = read(listing.read(entry.path), False) if large else few
                if read is _separated:
                    rows = typed(rows, naming[0])
                dialect = None
                if read is _separated:
                    dialect = sniff_dialect(listing.head(entry.path, HEAD), MARKS, entry.size <= HEAD)
                kind = "coco" if isinstance(rows, Images) else str(entry.kind)
                table = Table(entry.path, kind, *naming, dialect=dialect)
                _join(found, table, rows, of[folder], folder)
        except ODD:
            continue
    folders = {_folder(path) for path in found.rows}
    without = [path for path in paths if path not in found.rows and _folder(path) in folders]
    if not found.negatives and 2 * len(without) < len(found.rows):  # of more, they are left unlabelled on purpose
        tables = escaped(found.tables[0]) if len(found.tables) == 1 else "any table of annotations"
        found.problems += [Unreadable("missing-pair", f"has no row in {tables}", file=p) for p in without[:MOST_TOLD]]
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def naming_of(rows: list[Row], files: Names, folder: str) -> tuple[str, bool] | None:
    """The column that names most files, and whether it does so without their suffix.

    Whole numbers name files only where the column is called so, and most of the files have one.
    """
    best: tuple[int, str, bool] | None = None
    some = rows[:LOOKED_AT]
    for name in dict.fromkeys(name for row in some for name in row):
        texts = [str(v) for row in some if isinstance(v := row.get(name), str | int) and not isinstance(v, bool)]
        for by_stem in (False, True):
            there = [path for v in texts if (path := files.find(v, by_stem, folder)) is not None]
            if len(there) < NEARLY_ALL * len(some):
                continue
            distinct = len(set(there))
            numbers = by_stem and all(v.isdigit() for v in texts)
            if numbers and not (set(words(name)) & NAMING and 2 * distinct >= min(len(some), len(files.paths))):
                continue
            if best is None or distinct > best[0]:
                best = distinct, name, by_stem
    return None if best is None else best[1:]


def _join(found: Annotations, table: Table, rows: list[Row], files: Names, folder: str) -> None:
    grouped: dict[str, list[Row]] = {}
    paths: dict[str, str] = {}
    lost: Counter[str] = Counter()
    for row in rows:
        value = row.get(table.naming)
        path = None if value is None else files.find(str(value), table.by_stem, folder)
        if path is None:
            lost["" if value is None else str(value)] += 1
        else:
            grouped.setdefault(path, []).append(row)
            paths[str(value)] = path
    fields = [field for field in dict.fromkeys(field for row in rows for field in row) if field != table.naming]
    if len(fields) > MOST_FIELDS:
        return
    several = {
        field
        for of in grouped.values()
        if len(of) > 1
        for field in fields
        if not _agree([r[field] for r in of if field in r])
    }
    for path, of in grouped.items():
        values = {field: [r[field] for r in of if field in r] for field in fields}
        found.add(path, {f: v if f in several else v[0] for f, v in values.items() if v})
    found.tables.append(table.path)
    found.joined.append(replace(table, paths=paths, lists=frozenset(several)))
    for value, n in lost.most_common(MOST_TOLD):
        what = f"names {escaped(value, 80)}, which is not there" if value else "names no file in a row"
        again = f" ({n} rows)" if n > 1 else ""
        found.problems.append(Unreadable("dangling-reference", what + again, file=table.path, field=table.naming))


def _agree(values: list[Any]) -> bool:
    return all(value == values[0] for value in values)


def _join_yolo(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """YOLO's label files: a box a line, its class and its centre, width and height as shares of the image. An image without a
    file, or with an empty one, shows nothing."""
    import numpy as np

    labels = {key_of(e.path)[0]: e for e in listing.entries if e.kind == YOLO}
    if not labels:
        return
    empty = [e for e in listing.entries if not e.size and e.path.endswith(".txt") and not is_about(e.path)]
    labels = {**{key_of(e.path)[0]: e for e in empty}, **labels}
    found.negatives = True
    of = found.each.setdefault("yolo", {})
    for path in paths:
        entry = labels.get(key_of(path)[0])
        boxes: list[list[float]] = []
        classes: list[int] = []
        if entry is not None:
            found.tables.append(entry.path)
            of[path] = entry.path
            try:
                rows = [line.split() for line in listing.read(entry.path).decode().splitlines() if line.strip()]
                boxes = [_corners(*map(float, row[1:5])) for row in rows]
                classes = [int(row[0]) for row in rows]
            except ODD:
                found.problems.append(
                    Unreadable("parse-error", "a line is not a class and four numbers", file=entry.path)
                )
                boxes, classes = [], []
        found.add(path, {"boxes": np.array(boxes, np.float64).reshape(-1, 4), "classes": np.array(classes, np.int64)})
    found.tables += [entry.path for entry in listing.entries if entry.kind == "YAML"]


def _corners(x: float, y: float, width: float, height: float) -> list[float]:
    """Left, top, right and bottom of a box that is given by its centre and its size."""
    return [x - width / 2, y - height / 2, x + width / 2, y + height / 2]


def _join_voc(found: Annotations, listing: Listing, paths: list[str]) -> None:
    """Pascal VOC's files: XML, one for each image, its boxes as corners in pixels and their classes by name, here numbered."""
    import numpy as np

    entries = [entry for entry in listing.entries if entry.kind == VOC and entry.size <= MOST_XML]
    files = Names(paths if entries else ())
    read: dict[str, tuple[list[list[float]], list[str]]] = {}
    for entry in entries:
        path = _image_of(entry.path, files)
        if path is None:
            continue
        found.tables.append(entry.path)
        found.each.setdefault("voc", {})[path] = entry.path
        try:
            read[path] = _objects(listing.read(entry.path))
        except ODD as e:
            text = f"is no Pascal VOC annotation: {escaped(e, 120)}"
            found.problems.append(Unreadable("parse-error", text, file=entry.path))
    numbers = {name: i for i, name in enumerate(sorted({name for _, of in read.values() for name in of}))}
    found.names = tuple(numbers)
    for path, (boxes, of) in read.items():
        classes = np.array([numbers[name] for name in of], np.int64)
        found.add(path, {"boxes": np.array(boxes, np.float64).reshape(-1, 4), "classes": classes})


def _image_of(path: str, files: Names) -> str | None:
    """The image with the annotation's name: the one beside it, else the only one, else the one in the folder of the same name."""
    folder, name = _folder(path), path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    found = files.stems.get(name, [])
    beside = [p for p in found if _folder(p) == folder]
    if len(beside or found) == 1:
        return (beside or found)[0]
    key = key_of(path)[0]
    alike = [p for p in found if f"/{key}".endswith("/" + key_of(p)[0])]
    return alike[0] if len(alike) == 1 else None


def _objects(data: bytes) -> tuple[list[list[float]], list[str]]:
    if b"\0" in data:
        raise ValueError("it is not UTF-8")
    if _DECLARES.search(data):  # entities may expand without end
        raise ValueError("it declares a document type")
    boxes, names = [], []
    for one in ElementTree.fromstring(data).iter("object"):
        box = one.find("bndbox")
        sides = [None if box is None else box.findtext(side) for side in ("xmin", "ymin", "xmax", "ymax")]
        boxes.append([float(side) if side else float("nan") for side in sides])
        names.append((one.findtext("name") or "").strip())
    return boxes, names


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
    return Column(_alike([_listed(v) if isinstance(v, list) else v for v in values]))


def _listed(value: list[Any]) -> Any:
    """An array if it is a list of numbers, or of equally long lists of numbers."""
    import numpy as np

    try:
        made = np.array(value)
    except (ValueError, OverflowError):  # ragged
        return value
    return made if made.dtype.kind in "biuf" else value


def _alike(values: list[Any]) -> list[Any]:
    """Empty lists with the dtype and the further axes of the others; where all others are lists, a sample without rows has one."""
    import numpy as np

    first = next((v for v in values if isinstance(v, np.ndarray) and v.size), None)
    if first is None:
        return values
    blank = np.zeros((0, *first.shape[1:]), first.dtype)
    lists = all(v is None or isinstance(v, np.ndarray) for v in values)
    return [blank if (v is None and lists) or (isinstance(v, np.ndarray) and not v.size) else v for v in values]


def described(columns: Mapping[str, Column]) -> list[Field]:
    from dataloader_expert.sources.tables import field_of

    return [field_of(name, column) for name, column in columns.items()]


def block_of(columns: dict[str, Column], n: int) -> Block:
    """All rows as one block, by which their roles are found."""
    return Block(Unit(0, "", 0, n, 0), columns)


def typed(rows: list[Row], name: str) -> list[Row]:
    """The rows with texts as numbers in columns of nothing else, but for the column ``name``; codes such as 007 stay texts."""
    for column in dict.fromkeys(key for row in rows[:LOOKED_AT] for key in row):
        cells = [row[column] for row in rows if column in row]
        if column == name or not all(isinstance(cell, str | None) for cell in cells):
            continue
        there = [cell for cell in cells if cell is not None]
        for pattern, convert in ((_WHOLE, int), (_NUMBER, float)):
            if there and all(pattern.fullmatch(cell) for cell in there):
                for row in rows:
                    if row.get(column) is not None:
                        row[column] = convert(row[column])
                break
    return rows


def _separated(data: bytes, cut: bool) -> list[Row]:
    """Rows of texts. ``cut``: these are the first bytes of more."""
    text = data.decode("utf-8-sig", "replace")
    if cut:
        text = text[: text.rfind("\n") + 1]
    dialect = sniff_dialect(data[:HEAD], MARKS, len(data) <= HEAD)
    if text.count("\n") * len(dialect.names) > MOST_CELLS:
        raise ValueError("too large for annotations")
    file = io.StringIO(text, newline="")
    try:
        if dialect.quoted:
            lines = list(csv.reader(file, delimiter=dialect.delimiter))
        else:
            lines = list(csv.reader(file, delimiter=dialect.delimiter, quoting=csv.QUOTE_NONE))
    except csv.Error as e:
        raise ValueError(str(e)) from None
    rows = [line for line in lines if line][dialect.header :]
    return [
        {name: None if cell in NULLS else cell for name, cell in zip(dialect.names, row, strict=False)} for row in rows
    ]


def _lines(data: bytes, cut: bool) -> list[Row]:
    lines = data.splitlines()[: -1 if cut else None]
    rows = [json.loads(line) for line in (lines[:LOOKED_AT] if cut else lines) if line.strip()]
    return [row for row in rows if isinstance(row, dict)]


def _json(data: bytes, cut: bool) -> list[Row]:
    found = json.loads(data)
    if isinstance(found, dict) and isinstance(found.get("images"), list) and isinstance(found.get("annotations"), list):
        return _coco(found)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _coco(found: dict[str, Any]) -> list[Row]:
    """An image a row: its boxes, [n, 4], and the numbers of their categories, or its captions."""
    import numpy as np

    of: dict[Any, list[dict[str, Any]]] = {}
    for one in found["annotations"]:
        if isinstance(one, dict) and isinstance(one.get("image_id"), int | str):
            of.setdefault(one["image_id"], []).append(one)
    rows = Images()
    captions = any("caption" in one for own in of.values() for one in own[:1])
    single = all(len(own) == 1 for own in of.values())
    for image in found["images"]:
        if not isinstance(image, dict) or not isinstance(image.get("file_name"), str):
            continue
        own = of.get(image.get("id"), []) if isinstance(image.get("id"), int | str) else []
        row: Row = {"file_name": image["file_name"]}  # the image itself says how large it is
        if captions:
            texts = [str(one.get("caption")) for one in own]
            row["caption"] = texts[0] if single and texts else texts
        else:
            row["boxes"] = np.array([_box(one.get("bbox")) for one in own], np.float64).reshape(-1, 4)
            row["categories"] = np.array(
                [c if isinstance(c := one.get("category_id"), int) else -1 for one in own], np.int64
            )
        rows.append(row)
    return rows


def _box(box: Any) -> list[float]:
    """Left, top, right and bottom of a box that is given by its left, top, width and height; NaN if it is none."""
    try:
        x, y, width, height = map(float, box)
    except (TypeError, ValueError, OverflowError):
        return [float("nan")] * 4
    return [x, y, x + width, y + height]


HEAD = 1 << 18
"""The first bytes of a table, which tell whether it names files."""
READERS: dict[str, Callable[[bytes, bool], list[Row]]] = {
    "csv": _separated,
    "tsv": _separated,
    "jsonl": _lines,
    "json": _json,
}
