"""NPZ: shards of named arrays, or one sample a file. Members are inflated with a cap and their CRC is checked."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.arrays import Header, Part, as_labels
from dataloader_expert.sources.base import Unit
from dataloader_expert.sources.bombs import no_inflation
from dataloader_expert.sources.bundle import DAMAGED, Bundle
from dataloader_expert.sources.files import Entry
from dataloader_expert.sources.label_names import label_by_name
from dataloader_expert.sources.layout import without_split
from dataloader_expert.sources.npy_header import ObjectArray, parse_npy
from dataloader_expert.sources.stored_zip import stored

_NAMELESS = re.compile(r"arr_\d+|data")
"""What numpy calls an array that was saved without a name, and what others do."""


class Npz(Bundle):
    format = "npz"
    kinds = frozenset({"npz"})
    in_shards = True

    def __init__(self) -> None:
        super().__init__()
        self.pickled: set[str] = set()
        """Arrays of objects, which are left out."""
        self.aligned: frozenset[str] = frozenset()
        """Files of which another one holds the first fields of the same rows."""

    def headers(self, entry: Entry) -> dict[str, Header]:
        found: dict[str, Header] = {}
        left_out: dict[str, ObjectArray] = {}
        archive = open_zip(self.listing.read(entry.path), entry.path)
        for info in members(archive, entry.path):
            name = info.filename.removesuffix(".npy")
            try:
                with archive.open(info) as f:
                    head = f.read(70 << 10)
            except DAMAGED as e:
                raise Unreadable("checksum-mismatch", f"member {name}: {e}", file=entry.path) from None
            try:
                dtype, shape, _, _ = parse_npy(head, info.file_size, entry.path)
            except ObjectArray as found_one:
                left_out[name] = found_one
                continue
            found[name] = (dtype, as_labels(name, dtype, shape))
        if left_out and _hold_the_data(left_out, found):
            raise next(iter(left_out.values()))
        for name, objects in left_out.items():
            text = (
                f"an object array of shape {[*objects.shape]}: reading it would execute pickled code; it is not loaded"
            )
            self.unread.setdefault(name, text)
            self.pickled.add(name)
        return found

    def joined(
        self, entries: list[Entry], known: dict[str, dict[str, Header]], seen: dict[str, tuple[Part, ...] | None]
    ) -> list[Entry]:
        """Files that each hold one array without a name, as ``train-imgs.npz`` and ``train-labels.npz``: those of one split are fields
        of the same rows, called as the files are, and become the first of them."""
        splits: dict[str | None, dict[str, Part]] = {}
        for path, parts in seen.items():
            if (
                parts is None
                or len(parts) != 1
                or len(known[path]) != 1
                or not all(map(_NAMELESS.fullmatch, known[path]))
            ):
                return entries
            splits.setdefault(parts[0].split, {})[path] = parts[0]
        called = called_by_files([*seen])
        fields = {tuple(sorted(called[path] for path in of)) for of in splits.values()}
        whole = all(len({part.samples for part in of.values()}) == 1 and len(of) > 1 for of in splits.values())
        if len(fields) != 1 or not whole or len({*next(iter(fields))}) < len(next(iter(fields))):
            return entries
        if label_by_name([*called.values()])[0] is None:
            return entries
        for of in splits.values():
            first, *others = sorted(of, key=lambda path: (label_by_name([called[path]])[0] is not None, path))
            arrays = [(called[first], next(iter(known[first])))]
            for path in others:
                [(key, (dtype, shape))] = known.pop(path).items()
                known[first][f"{path}:{key}"] = dtype, as_labels(called[path], dtype, shape)
                arrays.append((called[path], f"{path}:{key}"))
                del seen[path]
            seen[first] = (replace(of[first], arrays=tuple(arrays)),)
        self.aligned = frozenset(called) - seen.keys()
        return [entry for entry in entries if entry.path in seen]

    def load(self, unit: Unit, raw: Any) -> dict[str, Any]:
        if not unit.at:
            return self._arrays(raw, unit.file, None)
        wanted = self.narrowed(unit.at[0]).keys
        found = self._arrays(raw, unit.file, wanted)
        for path, _, key in (name.rpartition(":") for name in wanted - found.keys()):
            if path in self.aligned:
                found[f"{path}:{key}"] = self._arrays(self.listing.read(path), path, {key})[key]
        return found

    def _arrays(self, raw: bytes, file: str, wanted: Collection[str] | None) -> dict[str, Any]:
        """The arrays of a file that are wanted; None: all that are asked for and can be loaded."""
        import numpy as np

        arrays = {}
        for name, content in _contents(raw, file):
            if name not in wanted if wanted is not None else not self.wants(name):
                continue
            data = content()
            try:
                dtype, shape, fortran, at = parse_npy(data[: 70 << 10], len(data), file)
            except ObjectArray:
                if wanted is not None or self.field(name) is not None:  # in other files it is an array of numbers
                    raise
                continue
            array = np.frombuffer(data, dtype, offset=at)
            arrays[name] = array.reshape(as_labels(name, dtype, shape), order="F" if fortran else "C")
        return arrays


def called_by_files(paths: Sequence[str]) -> dict[str, str]:
    """A field's name for each of these files: its own without its split and the words that all names begin with."""
    parts = {path: without_split(path.rpartition("/")[2].rpartition(".")[0]).split("_") for path in paths}
    while all(len(of) > 1 for of in parts.values()) and len({of[0] for of in parts.values()}) == 1:
        parts = {path: of[1:] for path, of in parts.items()}
    return {path: "_".join(of) or "data" for path, of in parts.items()}


