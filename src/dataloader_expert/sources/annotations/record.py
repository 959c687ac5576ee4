"""What annotations say of the samples, and which file a name stands for."""

from __future__ import annotations

import contextlib
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from dataloader_expert.errors import Unreadable, escaped
from dataloader_expert.sources.base import Block, Column, Field, Objects, Unit
from dataloader_expert.sources.dialects import Dialect
from dataloader_expert.sources.files import MAX_DEPTH
from dataloader_expert.sources.layout import split_in_name
from dataloader_expert.sources.pairing import key_of

Row = dict[str, Any]
MOST_TOLD = 1_000
LOOKED_AT, NEARLY_ALL = 200, 0.9
"""First rows of a table or list, and the least share of them that must name files."""
DIGITS = 19
"""Names with as many digits are no numbers of classes."""
MOST_FIELDS = 1_000
FEWEST = 3
"""The fewest numbers that can lie apart."""
LONGEST = 4096
"""The longest path (PATH_MAX of Linux)."""
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


FOLDERS = "folders"
"""The kind of tables whose rows name the folders of samples."""
NAMELESS = re.compile(r"f\d+")
"""Columns of tables without a header."""


_ENDS = re.compile(rf"\d{{1,{DIGITS}}}\Z", re.ASCII)


def around(xs: Sequence[float], ys: Sequence[float]) -> list[float]:
    """The box around points: left, top, right and bottom."""
    return [min(xs), min(ys), max(xs), max(ys)]


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


@dataclass(frozen=True)
class Sides:
    """Columns that hold the sides of a box, and what else its row says.

    ``how``: ``corners`` or ``size``; ``dropped``: columns with the size of the image; ``kind``: the column with the class of the
    object, ``names`` what its numbers stand for, if it holds names; ``one_each``: no file has several rows.
    """

    how: str
    columns: tuple[str, ...]
    dropped: tuple[str, ...] = ()
    kind: str | None = None
    names: tuple[str, ...] = ()
    one_each: bool = False


@dataclass(frozen=True)
class Table:
    """A table that names files in its column ``naming``, without their suffix if ``by_stem``.

    ``paths``: the sample that each of its names stands for; ``lists``: the fields of which rows of one file differ; ``sides``:
    the columns that were made boxes; ``nested``: whether lists of objects were; ``named``: whether
    their classes are names; ``fields``: its other columns.
    """

    path: str
    kind: str
    naming: str
    by_stem: bool
    dialect: Dialect | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    lists: frozenset[str] = frozenset()
    sides: Sides | None = None
    named: bool = False
    nested: bool = False
    fields: tuple[str, ...] = ()


