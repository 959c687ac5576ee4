"""WebDataset: tar shards; members with the same key form one sample; never extracted, read by offset."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dataloader_expert.conclusions import MAX_PLACES
from dataloader_expert.errors import NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.arrays import modality_of
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.label_names import label_by_name
from dataloader_expert.sources.layout import read_folders, split_in_name
from dataloader_expert.sources.npy_header import parse_npy
from dataloader_expert.sources.pictures import decode_image
from dataloader_expert.sources.records import columns_of_records
from dataloader_expert.sources.sounds import decode_audio
from dataloader_expert.sources.table_fields import field_of
from dataloader_expert.sources.tar import walk_tar

Member = tuple[str, int, int]
"""Extension (what follows the first dot of the name), offset, size."""

Spelt = dict[str, dict[str, tuple[int, tuple[tuple[str, str], ...]]]]
"""By extension in lower case, each way in which it is written: how often, and the first members' files and keys."""

EXECUTABLE = {"pyd", "pkl", "pickle", "pth", "pt", "dill"}
RATE = "sample_rate"
IMAGES = {"jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff", "ppm"}
SOUNDS = {"wav", "flac", "ogg", "mp3"}
TEXTS = {"txt", "text", "caption", "transcript"}
NUMBERS = {"cls", "cls2", "index", "inx", "id"}


