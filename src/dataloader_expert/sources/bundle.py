"""Sources of files with named arrays (NPZ, .pt, safetensors): shards of many samples, or one sample per file."""

from __future__ import annotations

import itertools
import json
import zipfile
import zlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import NothingReadable, RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources import row_splits
from dataloader_expert.sources.arrays import (
    OFFSETS,
    Header,
    Part,
    array_field,
    merge_shapes,
    modality_of,
    parts_of,
    values_in,
)
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit, runs
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.label_names import is_no_class, label_by_name
from dataloader_expert.sources.layout import BY_FOLDER, read_folders
from dataloader_expert.sources.samples import spread

SPLIT = "split"
"""The field of what arrays such as ``train_mask`` say of each sample."""
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
"""What ``zipfile`` raises on damaged or hostile archives and members."""

DRAWN = 128
"""Values of which one comes again if they are classes."""
FEW = 20
"""Of fewer samples, the classes of all may differ."""


class Bundle(Source):
    """A member defines how a file's arrays are read: ``headers`` (cheap, without payload where possible) and ``load``."""

    listing: Listing
    only: frozenset[str] | None = None
    """The requested fields; None: all."""

    def __init__(self) -> None:
        super().__init__()
        self.unread: dict[str, str] = {}
        """Arrays that are known and no field, and why."""
        self.coordinates: frozenset[str] = frozenset()
        """Fields that say where along an axis a sample is, and no label of it."""

    def read_only(self, names: Sequence[str]) -> None:
        self.only = frozenset(names)

    def wants(self, name: str) -> bool:
        return self.only is None or name in self.only

    def narrowed(self, part: Part) -> Part:
        """The part, with the requested fields only."""
        arrays, ragged = (tuple(pair for pair in pairs if self.wants(pair[0])) for pairs in (part.arrays, part.ragged))
        members = part.members if self.wants(SPLIT) else ()
        return replace(part, arrays=arrays, ragged=ragged, members=members)

    @abstractmethod
    def headers(self, entry: Entry) -> dict[str, Header]: ...

    @abstractmethod
    def load(self, unit: Unit, raw: Any) -> dict[str, Any]:
        """All arrays in the unit's file, by name."""

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        entries = listing.of(cls.kinds)
        if not entries:
            raise RequestError("format-unknown", f"no {cls.format} files were found; pass another folder or format=")
        source = cls()
        source.listing = listing
        source.files, source.bytes = len(entries), sum(e.size for e in entries)
        seen: dict[str, tuple[Part, ...] | None] = {}
        known: dict[str, dict[str, Header]] = {}
        for entry in spread(entries, 8):
            source._look(entry, known, seen)
        if not known:
            first = source.problems[0] if source.problems else None
            why = first.told() if first else "no arrays"
            text = f"no file of {cls.format} could be read ({why}): write them again, or pass another source"
            raise NothingReadable(text, source.problems)
        shards = sum(p is not None for p in seen.values()) * 2 > len(seen)
        if shards and (one_sample_each(known, entries) or in_no_file_equal(seen)):
            shards = False
        if shards:
            for entry in entries:
                if entry.path not in seen:
                    source._look(entry, known, seen)
            entries = source.joined(entries, known, seen)
            source._as_shards(entries, seen)
            source._unequal(known, seen)
        else:
            source._as_samples(entries)
        source._fields(known, seen if shards else None)
        source.classes = declared_classes(listing)
        return source

    def _look(
        self, entry: Entry, known: dict[str, dict[str, Header]], seen: dict[str, tuple[Part, ...] | None]
    ) -> None:
        try:
            headers = self.headers(entry)
        except Unreadable as problem:
            problem.where.setdefault("file", entry.path)
            self.problems.append(problem)
            return
        known[entry.path] = headers
        alone, name = self.files == 1, entry.path.rsplit("/", 1)[-1]
        parts = parts_of(headers, name, alone)
        if parts and parts[0].members and not self._are_divided(entry, parts[0]):
            parts = parts_of(headers, name, alone, divided=False)
        seen[entry.path] = parts

    def _are_divided(self, entry: Entry, part: Part) -> bool:
        """Whether the arrays of splits have values that say which rows are in each; records what is wrong with them."""
        only = replace(part, arrays=(), offsets=None, ragged=())
        unit = Unit(0, entry.path, 0, part.samples, entry.size, None, None, (only, 0))
        try:
            found = row_splits.problems_of(part, self.load(unit, self.read(unit)), entry.path)
        except Unreadable:  # told when its samples are read
            return True
        self.problems += found or []
        return found is not None

    def joined(
        self, entries: list[Entry], known: dict[str, dict[str, Header]], seen: dict[str, tuple[Part, ...] | None]
    ) -> list[Entry]:
        """The shards; a format whose files may hold fields of the same rows returns the first of these, with all their arrays."""
        return entries

    def _as_shards(self, entries: list[Entry], seen: Mapping[str, tuple[Part, ...] | None]) -> None:
        folders, _, _ = read_folders([e.path for e in entries])
        units: list[Unit] = []
        start = 0
        for entry, folder in zip(entries, folders, strict=True):
            for part in seen.get(entry.path) or ():
                units.append(
                    Unit(len(units), entry.path, start, part.samples, entry.size, part.split or folder, None, (part,))
                )
                start += part.samples
        self.units = tuple(units)
        self.sharding = f"{len(entries)} shard{'s' * (len(entries) != 1)} of up to {max((u.samples for u in units), default=0)} samples"

    def _unequal(self, known: Mapping[str, Mapping[str, Header]], seen: Mapping[str, tuple[Part, ...] | None]) -> None:
        """Records arrays of unequal length, and those that are fields in other shards but too long or too short to be one here."""
        for path, parts in seen.items():
            self.problems += [problem for part in parts or () if (problem := part.unequal(path)) is not None]
        held = Counter(name for parts in seen.values() for part in parts or () for name, _ in part.arrays)
        for path, parts in seen.items():
            rows = {key: shape[0] for key, (_, shape) in known[path].items() if shape}
            if not parts and held.keys() <= rows.keys() and len({*rows.values()}) > 1:
                text = "its arrays do not have one row per sample: " + ", ".join(
                    f"{k} has {n}" for k, n in rows.items()
                )
                self.problems.append(Unreadable("length-mismatch", text, file=path))
            of = [part for part in parts or () if part.samples > 1]
            used = set().union(*(part.keys for part in of))
            for key, (_, shape) in known[path].items() if of else ():
                if key not in used and shape:  # single values describe the file
                    self.unread.setdefault(key, f"its shape is {[*shape]}, with no row for each sample; it is not read")
            for part in parts or () if len(seen) > 1 else ():
                fields = {name for name, _ in (*part.arrays, *part.ragged)}
                for name in sorted(known[path].keys() - fields - {part.offsets}):
                    if held[name] * 2 > len(seen):
                        text = f"{name} has {known[path][name][1][0]} rows, the others {part.samples}"
                        self.problems.append(Unreadable("length-mismatch", text, file=path, field=name))

    def _as_samples(self, entries: list[Entry]) -> None:
        splits, labels, names = read_folders([e.path for e in entries])
        self.units = tuple(
            Unit(i, e.path, i, 1, e.size, s, label)
            for i, (e, s, label) in enumerate(zip(entries, splits, labels, strict=True))
        )
        self.sharding = "one file per sample"
        if names:
            self.label, self.label_how = "label", BY_FOLDER

    def _may_be_label(self, name: str, shapes: Mapping[str, list[tuple[str, tuple[int | None, ...]]]]) -> bool:
        """Whether the one number of each sample may be its class by its name and its dtype: of some values, one comes again."""
        if "f" in shapes[name][0][0] or not self.samples or is_no_class(name):
            return False
        units = [self.units[i] for i in runs(len(self.units), DRAWN).tolist()]
        found: set[Any] = set()
        for value in itertools.islice(values_in(self, name, units), DRAWN):
            if (plain := value.item() if hasattr(value, "item") else value) in found:
                return True
            found.add(plain)
        return len(found) <= FEW

    def _fields(
        self, known: Mapping[str, Mapping[str, Header]], seen: Mapping[str, tuple[Part, ...] | None] | None
    ) -> None:
        shapes: dict[str, list[tuple[str, tuple[int | None, ...]]]] = {}
        for path, headers in known.items():
            if seen is None:
                for name, (dtype, shape) in headers.items():
                    shapes.setdefault(name, []).append((dtype, shape))
                continue
            for part in seen[path] or ():
                for name, key in part.arrays:
                    shapes.setdefault(name, []).append((headers[key][0], headers[key][1][1:]))
                for name, key in part.ragged:
                    shapes.setdefault(name, []).append((headers[key][0], (None, *headers[key][1][1:])))
        if self.label is None:
            scalars = [n for n, s in shapes.items() if s[0][1] == () and n not in self.coordinates]
            self.label, self.label_how = label_by_name(scalars)
            if self.label is None and len(scalars) == 1 and len(shapes) > 1 and self._may_be_label(scalars[0], shapes):
                self.label = scalars[0]
                self.label_how = "guessed: the only scalar array besides the data; pass label= if it is another"
        fields = [
            array_field(
                name,
                Counter(d for d, _ in given).most_common(1)[0][0],
                merge_shapes([s for _, s in given]),
                name == self.label,
            )
            for name, given in shapes.items()
        ]
        if self.label is not None and self.label not in shapes:
            fields.append(Field(self.label, "category", "str"))
        if any(part.members for parts in (seen or {}).values() for part in parts or ()):
            fields.append(Field(SPLIT, "category", "str"))
            self.of_few = frozenset({SPLIT})
        self.fields = tuple(fields)
        self.modality = modality_of(self.fields, self.label)

    def read(self, unit: Unit) -> Any:
        return self.listing.read(unit.file)

    def decode(self, unit: Unit, raw: Any) -> Block:
        arrays = self.load(unit, raw)
        if not unit.at:
            columns = {
                name: Column([value]) if value.ndim else Column(value.reshape(1)) for name, value in arrays.items()
            }
            if unit.label is not None and "label" not in columns:
                columns["label"] = Column([unit.label])
            return Block(unit, columns, (raw,) if isinstance(raw, bytes) else ())
        part, *first = unit.at
        return Block(unit, cut(self.narrowed(part), arrays, unit.file, *first))