def _hold_the_data(objects: Mapping[str, ObjectArray], plain: Mapping[str, Header]) -> bool:
    """Whether nothing but labels is left without the arrays of objects."""
    rows = {shape[0] for _, shape in plain.values() if shape}
    matrices = any(len(shape) > 1 for _, shape in plain.values())
    return not rows or (not matrices and any(rows & {*array.shape[:1]} for array in objects.values()))


def _contents(raw: bytes, file: str) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The names of a file's arrays, and what gives the bytes of each.

    Raises:
        Unreadable: as :func:`open_zip` and :func:`members`; for what it gives, ``checksum-mismatch``.
    """
    plain = stored(raw)
    if plain is not None:
        yield from (
            (name.removesuffix(".npy"), partial(_cut, raw, *place, name, file)) for name, place in plain.items()
        )
        return
    archive = open_zip(raw, file)

    def read(info: zipfile.ZipInfo) -> bytes:
        try:
            return archive.read(info)
        except DAMAGED as e:
            name = info.filename.removesuffix(".npy")
            raise Unreadable("checksum-mismatch", f"member {name}: {e}", file=file) from None

    for info in members(archive, file):
        yield info.filename.removesuffix(".npy"), partial(read, info)


def _cut(raw: bytes, place: slice, crc: int, name: str, file: str) -> bytes:
    content = raw[place]
    if zlib.crc32(content) != crc:
        raise Unreadable("checksum-mismatch", f"member {name.removesuffix('.npy')}: Bad CRC-32", file=file)
    return content


def open_zip(data: bytes, file: str) -> zipfile.ZipFile:
    """Raises: Unreadable: ``empty-file``, ``not-the-format`` or ``truncated``."""
    if not data:
        raise Unreadable("empty-file", "0 bytes", file=file)
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        cut = data[:4] == b"PK\x03\x04"
        raise Unreadable(
            "truncated" if cut else "not-the-format",
            "the archive's directory is missing" if cut else f"begins with {data[:12]!r}",
            file=file,
        ) from None


def members(archive: zipfile.ZipFile, file: str) -> list[zipfile.ZipInfo]:
    """The members, refused where they could hurt: overlapping, encrypted, oversized, twice, or with odd paths."""
    infos = [i for i in archive.infolist() if not i.filename.endswith("/")]
    end = 0
    for info in sorted(infos, key=lambda i: i.header_offset):
        if info.header_offset < end:
            raise Unreadable("bomb", "members overlap", file=file)
        end = info.header_offset + 30 + info.compress_size
        if info.flag_bits & 1:
            raise Unreadable("unreadable", f"member {info.filename} is encrypted", file=file)
        no_inflation(info.file_size, info.compress_size, f"member {info.filename}", file)
        if info.filename.startswith("/") or ".." in info.filename.split("/"):
            raise Unreadable("outside-root", f"member named {info.filename}", file=file)
    names = [i.filename for i in infos]
    if len(set(names)) < len(names):
        raise Unreadable("duplicate-keys", "a member's name occurs twice", file=file)
    return [i for i in infos if i.filename.endswith(".npy")]


SOURCE = Npz
