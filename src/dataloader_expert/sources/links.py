"""Fields whose values are keys of another table of the folder, such as the zones of trips, and the keys that there are."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dataloader_expert.errors import Aside, RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Column, Field, Source
from dataloader_expert.sources.company import TABLES
from dataloader_expert.sources.roles import words

MOST_ROWS = 1_000_000
"""Rows of a table from which on its keys are not held."""
MOST_TABLES = 8
FEWEST = 20
"""Different values of a field from which on it may be said to refer to a table."""
MOSTLY, SOME = 0.9, 0.5
"""The share of the first values that must be keys for a field to be looked at; of one that is called as the keys are."""
UNIQUE = 0.98
"""The share of a table's rows that must have keys of their own: some may be there twice by mistake."""
UNIQUE_IDS = 0.9
"""The same, of a column whose name says nothing but that it is an id."""
ID_WORDS = {"id", "ids", "key", "keys", "code", "codes", "idx", "index", "no", "name", "uid", "uuid"}
AMOUNTS = {"n", "num", "number", "count", "counts", "total", "max", "min", "avg", "mean", "sum", "rank", "age", "size"}
"""Words of fields whose whole numbers are amounts, which may look like keys by chance."""
_CODE = re.compile(r"(?=.*[^A-Za-z\s])(?=.*[^\d\s])\S{2,100}")
Key = str | int
Plain = str | float | None
"""A value as it is compared with that of another table."""
MOST_BESIDE, MOST_HELD = 8, 100_000
"""Columns of a table that are compared, and rows up to which they are."""


@dataclass
class Keys:
    """The values of a column in which nearly each is one row's."""

    file: str
    column: str
    values: frozenset[Key]
    repeated: int = 0
    """Rows whose key an earlier row has."""
    rows: tuple[Key, ...] = ()
    beside: Mapping[str, tuple[Plain, ...]] = field(default_factory=dict)
    """The key of each row, and the values there of other columns that the samples have under the same name."""

    def __getstate__(self) -> dict[str, Any]:
        """Empty: every process has its own, and millions of keys are not sent between processes."""
        told = {"file": self.file, "column": self.column, "repeated": self.repeated}
        return {**told, "values": frozenset(), "rows": (), "beside": {}}


@dataclass(frozen=True)
class Link:
    """A field that refers to the keys of a table."""

    field: str
    keys: Keys
    sure: bool = False
    """Whether both its name and its values, which are codes, suggest it: either does alone."""
    same: bool = False
    """Whether the table's keys have its name: it refers to them, however many of its values they lack."""


def find_links(source: Source, blocks: Sequence[Block], readers: Iterable[type[Source]] = ()) -> tuple[Link, ...]:
    """The fields that refer to tables that were set aside, judged from the first samples; ``readers``: those of tables of other formats."""
    listing = getattr(source, "listing", None)
    told = {p.where.get("file"): p.what for p in source.problems if isinstance(p, Aside)}
    by_kind = {reader.format: reader for reader in readers if reader.format in TABLES}
    aside = {
        e.path: type(source) if told[e.path] == "table" else by_kind[str(e.kind)]
        for e in (listing.entries if listing is not None else ())
        if e.path in told and (told[e.path] == "table" or e.kind in by_kind)
    }
    if listing is None or not aside:
        return ()
    own = {role.field for role in source.roles.keys} if source.roles is not None else set()
    blocks = [*blocks, *_of_splits(source, {block.unit.split for block in blocks})]
    found = {f.name: values for f in source.fields if f.name not in own and (values := _first(f, blocks))}
    best: dict[str, tuple[tuple[bool, float], Link]] = {}
    for entry in [e for e in listing.entries if e.path in aside][:MOST_TABLES]:
        alone = replace(listing, entries=[entry], problems=[], single=True)
        for keys in _keys_of(aside[entry.path], alone, entry.path, {f.name for f in source.fields}):
            for name, values in found.items():
                there = max(sum(value in keys.values for value in of) / len(of) for of in values)
                fits = names_fit(name, keys.column, entry.path)
                codes = sum(map(is_code, values[0])) >= MOSTLY * len(values[0])
                same = name == keys.column and bool({*words(name)} & ID_WORDS)
                if there < (SOME if same or (fits and codes) else MOSTLY) or not (fits or codes):
                    continue
                link = Link(name, keys, fits and codes, same)
                best[name] = max(best.get(name, ((False, 0.0), link)), ((fits, there), link), key=lambda of: of[0])
    return tuple(link for _, link in best.values())


def names_fit(field: str, column: str, path: str) -> bool:
    """Whether a field is called after the things that a table lists by this column: ``pickup_zone`` after ``zone_id``."""
    said = words(field)
    if {*said} & AMOUNTS:
        return False
    table = words(path.rpartition("/")[2].rpartition(".")[0])
    thing = _thing(said)
    return thing is not None and thing == (_thing(words(column)) or _thing(table))


def _thing(said: Sequence[str]) -> str | None:
    """The last word that is neither a number nor one for an identifier, in the singular."""
    rest = [w for w in said if w not in ID_WORDS and not w.isdigit()]
    if not rest:
        return None
    word = rest[-1]
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s")