def one_sample_each(known: Mapping[str, Mapping[str, Header]], entries: list[Entry]) -> bool:
    """Whether each file is one sample although its arrays have a first axis: it contains no label or offsets, its arrays
    need not be equally long, and the files are in class folders, are many, or contain several arrays.
    """
    if any(label_by_name(list(h))[0] is not None or OFFSETS & {n.lower() for n in h} for h in known.values()):
        return False
    lengths = [[shape[0] for _, shape in h.values() if shape] for h in known.values()]
    if all(len(set(of)) < len(of) for of in lengths):
        return False
    _, _, names = read_folders([e.path for e in entries])
    several = all(len(of) > 1 for of in lengths)
    return len(entries) > 64 or len(entries) > len(names) > 1 or (several and len(entries) > 2)


def in_no_file_equal(seen: Mapping[str, tuple[Part, ...] | None]) -> bool:
    """Whether arrays differ in length in each of several files: no rows were lost, an image lies beside its boxes."""
    return len(seen) > 2 and all(part.lengths for parts in seen.values() for part in parts or ())


def cut(part: Part, arrays: Mapping[str, Any], file: str, first: int = 0) -> dict[str, Column]:
    """The columns of a part of an array file, which begins at row ``first``; ragged ones are cut at their offsets, the others after the
    part's last sample.

    Raises:
        Unreadable: ``length-mismatch`` if offsets do not fit their array.
    """
    import numpy as np

    columns = {name: Column(arrays[key][: part.samples]) for name, key in part.arrays if key in arrays}
    if part.offsets is not None:
        offsets = np.asarray(arrays[part.offsets], np.int64)
        for name, key in part.ragged:
            values = arrays[key]
            if offsets[0] != 0 or offsets[-1] != len(values) or (np.diff(offsets) < 0).any():
                raise Unreadable("length-mismatch", f"{part.offsets} does not fit {key}", file=file, field=name)
            columns[name] = Column([values[a:b] for a, b in itertools.pairwise(offsets)])
    if part.members:
        columns[SPLIT] = row_splits.column_of(part, arrays, first)
    return columns


