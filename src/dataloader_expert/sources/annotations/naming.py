"""Which column of a table of annotations names files, and which files: those of the samples, of pairs, or further ones of each."""

from __future__ import annotations

import bisect

from dataloader_expert.sources.annotations.coco import Images
from dataloader_expert.sources.annotations.record import LOOKED_AT, NEARLY_ALL, Names, Row, Table, scattered
from dataloader_expert.sources.layout import read_folders
from dataloader_expert.sources.roles import words

NAMING = {
    *[
        "id",
        "ids",
        "file",
        "filename",
        "fname",
        "image",
        "img",
        "name",
        "path",
        "picture",
        "photo",
        "audio",
        "clip",
        "key",
    ]
}
"""Words of a column whose whole numbers may name files; others may be counts or classes."""
BARE = "text"
"""The kind of tables without a header."""
FEWEST = 3
"""The fewest values by name that are rows."""
RECURRING = 0.95
"""The largest share of rows that may name a file for the first time where files recur."""


class Sought:
    """The files that the tables of a folder may name."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = sorted(paths)
        self.splits = dict(zip(paths, read_folders(paths)[0], strict=True))
        self.known: dict[tuple[str, str | None], Names] = {}

    def below(self, folder: str, split: str | None) -> Names:
        """Those below it; if none are, as in a folder for annotations, all; of these, those in a folder of the split."""
        first, last = (bisect.bisect_left(self.paths, end) for end in (folder, folder + chr(0x10FFFF)))
        at = (folder if last > first else "", split)
        if at not in self.known:
            below = self.paths[first:last] or self.paths
            own = [path for path in below if split is not None and self.splits[path] == split]
            self.known[at] = Names(own or below)
        return self.known[at]


def naming_of(rows: list[Row], files: Names, folder: str) -> tuple[str, bool] | None:
    """The column that names most files, and whether it does so without their suffix.

    Whole numbers name files only where the column is called so, and most of the files have one; or where each is that of a file
    and they do not follow one another, as counters do.
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
            called = set(words(name)) & NAMING and 2 * distinct >= min(len(some), len(files.paths))
            if numbers and not called and not (len(there) == distinct == len(texts) and scattered(texts)):
                continue
            if best is None or distinct > best[0]:
                best = distinct, name, by_stem
    return None if best is None else best[1:]


def numbering(rows: list[Row], files: Names) -> str | None:
    """The column that names most files by the number that their names end in, as ``image_id`` of questions about COCO's images."""
    some = rows[:LOOKED_AT]
    for name in dict.fromkeys(name for row in some for name in row):
        numbers = {row[name] for row in some if isinstance(row.get(name), int) and not isinstance(row.get(name), bool)}
        if {"id", "number"} & set(words(name)) and set(words(name)) & (NAMING - {"id"}) and len(numbers) >= FEWEST:
            if len(numbers & files.numbered().keys()) >= NEARLY_ALL * len(numbers):
                return name
    return None


def names_pairs(rows: list[Row], table: Table, files: Names, folder: str) -> bool:
    """Whether each row names two samples, as pairs of images that match or not do: files recur in the column that names them, and
    another column names others of them."""
    some = rows[:LOOKED_AT]
    if isinstance(rows, Images) or len(some) < FEWEST:
        return False
    first = [files.find(str(row.get(table.naming)), table.by_stem, folder) for row in some]
    if len(set(first)) > RECURRING * len(first):
        return False
    for name in some[0].keys() - {table.naming}:
        texts = [value if isinstance(value := row.get(name), str) else "" for row in some]
        if all(not text or text.isdigit() for text in texts):
            continue
        other = [files.find(text, table.by_stem, folder) for text in texts]
        apart = sum(b is not None and a != b for a, b in zip(first, other, strict=True))
        if apart >= NEARLY_ALL * len(some):
            return True
    return False


def further_files(rows: list[Row], table: Table, files: Names, folder: str) -> dict[str, dict[str, str]]:
    """By column the further files that rows name beside one of each, as those of the cameras at both sides of a car: no row of another
    column is of such a file."""
    if isinstance(rows, Images) or len(rows) < FEWEST or (table.kind == BARE and table.by_stem):
        return {}
    own = [files.find(str(row.get(table.naming)), table.by_stem, folder) for row in rows]
    found: dict[str, dict[str, str]] = {}
    for name in rows[0].keys() - {table.naming}:
        texts = [value.strip() if isinstance(value := row.get(name), str) else "" for row in rows]
        paths = [files.find(text, table.by_stem, folder) if text and not text.isdigit() else None for text in texts]
        there = {path for path in paths if path is not None}
        if len(there) >= NEARLY_ALL * len(rows) and not there & {*own}:
            # of a row whose own file is lost the further file is none either
            found[name] = {one or other: other for one, other in zip(own, paths, strict=True) if other is not None}
    return found
