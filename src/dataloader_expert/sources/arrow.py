"""Arrow IPC, file and stream: a unit is a record batch, found by walking the messages, validated before use."""

from __future__ import annotations

import os
from typing import Any

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing, open_below
from dataloader_expert.sources.hub import feature_classes
from dataloader_expert.sources.layout import read_folders, split_in_name
from dataloader_expert.sources.tables import Table, columns_of


class Arrow(Table):
    format = "arrow"
    kinds = frozenset({"arrow"})
    listing: Listing

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls()
        source.listing = listing
        source.schemas = {}
        entries = source.entries(listing)
        source.files, source.bytes = len(listing.entries), sum(e.size for e in listing.entries)
        folders, _, _ = read_folders([e.path for e in entries])
        units: list[Unit] = []
        start = 0
        for entry, folder in zip(entries, folders, strict=True):
            split = source.split_of(entry) or folder
            try:
                for lo, hi, rows in source._index(entry):
                    units.append(Unit(len(units), entry.path, start, rows, hi - lo, split, None, (lo, hi)))
                    start += rows
            except Unreadable as problem:
                source.problems.append(problem)
        if not units:
            why = source.problems[0].message if source.problems else "no Arrow file with rows"
            raise RequestError("format-unknown", f"{why}; give a folder with data")
        source.units = tuple(units)
        source.describe()
        source.classes = source.declared(units[0]) or declared_classes(listing)
        source.sharding = f"{len(entries)} shard{'s' * (len(entries) != 1)}, {len(units)} record batches"
        return source

    schemas: dict[str, Any]

    def entries(self, listing: Listing) -> list[Entry]:
        return listing.of(self.kinds)

    def split_of(self, entry: Entry) -> str | None:
        return split_in_name(entry.path.rsplit("/", 1)[-1])

    def declared(self, unit: Unit) -> tuple[str, ...] | None:
        metadata = self.schemas[unit.file].metadata or {}
        return feature_classes(metadata.get(b"huggingface"), self.label)

    def _index(self, entry: Entry) -> list[tuple[int, int, int]]:
        """Byte ranges and row counts of the record batches; keeps the schema."""
        import pyarrow as pa

        fd = open_below(self.listing.base / entry.path, self.listing.roots)
        with os.fdopen(fd, "rb") as f:
            stream = pa.PythonFile(f, mode="r")
            if f.read(8) != b"ARROW1\0\0":
                f.seek(0)
            batches: list[tuple[int, int, int]] = []
            try:
                schema = pa.ipc.read_schema(pa.ipc.read_message(stream))
                self.schemas[entry.path] = schema
                while f.tell() + 8 <= entry.size:
                    lo = f.tell()
                    if os.pread(fd, 8, lo)[:8] in (b"\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0\0\0\0\0"):
                        break
                    message = pa.ipc.read_message(stream)
                    if message.type == "dictionary":
                        raise Unreadable(
                            "unreadable",
                            "dictionary-encoded batches are not read; write plain columns",
                            file=entry.path,
                        )
                    if message.type == "record batch":
                        rows = pa.ipc.read_record_batch(message, schema).num_rows
                        batches.append((lo, f.tell(), rows))
            except EOFError:
                pass  # a stream may end without its mark
            except (pa.ArrowException, OSError, ValueError) as e:
                if not batches:
                    raise Unreadable("unreadable", f"not Arrow IPC: {str(e)[:120]}", file=entry.path) from None
                self.problems.append(
                    Unreadable("truncated", f"ends after {len(batches)} whole batches: {str(e)[:80]}", file=entry.path)
                )
            return [b for b in batches if b[2]]

    def read(self, unit: Unit) -> bytes:
        lo, hi = unit.at
        fd = open_below(self.listing.base / unit.file, self.listing.roots)
        try:
            return os.pread(fd, hi - lo, lo)
        finally:
            os.close(fd)

    def decode(self, unit: Unit, raw: Any) -> Block:
        import pyarrow as pa

        problems: list[Unreadable] = []
        try:
            batch = pa.ipc.read_record_batch(pa.ipc.read_message(pa.BufferReader(raw)), self.schemas[unit.file])
            batch.validate(full=True)
        except (pa.ArrowException, OSError, ValueError, EOFError) as e:
            raise Unreadable("unreadable", f"record batch does not validate: {str(e)[:120]}", file=unit.file) from None
        return Block(unit, columns_of(batch, unit.file, problems), (), problems)


SOURCE = Arrow
