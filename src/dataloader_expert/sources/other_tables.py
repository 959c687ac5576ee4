"""Files of one folder that hold another table than that of the samples, such as a list of passages beside queries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from dataloader_expert.conclusions import number
from dataloader_expert.errors import Aside
from dataloader_expert.sources.arrow_columns import listed
from dataloader_expert.sources.files import Entry
from dataloader_expert.sources.layout import SPLITS
from dataloader_expert.sources.roles import words


class Stemmed(Protocol):
    """A table in a file of a split."""

    @property
    def stem(self) -> tuple[str, ...]: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def split(self) -> str | None: ...
    @property
    def records(self) -> int: ...


COLLECTION, ASKED = {"corpus", "passages", "documents", "docs", "collection"}, {"queries", "questions", "topics"}
"""Words of the names of files with what is searched, and with what is asked of it."""
RELEVANCE = {"qrels", "qrel"}
"""Words of the names of TREC's files, which say what of a collection answers what is asked of it."""
QRELS = ("query_id", "iteration", "docid", "relevance")
"""The columns of these files, which have no header."""
SIZES = {"small", "large", "full", "tiny"}
LOOKED_AT = 1000
"""Records of a file from which its keys are known."""
NEARLY_ALL = 0.95
"""The share of a file's records that have a key which is not optional."""
LEAST = 0.1
"""The share of all rows below which many files are lists beside the samples, such as those of classes."""


class Held(Protocol):
    """A file of records."""

    @property
    def path(self) -> str: ...
    @property
    def names(self) -> Sequence[str]: ...


def aside(part: Held, kept: Sequence[Held], what: str = "table", key: str | None = None) -> Aside:
    """What is told of a file with another table than the kept ones. ``key``: the column by which several of their rows name one of its."""
    more = f" and {number(len(kept) - 1, 'more file')}" if len(kept) > 1 else ""
    text = f"another table, with the columns {listed(part.names)}: not read; the samples are the rows of {kept[0].path}{more}"
    join = "" if key is None else f"; several of them belong to each of its rows: join it by {key} to use its columns"
    return Aside(what, f"{text}{join}", file=part.path)


def all_aside(parts: Sequence[Held], kept: Sequence[Held]) -> list[Aside]:
    """What is told of the files that are not kept."""
    held = {part.path for part in kept}
    return [aside(part, kept) for part in parts if part.path not in held]