def declared_classes(listing: Listing) -> tuple[str, ...] | None:
    """Class names by index from ``classes.json``, ``labels.json`` or ``classes.txt`` next to the data, or from ``_classes.csv`` with a
    number and a name in each row, as Roboflow writes it beside the masks of each split."""
    for name in ("classes.json", "class_names.json", "labels.json", "classes.txt", "labels.txt", "class_names.txt"):
        if listing.find(name) is None and not (listing.single and (listing.base / name).is_file()):
            continue
        try:
            data = listing.read(name, 1 << 20).decode("utf-8")
        except (Unreadable, UnicodeDecodeError):
            continue
        if name.endswith(".txt"):
            return tuple(line.strip() for line in data.splitlines() if line.strip()) or None
        try:
            names = json.loads(data)
        except ValueError:
            continue
        if isinstance(names, dict) and all(str(v).isdigit() for v in names.values()):
            names = [k for k, _ in sorted(names.items(), key=lambda kv: int(kv[1]))]
        if isinstance(names, list) and all(isinstance(n, str) for n in names):
            return tuple(names)
    numbered = next((e for e in listing.entries if e.path.rpartition("/")[2] == "_classes.csv"), None)
    return None if numbered is None else _numbered(listing, numbered)


def _numbered(listing: Listing, entry: Entry) -> tuple[str, ...] | None:
    """The names in rows of a number, counted from 0, and a name; None of other rows."""
    try:
        lines = listing.read(entry.path, 1 << 20).decode("utf-8-sig").splitlines()
    except (Unreadable, UnicodeDecodeError):
        return None
    rows = [[cell.strip() for cell in line.split(",")] for line in lines[1:] if line.strip()]
    counted = all(len(row) == 2 and row[0] == str(i) for i, row in enumerate(rows))
    return tuple(name for _, name in rows) if rows and counted else None
