"""NPZ: shards of named arrays, or one sample a file. Members are inflated with a cap and their CRC is checked."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.arrays import Header, as_labels
from dataloader_expert.sources.base import Unit
from dataloader_expert.sources.bombs import no_inflation
from dataloader_expert.sources.bundle import DAMAGED, Bundle
from dataloader_expert.sources.files import Entry
from dataloader_expert.sources.npy_header import ObjectArray, parse_npy


class Npz(Bundle):
    format = "npz"
    kinds = frozenset({"npz"})
    in_shards = True

    def __init__(self) -> None:
        super().__init__()
        self.pickled: set[str] = set()
        """Arrays of objects, which are left out."""

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

    def load(self, unit: Unit, raw: Any) -> dict[str, Any]:
        import numpy as np

        archive = open_zip(raw, unit.file)
        wanted: set[str | None] = set()
        if unit.at:
            part = self.narrowed(unit.at[0])
            wanted = {part.offsets, *(key for _, key in (*part.arrays, *part.ragged))}
        arrays = {}
        for info in members(archive, unit.file):
            name = info.filename.removesuffix(".npy")
            if name not in wanted if unit.at else not self.wants(name):
                continue
            try:
                data = archive.read(info)
            except DAMAGED as e:
                raise Unreadable("checksum-mismatch", f"member {name}: {e}", file=unit.file) from None
            try:
                dtype, shape, fortran, at = parse_npy(data[: 70 << 10], len(data), unit.file)
            except ObjectArray:
                if name in wanted:
                    raise
                continue
            array = np.frombuffer(data, dtype, offset=at)
            arrays[name] = array.reshape(as_labels(name, dtype, shape), order="F" if fortran else "C")
        return arrays


def _hold_the_data(objects: Mapping[str, ObjectArray], plain: Mapping[str, Header]) -> bool:
    """Whether nothing but labels is left without the arrays of objects."""
    rows = {shape[0] for _, shape in plain.values() if shape}
    matrices = any(len(shape) > 1 for _, shape in plain.values())
    return not rows or (not matrices and any(rows & {*array.shape[:1]} for array in objects.values()))


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
