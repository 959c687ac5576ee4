"""Parquet: a file, a folder of files, or hive partitions; a unit is a row group, page checksums are verified."""

from __future__ import annotations

import io
import os
from typing import Any

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Column, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing, open_below
from dataloader_expert.sources.hub import feature_classes
from dataloader_expert.sources.layout import SPLITS, read_folders, split_in_name
from dataloader_expert.sources.tables import Table, columns_of

FREE_CELLS, MOST_RATIO, SAME_RATIO = 2 << 20, 10_000, 100
"""A file may claim this many cells; beyond them so many for each of its bytes, fewer if all its rows are the same."""


class Parquet(Table):
    format = "parquet"
    kinds = frozenset({"parquet"})
    listing: Listing

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        entries = listing.of(cls.kinds)
        source = cls()
        source.listing = listing
        source.metadata = {}
        source.files, source.bytes = len(entries), sum(e.size for e in entries)
        units: list[Unit] = []
        start = 0
        folders, _, _ = read_folders([e.path for e in entries])
        schema = None
        for entry, folder in zip(entries, folders, strict=True):
            try:
                metadata = source._footer(entry)
            except Unreadable as problem:
                source.problems.append(problem)
                continue
            source.metadata[entry.path] = metadata
            found = metadata.schema.to_arrow_schema().remove_metadata()
            if schema is None:
                schema = found
            elif not found.equals(schema):
                source.problems += schema_drift(schema, found, entry.path)
            keys = hive_keys(entry.path)
            split = keys.pop("split", None) or split_in_name(entry.path.rsplit("/", 1)[-1]) or folder
            for group in range(metadata.num_row_groups):
                rows = metadata.row_group(group).num_rows
                spans = _span(metadata.row_group(group))
                units.append(
                    Unit(len(units), entry.path, start, rows, spans[1] - spans[0], split, None, (group, *spans, keys))
                )
                start += rows
        if not units:
            if source.problems:
                first = source.problems[0]
                raise RequestError(
                    "format-unknown",
                    f"no Parquet file could be read: {first.where.get('file')}: {first.message}: "
                    "write them anew, or pass another source",
                )
            raise RequestError("format-unknown", "no rows in any Parquet file; give a folder with data")
        source.units = tuple(units)
        source.sharding = (
            f"{len(source.metadata)} file{'s' * (len(source.metadata) != 1)}, {len(units)} row groups of up to "
            f"{max(u.samples for u in units)} rows"
        )
        source.describe()
        declared = source.metadata[units[0].file].metadata or {}
        source.classes = feature_classes(declared.get(b"huggingface"), source.label) or declared_classes(listing)
        return source

    metadata: dict[str, Any]

    def _footer(self, entry: Entry) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if entry.size < 12:
            raise Unreadable("truncated" if entry.size else "empty-file", f"{entry.size} bytes", file=entry.path)
        fd = open_below(self.listing.base / entry.path, self.listing.roots)
        with os.fdopen(fd, "rb") as f:
            if (mark := os.pread(fd, 4, 0)) not in (b"PAR1", b"PARE"):
                self.problems.append(
                    Unreadable("header-mismatch", f"begins with {mark!r}, not with PAR1", file=entry.path)
                )
            tail = os.pread(fd, 8, entry.size - 8)
            if tail[4:] != b"PAR1":
                raise Unreadable("truncated", "no Parquet footer at the end", file=entry.path)
            if int.from_bytes(tail[:4], "little") > entry.size - 12:
                raise Unreadable("header-mismatch", "the footer claims more bytes than the file has", file=entry.path)
            try:
                metadata = pq.read_metadata(f)
            except (pa.ArrowException, OSError, ValueError) as e:
                raise Unreadable("unreadable", f"the footer cannot be read: {str(e)[:120]}", file=entry.path) from None
        for group in range(metadata.num_row_groups):
            lo, hi = _span(metadata.row_group(group))
            if lo < 0 or hi > entry.size:
                raise Unreadable("header-mismatch", f"row group {group} lies outside the file", file=entry.path)
        cells = metadata.num_rows * metadata.num_columns
        if cells > FREE_CELLS and cells > (SAME_RATIO if _constant(metadata) else MOST_RATIO) * entry.size:
            raise Unreadable("bomb", f"claims {metadata.num_rows} rows in {entry.size} bytes", file=entry.path)
        return metadata

    def read(self, unit: Unit) -> bytes:
        _, lo, hi, _ = unit.at
        fd = open_below(self.listing.base / unit.file, self.listing.roots)
        try:
            data = os.pread(fd, hi - lo, lo)
        finally:
            os.close(fd)
        if len(data) < hi - lo:
            raise Unreadable("truncated", f"row group ends after {len(data)} of {hi - lo} bytes", file=unit.file)
        return data

    def decode(self, unit: Unit, raw: Any) -> Block:
        import pyarrow as pa
        import pyarrow.parquet as pq

        group, lo, _, keys = unit.at
        problems: list[Unreadable] = []
        try:
            reader = pq.ParquetFile(
                pa.PythonFile(_Window(raw, lo), mode="r"),
                metadata=self.metadata[unit.file],
                page_checksum_verification=True,
                pre_buffer=False,
            )
            table = reader.read_row_group(group, use_threads=False)
            columns = columns_of(table, unit.file, problems)
        except (pa.ArrowException, OSError, ValueError) as e:
            text = str(e)
            code = "checksum-mismatch" if "CRC" in text or "checksum" in text else "unreadable"
            raise Unreadable(code, f"row group {group} does not decode: {text[:160]}", file=unit.file) from None
        for key, value in keys.items():
            columns[key] = Column([value] * unit.samples)
        return Block(unit, columns, (), problems)