class WebDataset(Source):
    format = "webdataset"
    kinds = frozenset({"tar"})
    in_shards = True
    listing: Listing
    twofold: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    """Names that several members of one sample have."""
    own_rates: bool = False
    """Whether recordings of one sample differ in their rate: then each has a field for it."""

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        entries = listing.of(cls.kinds)
        source = cls()
        source.listing = listing
        source.files, source.bytes = len(entries), sum(e.size for e in entries)
        folders, _, _ = read_folders([e.path for e in entries])
        units: list[Unit] = []
        keys: dict[str, str] = {}
        spelt: Spelt = {}
        for entry, folder in zip(entries, folders, strict=True):
            split = split_in_name(entry.path.rsplit("/", 1)[-1]) or folder
            try:
                samples = source._samples(entry, spelt)
            except Unreadable as problem:
                source.problems.append(problem)
                continue
            for key, members in samples:
                if keys.setdefault(key, entry.path) != entry.path:
                    source.problems.append(
                        Unreadable("duplicate-keys", f"key {key} also in {keys[key]}", file=entry.path, key=key)
                    )
                size = sum(m[2] for m in members)
                units.append(Unit(len(units), entry.path, len(units), 1, size, split, None, tuple(members), key))
        source.twofold = twofold(units)
        if not units:
            why = source.problems[0].told() if source.problems else "no members"
            raise NothingReadable(f"no sample in any tar ({why}); give a folder of WebDataset shards", source.problems)
        source.problems += misspelt(spelt)
        source.units = tuple(units)
        per = len(units) // max(len(entries), 1)
        source.sharding = f"{len(entries)} tar shard{'s' * (len(entries) != 1)} of about {per} samples"
        source._describe()
        source.classes = declared_classes(listing)
        return source

    def _describe(self) -> None:
        merged: dict[str, Field] = {}
        looked_at = self.units[:: max(1, len(self.units) // 16)][:16]
        for unit in looked_at:
            with contextlib.suppress(Unreadable):  # the scan reports it, with its location
                made = self._members(unit, self.read(unit), [])
                self.own_rates = self.own_rates or len({of[RATE].values[0] for of in recordings(made).values()}) > 1
                self.shared |= several(made)
        for unit in looked_at:
            try:
                block = self.decode(unit, self.read(unit))
            except Unreadable:
                continue  # the scan reports it, with its location
            for name, column in block.columns.items():
                found = field_of(name, column)
                known = merged.get(name)
                if known is not None and found.dtype == "null":
                    self.with_nulls |= {name}
                    continue
                if known is not None and known.dtype == "null":
                    self.with_nulls |= {name}
                    known = None
                if known is not None and {known.dtype, found.dtype} == {"int64", "float64"} and not found.shape:
                    found = replace(found, dtype="float64")  # 1 among 0.5 and 0.25
                if known is not None and known.shape != found.shape and len(known.shape) == len(found.shape):
                    shape = tuple(a if a == b else None for a, b in zip(known.shape, found.shape, strict=True))
                    found = Field(name, found.kind, found.dtype, shape)
                merged[name] = found
        sounds = {self._called(ext) for unit in looked_at for ext, _, _ in unit.at if ext.rpartition(".")[2] in SOUNDS}
        merged |= {name: replace(f, kind="audio") for name, f in merged.items() if name in sounds and len(f.shape) == 2}
        self.label, self.label_how = label_by_name([n for n, f in merged.items() if not f.shape])
        self.fields = tuple(Field(f.name, "category", f.dtype) if f.name == self.label else f for f in merged.values())
        self.modality = modality_of(self.fields, self.label)

    def _samples(self, entry: Entry, spelt: Spelt) -> list[tuple[str, list[Member]]]:
        """The file's samples; ``spelt`` takes each extension as it is written, with its file and key."""
        found: list[tuple[str, list[Member]]] = []
        closed: set[str] = set()
        with self.listing.open(entry.path) as file:
            members = walk_tar(file, self.problems)
        for member in members:
            name, at, size = member.name, member.start, member.size
            folder, _, base = name.rpartition("/")
            stem, dot, ext = base.partition(".")
            if not dot or base.startswith("."):
                self.problems.append(
                    Unreadable("foreign-file", f"member {name} has no key and extension", file=entry.path)
                )
                continue
            key = f"{folder}/{stem}" if folder else stem
            note(spelt, ext, entry.path, key)
            if found and found[-1][0] == key:
                if ext.lower() in {known for known, _, _ in found[-1][1]}:
                    self.problems.append(
                        Unreadable("duplicate-keys", f"member {name} occurs twice", file=entry.path, key=key)
                    )
                found[-1][1].append((ext.lower(), at, size))
                continue
            if key in closed:
                self.problems.append(
                    Unreadable("duplicate-keys", f"key {key} occurs again after other keys", file=entry.path, key=key)
                )
            closed.add(key)
            found.append((key, [(ext.lower(), at, size)]))
        return found

    def read(self, unit: Unit) -> dict[str, bytes]:
        with self.listing.open(unit.file) as file:
            return {ext: file.exactly(at, size) for ext, at, size in unit.at}

    def decode(self, unit: Unit, raw: Any) -> Block:
        problems: list[Unreadable] = []
        made = self._members(unit, raw, problems)
        for ext, of in recordings(made).items() if self.own_rates else ():
            of[f"{self._called(ext)}.{RATE}"] = of.pop(RATE)
        columns = {name: self._typed(name, column) for name, column in apart(made, self.shared).items()}
        for met in problems:
            met.where.update(file=unit.file, sample=unit.start)
        if not columns and problems:
            raise problems[0]
        biggest = max(raw.values(), key=len)
        return Block(unit, columns, (biggest,), problems)

    def _members(self, unit: Unit, raw: Any, problems: list[Unreadable]) -> dict[str, dict[str, Column]]:
        """The fields of each member, by its extension."""
        made: dict[str, dict[str, Column]] = {}
        where = f"{unit.file}:{unit.key}"
        for ext, data in raw.items():
            try:
                made[ext] = decode_member(self._called(ext), ext.rpartition(".")[2], data, where, problems)
            except Unreadable as problem:
                problem.where.update(file=unit.file, sample=unit.start, field=ext)
                problems.append(problem)
        return made

    def _called(self, ext: str) -> str:
        """The field of the member with this extension."""
        stem = ext.rpartition(".")[0]
        return ext if stem in self.twofold else stem or ext

    def _typed(self, name: str, column: Column) -> Column:
        """Whole numbers of a field that has others are floats in every sample."""
        whole = getattr(column.values, "ndim", 0) == 1 and column.values.dtype.kind == "i"
        field = self.field(name) if whole else None
        return (
            column if field is None or field.dtype != "float64" else replace(column, values=column.values.astype(float))
        )


def recordings(made: dict[str, dict[str, Column]]) -> dict[str, dict[str, Column]]:
    """Those of a sample's members that are sounds, by extension."""
    return {ext: columns for ext, columns in made.items() if ext.rpartition(".")[2] in SOUNDS}


def several(made: dict[str, dict[str, Column]]) -> frozenset[str]:
    """The names that more than one member has."""
    counts = Counter(name for columns in made.values() for name in columns)
    return frozenset(name for name, n in counts.items() if n > 1)


def apart(made: dict[str, dict[str, Column]], shared: frozenset[str]) -> dict[str, Column]:
    """The fields of all members. A name that several have, here or in other samples, is written after the extension of those that are
    JSON."""
    both = shared | several(made)
    return {
        f"{ext}.{name}" if name in both and ext.endswith("json") else name: column
        for ext, columns in made.items()
        for name, column in columns.items()
    }


def twofold(units: Iterable[Unit]) -> frozenset[str]:
    """Names before the last point of extensions of which a sample has two, such as ``left`` of left.png and left.npy: these name
    their fields in full."""
    found: set[str] = set()
    for unit in units:
        stems = [stem for ext, _, _ in unit.at if (stem := ext.rpartition(".")[0])]
        if len(stems) > 1 and len(set(stems)) < len(stems):
            found |= {stem for stem in stems if stems.count(stem) > 1}
    return frozenset(found)


def note(spelt: Spelt, ext: str, file: str, key: str) -> None:
    ways = spelt.setdefault(ext.lower(), {})
    count, first = ways.get(ext, (0, ()))
    ways[ext] = (count + 1, first if count >= MAX_PLACES else (*first, (file, key)))


def misspelt(spelt: Spelt) -> list[Unreadable]:
    """Members whose extension is in capitals where most samples write it otherwise, or the other way round."""
    problems = []
    for ways in spelt.values():
        usual = max(ways, key=lambda ext: (ways[ext][0], ext))
        for ext, (count, first) in ways.items():
            for file, key in first if ext != usual else ():
                these = f"{count} samples have" if count > 1 else "one sample has"
                text = f"{these} .{ext} and most .{usual}: a reader that asks for one misses the other"
                problems.append(Unreadable("wrong-extension", text, file=file, key=key))
    return problems


def decode_member(name: str, kind: str, data: bytes, where: str, problems: list[Unreadable]) -> dict[str, Column]:
    """A member's value, by its extension; one that would have to be unpickled is refused."""
    import numpy as np

    if kind in EXECUTABLE:
        raise Unreadable("executable-payload", f".{kind} members are pickles, which would run code; not loaded")
    if kind in IMAGES:
        return {name: Column([decode_image(data, where, problems)])}
    if kind in SOUNDS:
        values, rate = decode_audio(data, where, problems)
        return {name: Column([values]), RATE: Column(np.array([rate]))}
    if kind == "npy":
        dtype, shape, fortran, at = parse_npy(data[: 70 << 10], len(data), where)
        array = np.frombuffer(data, dtype, offset=at).reshape(shape, order="F" if fortran else "C")
        return {name: Column([array])}
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        if kind in TEXTS | NUMBERS | {"json"}:
            raise Unreadable("encoding-error", f".{kind} member is not UTF-8") from None
        return {name: Column([data])}
    if kind in NUMBERS:
        try:
            return {name: Column(np.array([int(text)]))}
        except ValueError:
            return {name: Column([text.strip()])}
    if kind == "json":
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            raise Unreadable("parse-error", ".json member is not JSON") from None
        if isinstance(record, dict):
            return columns_of_records([record], [])
        return {name: Column([record])}
    return {name: Column([text])}


SOURCE = WebDataset