def is_code(value: Key) -> bool:
    """Whether it is a text in one piece that is neither a word nor a number."""
    return isinstance(value, str) and _CODE.fullmatch(value) is not None


def keys_in(column: Column) -> list[list[Key]]:
    """The keys that each sample's value consists of: itself, or those of a list; none of other values."""
    values = column.values
    if hasattr(values, "dtype"):
        if values.dtype.kind not in "iuf" or values.ndim > 2:
            return [[] for _ in range(len(values))]
        rows = (values if values.ndim == 2 else values.reshape(-1, 1)).tolist()
        nulls = column.nulls.tolist() if column.nulls is not None else [False] * len(rows)
        return [[] if null else _whole(row) for row, null in zip(rows, nulls, strict=True)]
    return [_of_value(value) for value in values]


def counted_keys(column: Column, samples: int) -> dict[Key, int]:
    """How often each key occurs in these first samples."""
    import numpy as np

    values = column.values
    if hasattr(values, "dtype") and values.dtype.kind in "iu" and values.ndim == 1 and column.nulls is None:
        found, counts = np.unique(values[:samples], return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))
    if isinstance(values, list) and len(values) == samples and all(v is None or isinstance(v, str) for v in values):
        return {text: n for text, n in column.texts.items() if text.strip()}
    return Counter(key for keys in keys_in(column)[:samples] for key in keys)


def _of_value(value: Any) -> list[Key]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    if hasattr(value, "dtype"):
        return _whole(value.ravel().tolist()) if value.dtype.kind in "iuf" else []
    if isinstance(value, list):
        return [v for v in value if isinstance(v, str) and v.strip()]
    return [value] if type(value) is int else []


def _whole(numbers: Iterable[Any]) -> list[Key]:
    return [int(v) for v in numbers if v == v and abs(v) < 1 << 53 and v == int(v)]


def _of_splits(source: Source, seen: set[str | None]) -> Iterable[Block]:
    """The first block of each split that has not been seen: one split may be numbered differently from the others."""
    for unit in source.units:
        if unit.split not in seen:
            seen.add(unit.split)
            with contextlib.suppress(Unreadable):
                yield source.peek(unit)


def _first(field: Field, blocks: Sequence[Block]) -> list[set[Key]]:
    """The different values among the first samples, and those of each block; none if they are few, or no keys."""
    if field.kind in ("image", "mask", "audio", "time", "embedding", "boolean", "bytes") or len(field.shape) > 1:
        return []
    found: list[set[Key]] = []
    for block in blocks:
        column = block.columns.get(field.name)
        if column is None or column.time:
            continue
        array = column.array
        if array is not None and array.dtype.kind == "f" and bool((array % 1 > 0).any()):
            return []  # measured
        found.append({key for keys in keys_in(column) for key in keys})
        if any(isinstance(key, str) and len(key) > 200 for key in found[-1]):
            return []
    every = set().union(*found)
    return [every, *(of for of in found if FEWEST <= len(of) < len(every))] if len(every) >= FEWEST else []


def plain_values(column: Column, samples: int) -> list[Plain]:
    """Numbers, texts without blanks around them, and None for what is neither."""
    values = column.values[:samples]
    if hasattr(values, "dtype"):
        if values.ndim != 1 or values.dtype.kind not in "iufb":
            return [None] * samples
        absent = column.nulls.tolist() if column.nulls is not None else [False] * samples
        return [None if null or v != v else float(v) for v, null in zip(values.tolist(), absent, strict=False)]
    return [(v.strip() or None) if isinstance(v, str) else None for v in values]


def _keys_of(reader: type[Source], listing: Any, path: str, names: Collection[str] = ()) -> list[Keys]:
    """The columns of a table in which nearly all values differ, as texts or whole numbers; ``names``: those of the samples' fields."""
    found: dict[str, list[Key]] = {}
    beside: dict[str, list[Plain]] = {}
    rows = 0
    with contextlib.suppress(Unreadable, RequestError):
        other = reader.open(listing, SourceRef(str(listing.base), listing.roots))
        if other.samples > MOST_ROWS:
            return []
        for unit in other.units:
            block = other.decode(unit, other.read(unit))
            rows += block.samples
            for name, column in block.columns.items():
                flat = not hasattr(column.values, "ndim") or column.values.ndim == 1
                if flat and not column.time:
                    found.setdefault(name, []).extend(key for keys in keys_in(column) for key in keys)
                if flat and name in names and other.samples <= MOST_HELD:
                    beside.setdefault(name, []).extend(plain_values(column, block.samples))
        if rows != other.samples:
            return []
    distinct = {name: frozenset(values) for name, values in found.items() if len(values) == rows >= FEWEST}
    whole = [name for name, values in beside.items() if len(values) == rows][: MOST_BESIDE + 1]

    def others(key: str) -> dict[str, tuple[Plain, ...]]:
        return {name: tuple(beside[name]) for name in whole if name != key}

    return [
        Keys(path, name, keys, rows - len(keys), tuple(found[name]) if others(name) else (), others(name))
        for name, keys in distinct.items()
        if len(keys) >= (UNIQUE_IDS if {*words(name)} <= ID_WORDS else UNIQUE) * rows
    ]