@dataclass
class Annotations:
    """``rows`` by the path of the sample; ``tables``: the files that they come from."""

    rows: dict[str, Row] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    joined: list[Table] = field(default_factory=list)
    """The tables that name files, in the order in which they were read."""
    each: dict[str, dict[str, str]] = field(default_factory=dict)
    """By kind, ``yolo``, ``voc``, ``labelme`` or ``supervisely``, the file of annotations of each sample."""
    by_line: dict[str, str] = field(default_factory=dict)
    """The text file of each sample that has an object in each line, in another style than YOLO's."""
    names: tuple[str, ...] = ()
    """What the numbers of classes stand for that have names in Pascal VOC's and LabelMe's files."""
    problems: list[Unreadable] = field(default_factory=list)
    negatives: bool = False
    """Whether a sample that is not annotated shows nothing."""
    may_be_empty: set[str] = field(default_factory=set)
    """Files of which one without a byte says that there is nothing."""
    objects: Objects | None = None
    """The field with the classes of the objects in each image."""
    key_points: int = 0
    """How many numbers of key points follow each box of YOLO."""
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Width and height of images, as annotations say."""
    images: bool = True
    """Whether the samples are images, which alone have boxes."""
    corners: bool = True
    """Whether ``boxes`` are known to be left, top, right and bottom."""
    uneven: bool = False
    """Whether tables without a header differ in their number of columns, so that equal names mean nothing."""
    outlines: bool = False
    """Whether outlines of objects are read as the boxes around them."""
    lists: list[str] = field(default_factory=list)
    """The files that list the samples of a split."""
    folds: str = ""
    """What is told of further lists that divide the samples in other ways."""
    said: list[str] = field(default_factory=list)
    """The fields of tables without a header that hold what a file says or shows."""
    clips: frozenset[str] = frozenset()
    """The names of folders that the lists of splits name, in place of the files in them."""
    class_of_clip: dict[str, str] = field(default_factory=dict)
    """The class of each of these folders, as the lists say it by a folder above."""
    further: dict[str, dict[str, str]] = field(default_factory=dict)
    """By column of a table the further file, which is no sample of its own, that the row of each sample names."""
    of_pairs: list[str] = field(default_factory=list)
    """The tables of which each row names several samples, which say nothing of one."""
    splits: dict[str, str] = field(default_factory=dict)
    """The split of each sample that a list, or a table called after a split, names."""

    def columns(self, paths: Sequence[str]) -> dict[str, Column]:
        """A column of each field, for these samples."""
        names = dict.fromkeys(name for row in self.rows.values() for name in row)
        return {name: column_of([self.rows.get(path, {}).get(name) for path in paths]) for name in names}

    def add_named(self, read: Mapping[str, tuple[list[list[float]], list[str]]]) -> None:
        """Boxes and the names of their classes, by the path of the sample; the names are numbered in their order."""
        import numpy as np

        called = sorted({name for _, of in read.values() for name in of}, key=_in_order)
        numbers = {name: i for i, name in enumerate(called)}
        if read:
            self.names, self.objects = tuple(numbers), Objects("classes", {i: name for name, i in numbers.items()})
        for path, (boxes, of) in read.items():
            classes = np.array([numbers[name] for name in of], np.int64)
            self.add(path, {"boxes": np.array(boxes, np.float64).reshape(-1, 4), "classes": classes})

    def divide(self, split: str, paths: Iterable[str]) -> None:
        """Says that these samples are in a split. One that an earlier list has put elsewhere stays there, and is told."""
        for path in paths:
            other = self.splits.setdefault(path, split)
            if other != split:
                self.problems.append(
                    Unreadable("splits-overlap", f"the lists of {other} and {split} both name it", file=path)
                )

    def add(self, path: str, row: Row) -> None:
        """What an earlier file said stays: a data set may hold the same boxes in several formats."""
        self.rows[path] = {**row, **self.rows.get(path, {})}


def _in_order(name: str) -> tuple[int, str]:
    """Numbers in their order, before them the other names."""
    return (int(name) if name.isascii() and name.isdigit() and len(name) < DIGITS else -1), name


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
        self.keys: dict[str, list[str]] = {}
        self.places: dict[tuple[str, str], list[str]] = {}
        """By key, and by folder and name without suffix: filled when first needed."""

    def find(self, value: str, by_stem: bool, folder: str = "") -> str | None:
        """``folder``: of the table, from which paths may begin; with its final slash."""
        if by_stem:
            found = self.stems.get(value, ())
            return found[0] if len(found) == 1 else None
        if len(value) > LONGEST:
            return None
        asked = value.replace("\\", "/").removeprefix("./").strip("/")
        if folder + asked in self.whole:
            return folder + asked
        parts = asked.split("/")
        for at in range(max(0, len(parts) - MAX_DEPTH), len(parts)):
            if (path := "/".join(parts[at:])) in self.whole:
                return path
        found = self.named.get(parts[-1], ())
        return _the_one(found, asked) or _nearest([p for p in found if f"/{p}".endswith(f"/{asked}")], folder)

    def nearest(self, name: str, path: str) -> str | None:
        """Of the files called so the one that shares more folders with a path than the others do: in each project or split, numbers in
        names begin again."""
        return _nearest(self.named.get(name, ()), path)

    def numbered(self) -> dict[int, str]:
        """The files by the number that their names end in, if no two end in the same: 42 is ``COCO_train2014_000000000042.jpg``."""
        found: dict[int, str] = {}
        for stem, paths in self.stems.items():
            digits = _ENDS.search(stem)
            if digits is not None and found.setdefault(int(digits[0]), paths[0]) != paths[0]:
                return {}
        return found

    def meant(self, value: str, folder: str = "") -> str | None:
        """The same for a path or a name of which it is unknown whether it has its suffix."""
        found = self.find(value, False, folder)
        if found is not None or len(value) > LONGEST:
            return found
        asked = value.replace("\\", "/").removeprefix("./").strip("/")
        name = asked.rpartition("/")[2]
        return _the_one(self.stems.get(name, ()), asked, bare=True)

    def beside(self, path: str) -> str | None:
        """The file called like an annotation: the one beside it, else the only one, else the one in the folder of the same name, else the
        only one in folders of the same split, else the nearest."""
        folder, name = folder_of(path), path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        name = name if name in self.stems else name.removeprefix("gt_")
        found = self.stems.get(name, ())
        if len(found) < 2:
            return found[0] if found else None
        if not self.keys:
            for one in self.paths:
                at = folder_of(one), one.rsplit("/", 1)[-1].rsplit(".", 1)[0]
                self.places.setdefault(at, []).append(one)
                self.keys.setdefault(key_of(one)[0], []).append(one)
        beside = self.places.get((folder, name), ())
        if len(beside) == 1:
            return beside[0]
        parts = key_of(f"{folder}/{name}.x")[0].split("/")
        alike = [one for i in range(len(parts)) for one in self.keys.get("/".join(parts[i:]), ())]
        alike = alike or [one for one in found if _split_around(one) == _split_around(path) is not None]
        return alike[0] if len(alike) == 1 else _nearest(found, path)

    def several(self, path: str) -> bool:
        """Whether several files are called like an annotation, so that it may be of any of them."""
        name = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        return len(self.stems.get(name, self.stems.get(name.removeprefix("gt_"), ()))) > 1


def folds_told(n: int, first: str) -> str:
    """What is told where samples are divided in several ways."""
    return f"there are lists of {n} folds: the splits are those of the first, as {escaped(first)} says; the others are not read"


def _split_around(path: str) -> str | None:
    """The one split that words in the names of a file's folders tell, whatever else they say."""
    found = {split for folder in path.split("/")[:-1] if (split := split_in_name(f"{folder}.")) is not None}
    return found.pop() if len(found) == 1 else None