def without_folds(tables: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """A table and its folds, where the bytes of files that are called alike but for what follows the full stop add up to its own, as
    ``u1.base`` and ``u1.test`` of ``u.data``; else all files, and none."""
    largest = max(tables, key=lambda entry: entry.size, default=None)
    folds: dict[str, list[Entry]] = {}
    for entry in tables:
        if entry is not largest:
            folds.setdefault(entry.path.rpartition(".")[0], []).append(entry)
    sizes = {sum(entry.size for entry in of) if len(of) > 1 else 0 for of in folds.values()}
    if largest is None or sizes != {largest.size}:
        return list(tables), []
    return [largest], [entry for of in folds.values() for entry in of]


def folds_aside(folds: Iterable[Entry]) -> list[Aside]:
    text = "a fold: it holds a part of the rows that are read"
    return [Aside("table", text, file=entry.path) for entry in folds]


def stem_of(path: str) -> tuple[str, ...]:
    """The words of a file's name, which parts of one table share: ``part`` of ``part-00003.csv``; without those of its split, however
    large."""
    said = words(path.rsplit("/", 1)[-1])
    return tuple(w for w in said if not w.isdigit() and w not in SPLITS and w not in SIZES)


P = TypeVar("P", bound=Stemmed)


def without_other_stems(parts: Sequence[P]) -> list[P]:
    """The files of one stem, the one with most rows, where several stand in two splits and more and have columns of their own each: ``news``
    and ``behaviors`` of a training and a development split. All files elsewhere. A split may lack columns, such as the label, or write
    their names with other marks."""
    columns: dict[tuple[str, ...], list[frozenset[str]]] = {}
    splits: dict[tuple[str, ...], set[str]] = {}
    rows: Counter[tuple[str, ...]] = Counter()
    for part in parts:
        columns.setdefault(part.stem, []).append(frozenset(re.sub(r"[\W_]", "", name.lower()) for name in part.names))
        rows[part.stem] += part.records
        if part.split is not None:
            splits.setdefault(part.stem, set()).add(part.split)
    widest = {stem: max(names, key=len) for stem, names in columns.items() if len(splits.get(stem, ())) > 1}
    whole = {
        stem: all(of <= widest[stem] and 2 * len(of) > len(widest[stem]) for of in columns[stem]) for stem in widest
    }
    if len({widest[stem] for stem in whole if whole[stem]}) < 2:
        return list(parts)
    kept = max(filter(whole.__getitem__, whole), key=lambda stem: (bool({*stem} & RELEVANCE), rows[stem], stem))
    return [part for part in parts if part.stem == kept]


@dataclass(frozen=True)
class Keys:
    """The keys of a file's records: all, sorted, and those that are not optional."""

    names: tuple[str, ...]
    usual: frozenset[str]
    searched: bool | None = None
    """Whether the file's name says that it is searched; False: that it has what is asked; None: neither."""

    @classmethod
    def of(cls, records: Iterable[dict[str, Any]], path: str) -> Keys:
        found: Counter[str] = Counter()
        n = 0
        for record in records:
            found.update(record.keys())
            n += 1
        said = set(words(path.rsplit("/", 1)[-1]))
        searched = None if bool(said & COLLECTION) == bool(said & ASKED) else bool(said & COLLECTION)
        return cls(
            tuple(sorted(found)), frozenset(k for k, times in found.items() if times >= NEARLY_ALL * n), searched
        )

    def unlike(self, other: Keys) -> bool:
        """Whether at most half of the keys are in both, optional ones apart, and each has some that the other never has; of a collection
        and what is asked of it, whether any key differs."""
        mine, theirs = set(self.names), set(other.names)
        common = mine & theirs
        if None not in (self.searched, other.searched) and self.searched != other.searched:
            return bool(self.usual - theirs or other.usual - mine)
        apart = self.usual - theirs, other.usual - mine
        return all(apart) and 2 * len(common) <= len(common | self.usual | other.usual)


@dataclass(frozen=True)
class Records:
    """A file of records, its split, its keys, and how many records it has."""

    path: str
    split: str | None
    keys: Keys
    records: int

    @property
    def names(self) -> Sequence[str]:
        return self.keys.names


def of_one_table(parts: Sequence[Records]) -> list[Records]:
    """The files that hold the samples: those of splits, else those whose keys most files have, else those with most rows."""
    kinds: Counter[Keys] = Counter()  # rows
    files: Counter[Keys] = Counter()
    for part in parts:
        if part.names:
            kinds[part.keys] += part.records
            files[part.keys] += 1
    if len(kinds) < 2:
        return list(parts)
    chosen = {part.keys for part in parts if part.split is not None and part.names}
    groups: list[set[Keys]] = []
    for keys in kinds:
        if not any(keys in group for group in groups):
            groups.append(_with_alike({keys}, kinds))
    if chosen and not _in_several_splits(parts, groups):
        chosen = _with_alike(chosen, kinds)
    else:
        total = sum(kinds.values())
        rows = [sum(kinds[keys] for keys in group) for group in groups]
        held = [
            sum(files[keys] for keys in group) if n >= LEAST * total else 0
            for group, n in zip(groups, rows, strict=True)
        ]
        chosen = groups[max(range(len(groups)), key=lambda i: (held[i], rows[i]))]
    return [part for part in parts if not part.names or part.keys in chosen]


def _in_several_splits(parts: Sequence[Records], groups: Sequence[set[Keys]]) -> bool:
    """Whether files of unlike keys stand in the same splits, two and more each, as the configurations of a collection do."""
    splits = [{part.split for part in parts if part.keys in group} - {None} for group in groups]
    return sum(len(of) > 1 for of in splits) > 1


def _with_alike(chosen: set[Keys], kinds: Iterable[Keys]) -> set[Keys]:
    """These and all that are alike to one of them, or to one that is."""
    found, new = set(chosen), set(chosen)
    while new:
        new = {keys for keys in kinds if keys not in found and any(not keys.unlike(one) for one in new)}
        found |= new
    return found
