"""Arrow IPC, file and stream: a unit is a record batch, found from the message headers alone,
which also say how large a batch becomes; validated before use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataloader_expert.errors import NothingReadable, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.arrow_columns import columns_of
from dataloader_expert.sources.arrow_message import BATCH, DICTIONARY, SCHEMA, Message, message_at
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.hub import feature_classes
from dataloader_expert.sources.layout import splits_of_files
from dataloader_expert.sources.tables import Table

MAGIC = b"ARROW1\0\0"


class Arrow(Table):
    format = "arrow"
    kinds = frozenset({"arrow"})
    listing: Listing

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        source = cls()
        source.listing = listing
        source.schemas, source.dictionaries = {}, {}
        entries = source.entries(listing)
        source.files, source.bytes = len(listing.entries), sum(e.size for e in listing.entries)
        splits = source.splits_of(entries)
        units: list[Unit] = []
        start = 0
        for entry, split in zip(entries, splits, strict=True):
            try:
                for m in source._index(entry):
                    units.append(Unit(len(units), entry.path, start, m.rows, m.stored, split, None, (m.start, m.end)))
                    start += m.rows
            except Unreadable as problem:
                source.problems.append(problem)
        if not units:
            why = source.problems[0].told() if source.problems else "no Arrow file with rows"
            raise NothingReadable(f"{why}; give a folder with data", source.problems)
        source.units = tuple(units)
        source.describe()
        source.classes = source.declared(units[0]) or declared_classes(listing)
        source.sharding = f"{len(entries)} shard{'s' * (len(entries) != 1)}, {len(units)} record batches"
        return source

    schemas: dict[str, Any]
    only: frozenset[str] | None = None
    """The columns to convert; None: all."""

    def read_only(self, names: Sequence[str]) -> None:
        self.only = frozenset(self.stored(names))

    dictionaries: dict[str, list[Message]]

    def entries(self, listing: Listing) -> list[Entry]:
        return listing.of(self.kinds)

    def splits_of(self, entries: list[Entry]) -> list[str | None]:
        return splits_of_files([entry.path for entry in entries])

    def declared(self, unit: Unit) -> tuple[str, ...] | None:
        metadata = self.schemas[unit.file].metadata or {}
        return feature_classes(metadata.get(b"huggingface"), self.label)

    def _index(self, entry: Entry) -> list[Message]:
        """The record batches that have rows; also keeps the schema and the positions of the dictionaries before each batch."""
        import pyarrow as pa

        batches: list[Message] = []
        dictionaries = self.dictionaries[entry.path] = []
        with self.listing.open(entry.path) as file:
            is_file = file.upto(0, 8) == MAGIC
            at = len(MAGIC) if is_file else 0
            first = message_at(file, at)
            if first is None or first.kind != SCHEMA:
                raise Unreadable("unreadable", "not Arrow IPC: it does not begin with a schema", file=entry.path)
            try:
                self.schemas[entry.path] = pa.ipc.read_schema(pa.py_buffer(file.exactly(at, first.stored)))
            except (pa.ArrowException, OSError, ValueError) as e:
                raise Unreadable("unreadable", f"not Arrow IPC: {str(e)[:120]}", file=entry.path) from None
            try:
                message = message_at(file, first.end)
                while message is not None:
                    if message.kind == DICTIONARY:
                        dictionaries.append(message)
                    elif message.kind == BATCH and message.rows:
                        batches.append(message)
                    message = message_at(file, message.end)
            except Unreadable as problem:
                if not batches:
                    raise
                text = f"after {len(batches)} whole batches: {problem.message}"
                self.problems.append(Unreadable(problem.code, text, file=entry.path))
            else:
                if is_file and file.upto(file.size - 6, 6) != MAGIC[:6]:
                    self.problems.append(Unreadable("truncated", "ends without its footer", file=entry.path))
        return batches

    def read(self, unit: Unit) -> bytes:
        """The bytes of the batch, preceded by the schema and any dictionaries that it needs."""
        lo, hi = unit.at
        if not self.dictionaries[unit.file]:
            return self.listing.span(unit.file, lo, hi)
        with self.listing.open(unit.file) as file:
            parts = [file.exactly(m.start, m.stored) for m in self.dictionaries[unit.file] if m.start < lo]
            return b"".join([*parts, file.exactly(lo, hi - lo)])

    def decode(self, unit: Unit, raw: Any) -> Block:
        import pyarrow as pa

        problems: list[Unreadable] = []
        schema = self.schemas[unit.file]
        try:
            if self.dictionaries[unit.file]:
                stream = pa.BufferReader(b"".join([schema.serialize().to_pybytes(), raw]))
                batch = pa.ipc.open_stream(stream).read_next_batch()
            else:
                batch = pa.ipc.read_record_batch(pa.ipc.read_message(pa.BufferReader(raw)), schema)
            batch = batch if self.only is None else batch.select([n for n in batch.schema.names if n in self.only])
            batch.validate(full=True)
            columns = columns_of(batch, unit.file, problems, unit.start)
        except (pa.ArrowException, OSError, ValueError, EOFError) as e:
            raise Unreadable("unreadable", f"record batch does not validate: {str(e)[:120]}", file=unit.file) from None
        return self.made(Block(unit, columns, (), problems))


SOURCE = Arrow
