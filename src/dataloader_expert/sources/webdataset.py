"""WebDataset: tar shards, members of one key are one sample; never extracted, read by offset."""

from __future__ import annotations

import json
import os
from typing import Any

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.arrays import modality_of
from dataloader_expert.sources.base import Block, Column, Field, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing, open_below
from dataloader_expert.sources.layout import label_by_name, read_folders, split_in_name
from dataloader_expert.sources.npy_header import parse_npy
from dataloader_expert.sources.pictures import decode_image
from dataloader_expert.sources.sounds import decode_audio
from dataloader_expert.sources.tables import field_of

Member = tuple[str, int, int]
"""Extension (what follows the first dot of the name), offset, size."""

EXECUTABLE = {"pyd", "pkl", "pickle", "pth", "pt", "dill"}
IMAGES = {"jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff", "ppm"}
SOUNDS = {"wav", "flac", "ogg", "mp3"}
TEXTS = {"txt", "text", "caption", "transcript"}
NUMBERS = {"cls", "cls2", "index", "inx", "id"}


class WebDataset(Source):
    format = "webdataset"
    kinds = frozenset({"tar"})
    listing: Listing

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        entries = listing.of(cls.kinds)
        source = cls()
        source.listing = listing
        source.files, source.bytes = len(entries), sum(e.size for e in entries)
        folders, _, _ = read_folders([e.path for e in entries])
        units: list[Unit] = []
        keys: dict[str, str] = {}
        for entry, folder in zip(entries, folders, strict=True):
            split = split_in_name(entry.path.rsplit("/", 1)[-1]) or folder
            for key, members in source._samples(entry):
                if keys.setdefault(key, entry.path) != entry.path:
                    source.problems.append(
                        Unreadable("duplicate-keys", f"key {key} also in {keys[key]}", file=entry.path)
                    )
                size = sum(m[2] for m in members)
                units.append(Unit(len(units), entry.path, len(units), 1, size, split, key, tuple(members)))
        if not units:
            why = source.problems[0].message if source.problems else "no members"
            raise RequestError("format-unknown", f"no sample in any tar ({why}); give a folder of WebDataset shards")
        source.units = tuple(units)
        per = len(units) // max(len(entries), 1)
        source.sharding = f"{len(entries)} tar shard{'s' * (len(entries) != 1)} of about {per} samples"
        source._describe()
        source.classes = declared_classes(listing)
        return source

    def _describe(self) -> None:
        merged: dict[str, Field] = {}
        for unit in self.units[:: max(1, len(self.units) // 16)][:16]:
            try:
                block = self.decode(unit, self.read(unit))
            except Unreadable:
                continue  # the scan reports it, with its place
            for name, column in block.columns.items():
                found = field_of(name, column)
                known = merged.get(name)
                if known is not None and known.shape != found.shape and len(known.shape) == len(found.shape):
                    shape = tuple(a if a == b else None for a, b in zip(known.shape, found.shape, strict=True))
                    found = Field(name, found.kind, found.dtype, shape)
                merged[name] = found
        self.label, self.label_how = label_by_name([n for n, f in merged.items() if not f.shape])
        self.fields = tuple(Field(f.name, "category", f.dtype) if f.name == self.label else f for f in merged.values())
        self.modality = modality_of(self.fields, self.label)

    def _samples(self, entry: Entry) -> list[tuple[str, list[Member]]]:
        found: list[tuple[str, list[Member]]] = []
        closed: set[str] = set()
        for name, at, size in walk_tar(self.listing, entry, self.problems):
            folder, _, base = name.rpartition("/")
            stem, dot, ext = base.partition(".")
            if not dot or base.startswith("."):
                self.problems.append(
                    Unreadable("foreign-file", f"member {name} has no key and extension", file=entry.path)
                )
                continue
            key = f"{folder}/{stem}" if folder else stem
            if found and found[-1][0] == key:
                if ext.lower() in {known for known, _, _ in found[-1][1]}:
                    self.problems.append(Unreadable("duplicate-keys", f"member {name} occurs twice", file=entry.path))
                found[-1][1].append((ext.lower(), at, size))
                continue
            if key in closed:
                self.problems.append(Unreadable("duplicate-keys", f"key {key} returns after others", file=entry.path))
            closed.add(key)
            found.append((key, [(ext.lower(), at, size)]))
        return found

    def read(self, unit: Unit) -> dict[str, bytes]:
        fd = open_below(self.listing.base / unit.file, self.listing.roots)
        try:
            return {ext: os.pread(fd, size, at) for ext, at, size in unit.at}
        finally:
            os.close(fd)

    def decode(self, unit: Unit, raw: Any) -> Block:
        problems: list[Unreadable] = []
        columns: dict[str, Column] = {}
        where = f"{unit.file}:{unit.label}"
        for ext, data in raw.items():
            name = ext.rsplit(".", 1)[0] if "." in ext else ext
            kind = ext.rsplit(".", 1)[-1]
            try:
                columns.update(decode_member(name, kind, data, where))
            except Unreadable as problem:
                problem.where.update(file=unit.file, sample=unit.start, field=ext)
                problems.append(problem)
        if not columns and problems:
            raise problems[0]
        biggest = max(raw.values(), key=len)
        return Block(unit, columns, (biggest,), problems)


def decode_member(name: str, kind: str, data: bytes, where: str) -> dict[str, Column]:
    """A member's value by its extension; one that would have to be unpickled is refused."""
    import numpy as np

    if kind in EXECUTABLE:
        raise Unreadable("executable-payload", f".{kind} members are pickles: reading one would run code; not loaded")
    if kind in IMAGES:
        return {name: Column([decode_image(data, where)])}
    if kind in SOUNDS:
        return {name: Column([decode_audio(data, where)[0]])}
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
            return {f"{k}": Column([v]) for k, v in record.items() if isinstance(v, str | int | float | bool)}
        return {name: Column([record])}
    return {name: Column([text])}


def walk_tar(listing: Listing, entry: Entry, problems: list[Unreadable]) -> list[tuple[str, int, int]]:
    """Names, offsets and sizes of a tar's regular members; what the headers get wrong goes to ``problems``."""
    members: list[tuple[str, int, int]] = []
    fd = open_below(listing.base / entry.path, listing.roots)
    try:
        at, long_name = 0, ""
        while at + 512 <= entry.size:
            head = os.pread(fd, 512, at)
            if head == bytes(512):
                if _hides(fd, at):
                    problems.append(
                        Unreadable("truncated", f"a zeroed header at byte {at} hides what follows", file=entry.path)
                    )
                elif not members:
                    problems.append(Unreadable("empty-file", "an archive without members", file=entry.path))
                return members
            total = sum(head[:148]) + 256 + sum(head[156:])
            try:
                stored = int(head[148:156].strip(b" \0") or b"0", 8)
                size = (
                    int.from_bytes(head[125:136], "big")
                    if head[124] & 0x80
                    else int(head[124:136].strip(b" \0") or b"0", 8)
                )
            except ValueError:
                stored, size = -1, 0
            if stored != total:
                problems.append(
                    Unreadable("checksum-mismatch", f"header at byte {at} fails its checksum", file=entry.path)
                )
                return members
            if size > entry.size - at - 512:
                problems.append(Unreadable("truncated", f"member at byte {at} claims {size} bytes", file=entry.path))
                return members
            name = head[:100].split(b"\0")[0].decode("utf-8", "backslashreplace")
            prefix = (
                head[345:500].split(b"\0")[0].decode("utf-8", "backslashreplace") if head[257:262] == b"ustar" else ""
            )
            if prefix and head[257:263] == b"ustar\0":
                name = f"{prefix}/{name}"
            kind = head[156:157]
            if kind == b"L":
                long_name = (
                    os.pread(fd, min(size, 1 << 16), at + 512).split(b"\0")[0].decode("utf-8", "backslashreplace")
                )
            elif kind == b"x":
                long_name = _pax_path(os.pread(fd, min(size, 1 << 16), at + 512)) or long_name
            elif kind in (b"0", b"\0"):
                name, long_name = long_name or name, ""
                if name.startswith("/") or ".." in name.split("/"):
                    problems.append(Unreadable("outside-root", f"member named {name}", file=entry.path))
                else:
                    members.append((name, at + 512, size))
            elif kind not in (b"5", b"g"):
                problems.append(
                    Unreadable("special-file", f"member {name} is a link or device; not followed", file=entry.path)
                )
                long_name = ""
            at += 512 + (size + 511) // 512 * 512
        if at != entry.size:  # many writers leave out the end-of-archive blocks; none ends inside a header
            problems.append(Unreadable("truncated", "ends inside a header", file=entry.path))
        return members
    finally:
        os.close(fd)


def _hides(fd: int, at: int) -> bool:
    """Whether a zeroed block is no end of the archive: one alone, or members stand behind it."""
    if os.pread(fd, 512, at + 512).strip(b"\0"):
        return True
    while block := os.pread(fd, 1 << 20, at):
        mark = block.find(b"ustar")
        while mark >= 0:
            if mark % 512 == 257:
                return True
            mark = block.find(b"ustar", mark + 1)
        at += len(block)
    return False


def _pax_path(data: bytes) -> str:
    for line in data.split(b"\n"):
        _, _, pair = line.partition(b" ")
        if pair.startswith(b"path="):
            return pair[5:].decode("utf-8", "backslashreplace")
    return ""


SOURCE = WebDataset
