"""Fields whose values name files, such as a table's column of images, and the files that they may name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dataloader_expert.sources.base import Block, Field
from dataloader_expert.sources.files import JUNK, Listing, is_about
from dataloader_expert.sources.magic import SUFFIXES
from dataloader_expert.sources.opened import below
from dataloader_expert.sources.roles import words

MOST_FILES = 1_000_000
LOOKED_AT = 200
"""Distinct values from which a field may be taken for file names."""
NEARLY_ALL = 0.9
_PATH = re.compile(r"[^\n\t<>|*?\"]{1,300}\.[A-Za-z0-9]{2,8}")


@dataclass
class FileNames:
    """The files below a folder, by file name."""

    folder: str
    paths: list[str] = field(default_factory=list)
    named: dict[str, list[int]] = field(default_factory=dict)
    stems: dict[str, list[int]] = field(default_factory=dict)
    """The same, without the suffix."""

    def __getstate__(self) -> dict[str, Any]:
        """Empty: every process has its own, and millions of names are not sent between processes."""
        return {"folder": self.folder, "paths": [], "named": {}, "stems": {}}

    def add(self, path: str) -> None:
        name = path.rsplit("/", 1)[-1]
        self.named.setdefault(name, []).append(len(self.paths))
        self.stems.setdefault(name.rsplit(".", 1)[0], []).append(len(self.paths))
        self.paths.append(path)

    def find(self, value: str, by_stem: bool) -> int | None:
        """The file that a value names, as a path from any folder on the way; None if there is none."""
        if by_stem:
            return next(iter(self.stems.get(value, ())), None)
        asked = "/" + value.replace("\\", "/").removeprefix("./").strip("/")
        for at in self.named.get(asked.rsplit("/", 1)[-1], ()):
            path = "/" + self.paths[at]
            if path.endswith(asked) or asked.endswith(path):
                return at
        return None


TEXTS = {"text", "json"}
"""Kinds of files of which each may have become a row."""


@dataclass(frozen=True)
class Naming:
    """A field that names files. ``by_stem``: without suffix; ``sure``: most of the values tried name a file."""

    field: str
    by_stem: bool
    sure: bool


@dataclass(frozen=True)
class References:
    """``lost``: fields whose values look like file names, none of which exists, with an example."""

    files: FileNames
    naming: tuple[Naming, ...] = ()
    lost: Mapping[str, str] = field(default_factory=dict)
    whole: bool = True
    """Whether all samples are looked at, so that a file that none of them names can be reported."""


def find_references(
    listing: Listing | None, blocks: Sequence[Block], fields: Iterable[Field], label: str | None, whole: bool
) -> References | None:
    """The fields that name files, judged from the first samples; None if none looks like it."""
    texts = [f.name for f in fields if f.kind in ("text", "category", "other") and f.name != label and not f.shape]
    values = {name: found for name in texts if (found := _distinct(name, blocks))}
    paths = {name for name, found in values.items() if sum(map(_is_path, found)) >= NEARLY_ALL * len(found)}
    if listing is None or not values:
        return None
    codes = {name for name in values.keys() - paths if _codes(values[name], name, blocks)}
    if not paths and not codes:
        return None
    naming: list[Naming] = []
    lost: dict[str, str] = {}
    for folder in _folders(listing):
        files = names_below(folder)
        naming, lost = [], {}
        for name in values:
            if name not in paths and name not in codes:
                continue
            there = sum(files.find(v, name in codes) is not None for v in values[name]) / len(values[name])
            if there >= 0.5 or (there and name in paths):
                naming.append(Naming(name, name in codes, there >= 0.5))
            elif name in paths and not _are_ids(name, values[name]):
                lost[name] = values[name][0]
        if naming:
            return References(files, tuple(naming), lost, whole)
    return References(FileNames(str(listing.base)), (), lost, whole) if lost else None


def names_below(folder: Path) -> FileNames:
    """All files below a folder except hidden ones and those that describe the data; links to folders are not followed."""
    found = FileNames(str(folder))
    for at, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        prefix = os.path.relpath(at, folder)
        for name in sorted(names):
            if len(found.paths) >= MOST_FILES:
                return found
            path = name if prefix == "." else f"{prefix}/{name}"
            if not name.startswith(".") and name not in JUNK and not is_about(path):
                found.add(path)
    return found


def _folders(listing: Listing) -> Iterable[Path]:
    """Where files may be: below the data's folder; of a single table also below the parent of its folder if that may be read, for others
    of the same data set may stand beside it. What is beside a folder that was named is another data set."""
    yield listing.base
    above = listing.base.resolve().parent
    if listing.single and below(str(above), listing.roots):
        yield above


def _distinct(name: str, blocks: Sequence[Block]) -> list[str]:
    found: dict[str, None] = {}
    for block in blocks:
        column = block.columns.get(name)
        values: Any = () if column is None else column.values
        for value in values.tolist() if hasattr(values, "tolist") else values:
            if isinstance(value, str) and value.strip():
                found[value] = None
            if len(found) >= LOOKED_AT:
                return list(found)
    return list(found)


def _is_path(value: str) -> bool:
    suffix = "." + value.rsplit(".", 1)[-1].lower()
    return suffix in SUFFIXES and "://" not in value and _PATH.fullmatch(value) is not None


def _are_ids(name: str, values: Sequence[str]) -> bool:
    """Whether a field called an id holds names of texts: each row is what such a file once held, as RACE's ``high1.txt``."""
    kinds = {SUFFIXES["." + value.rsplit(".", 1)[-1].lower()] for value in values if _is_path(value)}
    return words(name)[-1:] == ["id"] and kinds <= TEXTS


def _codes(values: Sequence[str], name: str, blocks: Sequence[Block]) -> bool:
    """Whether values may be file names without suffix: one word each, and hardly any twice."""
    rows = sum(len(b.columns[name]) for b in blocks if name in b.columns)
    distinct = 2 * len(values) >= min(rows, LOOKED_AT) and len(values) > 1
    return distinct and all(len(v) <= 200 and not re.search(r"\s", v) for v in values)
