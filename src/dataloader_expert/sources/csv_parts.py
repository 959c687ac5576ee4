"""The files of a table in text, and what their names, columns and folders say of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dataloader_expert.errors import escaped
from dataloader_expert.sources.arrow_columns import listed
from dataloader_expert.sources.base import Roles
from dataloader_expert.sources.dialects import Dialect
from dataloader_expert.sources.groups_in_names import WHOLE, group_of_files
from dataloader_expert.sources.label_names import label_by_name
from dataloader_expert.sources.layout import is_form, read_folders, tokens, without_shared_beginning
from dataloader_expert.sources.lines import Range
from dataloader_expert.sources.other_tables import QRELS, RELEVANCE, stem_of

_STEP = re.compile(r"\d+$")
MOST_NAMED = 10
"""The most files whose names are told as what they may say of their rows."""


@dataclass(frozen=True)
class Part:
    """A file, its split, and the ranges of its records."""

    path: str
    split: str | None
    dialect: Dialect
    ranges: list[Range]

    @property
    def names(self) -> Sequence[str]:
        return self.dialect.names

    @property
    def records(self) -> int:
        return sum(records for _, _, records in self.ranges)

    @property
    def named(self) -> bool:
        return self.dialect.header

    @property
    def written(self) -> tuple[Any, ...]:
        """How the file is written, as far as a plain reader must know it."""
        of = self.dialect
        return of.delimiter, of.remarks, of.header, of.short, bool(of.repeated), of.decimal

    def unlike(self, names: set[str]) -> bool:
        """Whether at most half of its and the table's columns are in both; the split of a table is part of it in any case.

        A template for predictions has the key and the label of another file.
        """
        if self.split is not None:
            return False
        mine = set(self.dialect.names)
        return self.form or 2 * len(mine & names) <= len(mine | names)

    @property
    def form(self) -> bool:
        return is_form(self.path)

    @property
    def stem(self) -> tuple[str, ...]:
        return stem_of(self.path)


def is_qrels(path: str, dialect: Dialect) -> bool:
    """Whether a file without a header is one of TREC's, which say what answers what is asked."""
    return not dialect.header and len(dialect.names) == len(QRELS) and bool({*tokens(path)} & RELEVANCE)


def is_renamed(part: Part, own: Sequence[Part]) -> bool:
    """Whether it is called unlike all files of the table, which are called alike, and its name tells no split."""
    stems = {other.stem for other in own}
    return len(stems) == 1 and part.stem not in stems and part.split is None


def is_another(part: Part, own: Sequence[Part], table: set[str]) -> bool:
    """Whether a file with other columns than those of a table (``own`` are its files) is that of another one, and no damaged part."""
    mine = set(part.names)
    if part.split is not None:  # a test split may be without most columns
        beside = any(other.split == part.split and other.stem != part.stem for other in own)
        return beside and 2 * len(mine & table) <= len(mine | table)
    apart = is_renamed(part, own)
    if len(mine) == len(table) and part.stem in {other.stem for other in own}:
        return False  # its header is damaged
    return part.unlike(table) or (apart and bool(mine - table) and bool(table - mine))


def classes_of(parts: Sequence[Part]) -> dict[str, str]:
    """The class of the rows of each file, where every file lies in a folder of a class with others that are called alike but for a
    number, as recordings are; else none.

    Columns may name a label themselves; and folders that are numbers, a value of a column (``year=2019``), or alike but for a number
    are years, parts or machines.
    """
    _, labels, names = read_folders([part.path for part in parts])
    sizes = Counter(labels)
    if not names or None in sizes or min(sizes.values()) < 2 or len({tuple(sorted(part.names)) for part in parts}) > 1:
        return {}
    called = {(label, re.sub(r"\d+", "", part.path)) for part, label in zip(parts, labels, strict=True)}
    alike = {re.sub(r"\d+", "", name) for name in names}
    if len(called) > len(names) or len(alike) < len(names) or any("=" in name or name.isdigit() for name in names):
        return {}
    if "label" in parts[0].names or label_by_name(parts[0].names)[0] is not None:
        return {}
    return {part.path: str(label) for part, label in zip(parts, labels, strict=True)}


def told_apart_by_names(parts: Sequence[Part]) -> str | None:
    """What is said of a few files of one folder with the same columns whose names are different words, as ``Fake.csv`` and ``True.csv``."""
    called = without_shared_beginning({part.path.rpartition("/")[2].partition(".")[0] for part in parts})
    words = all(re.fullmatch(r"[^\W\d_]+(?:[ _-]+[^\W\d_]+)*", name) for name in called.values())
    words = words and len({name[:-1] for name in called.values()}) > 1  # part_a, part_b: a letter alone is a number
    same = (
        len({part.path.rpartition("/")[0] for part in parts}) == len({tuple(sorted(part.names)) for part in parts}) == 1
    )
    if not 1 < len(called) == len(parts) <= MOST_NAMED or not words or not same or any(part.split for part in parts):
        return None
    names = [escaped(part.path.rpartition("/")[2], 40) for part in parts]
    both = " and ".join(names) if len(names) == 2 else listed(names)
    return f"{both} have the same columns, but no field says which file a row is from; if that is its class or source, add it as a column"


def by_files(roles: Roles, paths: Sequence[str]) -> Roles:
    """The roles, with each file as a group where no column is one."""
    return roles if roles.group is not None else replace(roles, group=group_of_files(paths), name_parts=WHOLE)


def steps_of(parts: Sequence[Part]) -> frozenset[str]:
    """The columns that hold the values of series of unequal length, ``V2``, ``V3`` and so on; a file has as many as its longest series."""
    names = dict.fromkeys(name for part in parts for name in part.names)
    [(stem, n)] = Counter(_STEP.sub("", name) for name in names).most_common(1)
    if 2 * n <= len(names) or not any(part.dialect.unequal for part in parts):
        return frozenset()
    return frozenset(name for name in names if _STEP.sub("", name) == stem and name != stem)