def _nearest(found: Sequence[str], path: str) -> str | None:
    """The one of them that shares more folders with a path than the others do; None if none shares any."""
    own = path.split("/")[:-1]
    shared = {one: _shared(one.split("/")[:-1], own) for one in found}
    most = max(shared.values(), default=0)
    nearest = [one for one, n in shared.items() if n == most]
    return nearest[0] if len(nearest) == 1 and (most or len(found) == 1) else None


def _shared(folders: Sequence[str], others: Sequence[str]) -> int:
    """How many of the outer folders are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, others, strict=False)))


def _the_one(found: Sequence[str], asked: str, bare: bool = False) -> str | None:
    """The only one; of several, the only one whose path ends so. ``bare``: without its suffix."""
    if len(found) > 1:
        found = [p for p in found if f"/{p.rpartition('.')[0] if bare else p}".endswith("/" + asked)]
    return found[0] if len(found) == 1 else None


def scattered(numbers: Sequence[str]) -> bool:
    """Whether numbers lie apart: at most every tenth of those between the least and the greatest is among them."""
    known = {int(n) for n in numbers}
    return len(known) >= FEWEST and 10 * len(known) <= max(known) - min(known)


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
    absent = np.array([v is None for v in values], bool)
    plain = all(isinstance(v, str) for v in there)
    return Column(
        _alike([_listed(v) if isinstance(v, list) else v for v in values]), absent if plain and absent.any() else None
    )


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
    from dataloader_expert.sources.table_fields import field_of

    return [field_of(name, column) for name, column in columns.items()]


def block_of(columns: dict[str, Column], n: int) -> Block:
    """All rows as one block, by which their roles are found."""
    return Block(Unit(0, "", 0, n, 0), columns)