class _Window(io.RawIOBase):
    """A file of which only the bytes from ``start`` are held, at their true offsets."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data, self._start, self._at = memoryview(data), start, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._start + len(self._data))[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        lo = self._at - self._start
        if lo < 0:
            raise OSError(f"offset {self._at} lies outside the row group")
        data = bytes(self._data[lo : lo + size] if size >= 0 else self._data[lo:])
        self._at += len(data)
        return data


def _constant(metadata: Any) -> bool:
    """Whether the statistics of every column chunk name one value only."""
    for group in range(metadata.num_row_groups):
        for i in range(metadata.num_columns):
            found = metadata.row_group(group).column(i).statistics
            if found is None or not found.has_min_max or found.min != found.max:
                return False
    return True


def _span(group: Any) -> tuple[int, int]:
    lows, highs = [], []
    for i in range(group.num_columns):
        chunk = group.column(i)
        at = chunk.data_page_offset
        if chunk.has_dictionary_page and chunk.dictionary_page_offset:
            at = min(at, chunk.dictionary_page_offset)
        lows.append(at)
        highs.append(at + chunk.total_compressed_size)
    return (min(lows), max(highs)) if lows else (0, 0)


def schema_drift(expected: Any, found: Any, file: str) -> list[Unreadable]:
    """How a file's schema differs from the first file's."""
    problems = []
    for name in expected.names:
        if name not in found.names:
            problems.append(Unreadable("missing-key", f"column {name} is absent", file=file, field=name))
        elif found.field(name).type != expected.field(name).type:
            text = f"{name} is {found.field(name).type}, elsewhere {expected.field(name).type}"
            problems.append(Unreadable("dtype-drift", text, file=file, field=name))
    problems += [
        Unreadable("extra-key", f"column {name} is in this file only", file=file, field=name)
        for name in found.names
        if name not in expected.names
    ]
    return problems


def hive_keys(path: str) -> dict[str, str]:
    """``year=2020/split=train/part.parquet`` → ``{"year": "2020", "split": "train"}``."""
    pairs = (p.split("=", 1) for p in path.split("/")[:-1] if "=" in p)
    return {k: SPLITS.get(v.lower(), v) if k == "split" else v for k, v in pairs}


SOURCE = Parquet
