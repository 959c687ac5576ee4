"""Parquet: a file, a folder of files, or hive partitions; a unit is a row group, page checksums are verified."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dataloader_expert.conclusions import number
from dataloader_expert.errors import NothingReadable, RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.answer_files import Answered, joined
from dataloader_expert.sources.arrow_columns import absent_columns, columns_of, extra_columns
from dataloader_expert.sources.base import Block, Column, Source, Unit, runs
from dataloader_expert.sources.bombs import MOST_CELLS, no_flood, no_inflation
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.hub import feature_classes
from dataloader_expert.sources.key_lists import divide
from dataloader_expert.sources.layout import SPLITS, splits_of_files
from dataloader_expert.sources.other_tables import Keys, Records, all_aside, of_one_table
from dataloader_expert.sources.parquet_footer import ends_the_process

SAME_CELLS = 100
"""Cells that a file whose rows are all the same may claim for each of its bytes, beyond those that any may."""
STEP_BYTES = 64 << 20
PEEKED = 1 << 14
"""Rows of a larger row group that tell what its columns are."""
Spans = list[tuple[int, bytes]]
"""Pieces of a file, each with its offset."""


@dataclass(frozen=True)
class _Part:
    """A file with its footer, schema, split, and what its folders say of all rows."""

    path: str
    metadata: Any
    schema: Any
    split: str | None
    within: dict[str, str]
    written = None
    named = True

    @property
    def names(self) -> Sequence[str]:
        names: list[str] = self.schema.names
        return names

    @property
    def records(self) -> int:
        return int(self.metadata.num_rows)

    def units(self, first: int, start: int) -> Iterator[Unit]:
        """Its row groups; ``first``: the number of the first one, ``start``: of its first row."""
        for group in range(self.metadata.num_row_groups):
            held = self.metadata.row_group(group)
            lo, hi = _span(held)
            at = (group, lo, hi, self.within)
            yield Unit(first + group, self.path, start, held.num_rows, hi - lo, self.split, None, at)
            start += held.num_rows


class Parquet(Answered[_Part]):
    format = "parquet"
    kinds = frozenset({"parquet"})
    in_shards = True
    listing: Listing

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        entries = listing.of(cls.kinds)
        source = cls()
        source.listing = listing
        source.metadata = {}
        source.files, source.bytes = len(entries), sum(e.size for e in entries)
        parts: list[_Part] = []
        splits = splits_of_files([e.path for e in entries])
        for entry, split in zip(entries, splits, strict=True):
            try:
                metadata = source._footer(entry)
                found = _schema(metadata, entry.path)
            except Unreadable as problem:
                source.problems.append(problem)
                continue
            except Exception as e:  # hostile bytes: statistics and names that the library cannot turn into values
                text = f"the footer cannot be read: {str(e)[:120]}"
                source.problems.append(Unreadable("unreadable", text, file=entry.path))
                continue
            keys = hive_keys(entry.path)
            split = keys.pop("split", None) or split
            parts.append(_Part(entry.path, metadata, found, split, keys))
        source.metadata = {part.path: part.metadata for part in parts}
        parts = source._one_table(source.without_answers(parts))
        divide(source, parts, lambda part: source.columns_in(part, True))
        source.metadata = {part.path: part.metadata for part in parts}
        units: list[Unit] = []
        start = 0
        for part in parts:
            source.first[part.path] = start
            units += part.units(len(units), start)
            start += part.records
        if not units:
            if source.problems:
                text = f"no Parquet file could be read: {source.problems[0].told()}: write them again, or pass another source"
                raise NothingReadable(text, source.problems)
            raise RequestError("format-unknown", "no rows in any Parquet file; give a folder with data")
        schemas = {part.path: part.schema for part in parts}
        expected = commonest(schemas)
        for path, found in schemas.items():
            if not found.equals(expected):
                source.problems += schema_drift(expected, found, path)
        source.units = tuple(units)
        source.sharding = (
            f"{len(source.metadata)} file{'s' * (len(source.metadata) != 1)}, {len(units)} row groups of up to "
            f"{max(u.samples for u in units)} rows"
        )
        if source.aligned:
            source.sharding += f"; columns of these rows in {number(len(source.aligned), 'more file')}"
        source.withhold_answers()
        source.describe()
        declared = source.metadata[units[0].file].metadata or {}
        source.classes = feature_classes(declared.get(b"huggingface"), source.label) or declared_classes(listing)
        return source

    metadata: dict[str, Any]

    def _one_table(self, parts: list[_Part]) -> list[_Part]:
        """The files of one table; what is in the others is told."""
        held = [Records(p.path, p.split, Keys(tuple(sorted(p.names)), frozenset(p.names)), p.records) for p in parts]
        kept = of_one_table(held)
        self.problems += all_aside(held, kept)
        paths = {part.path for part in kept}
        return [part for part in parts if part.path in paths]

    def columns_in(self, part: _Part, whole: bool) -> dict[str, Column]:
        units = [*part.units(0, 0)]
        blocks = [self._decoded(unit, _Window(self.read(unit)), None) for unit in (units if whole else units[:1])]
        self.problems += [problem for block in blocks for problem in block.problems if whole]
        return {name: joined([block.columns[name] for block in blocks]) for name in part.names}

    def _footer(self, entry: Entry) -> Any:
        import pyarrow.parquet as pq

        if entry.size < 12:
            raise Unreadable("truncated" if entry.size else "empty-file", f"{entry.size} bytes", file=entry.path)
        with self.listing.open(entry.path) as f:
            if (mark := f.upto(0, 4)) not in (b"PAR1", b"PARE"):
                self.problems.append(
                    Unreadable("header-mismatch", f"begins with {mark!r}, not with PAR1", file=entry.path)
                )
            tail = f.exactly(entry.size - 8, 8)
            if tail[4:] != b"PAR1":
                raise Unreadable("truncated", "no Parquet footer at the end", file=entry.path)
            if int.from_bytes(tail[:4], "little") > entry.size - 12:
                raise Unreadable("header-mismatch", "the footer claims more bytes than the file has", file=entry.path)
            size = int.from_bytes(tail[:4], "little")
            # Arrow's parser goes on into what stands after the footer, if the footer does not end itself
            if ends_the_process(f.exactly(entry.size - 8 - size, size + 8)):
                text = "the footer counts the levels of a column that has others by its schema"
                raise Unreadable("header-mismatch", text, file=entry.path)
            f.seek(0)
            try:
                metadata = pq.read_metadata(f)
            except Exception as e:  # hostile bytes make the library raise anything
                raise Unreadable("unreadable", f"the footer cannot be read: {str(e)[:120]}", file=entry.path) from None
        for group in range(metadata.num_row_groups):
            lo, hi = _span(metadata.row_group(group))
            if lo < 0 or hi > entry.size:
                raise Unreadable("header-mismatch", f"row group {group} lies outside the file", file=entry.path)
        chunks = [
            metadata.row_group(g).column(i) for g in range(metadata.num_row_groups) for i in range(metadata.num_columns)
        ]
        for i, chunk in enumerate(chunks):
            declared = metadata.schema.column(i % metadata.num_columns).physical_type
            if chunk.physical_type != declared:  # reading such a chunk would end the process
                text = f"a column chunk holds {chunk.physical_type} where the schema says {declared}"
                raise Unreadable("header-mismatch", text, file=entry.path)
        cells = max(metadata.num_rows * metadata.num_columns, sum(c.num_values for c in chunks))
        no_flood(cells, entry.size, "the file", entry.path, SAME_CELLS if _constant(metadata) else MOST_CELLS)
        no_inflation(sum(c.total_uncompressed_size for c in chunks), entry.size, "the file", entry.path)
        return metadata

    only: tuple[str, ...] | None = None
    """The columns that are read; None: all."""

    def read_only(self, names: Sequence[str]) -> None:
        self.asked = frozenset(names)
        own = dict.fromkeys(name for file in self.metadata.values() for name in file.schema.to_arrow_schema().names)
        wanted = [*self.stored(names), *self.matched]
        there = tuple(name for name in dict.fromkeys(wanted) if name in own or name not in self.answered)
        self.only = there or (next(iter(own)),)  # which says how many rows there are

    def read(self, unit: Unit) -> Spans:
        """The bytes of the row group's columns, those that lie side by side in one piece."""
        group, lo, hi, _ = unit.at
        spans = [(lo, hi)]
        if self.only is not None:
            spans = _spans(self.metadata[unit.file].row_group(group), self.only)
        return [(lo, self.listing.span(unit.file, lo, hi)) for lo, hi in spans]

    def decode(self, unit: Unit, raw: Any) -> Block:
        return self._decoded(unit, _Window(raw), None)

    def peek(self, unit: Unit) -> Block:
        with self.listing.open(unit.file) as file:
            return self._decoded(unit, file, None if unit.samples <= PEEKED else runs(unit.samples, PEEKED))

    def _decoded(self, unit: Unit, file: Any, rows: Any) -> Block:
        """The rows of these places, in order; None: all."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        group, _, _, keys = unit.at
        problems: list[Unreadable] = []
        try:
            flat, nested = _shared_texts(self.metadata[unit.file].row_group(group))
            reader = pq.ParquetFile(
                pa.PythonFile(file, mode="r"),
                metadata=self.metadata[unit.file],
                page_checksum_verification=True,
                pre_buffer=False,
                read_dictionary=flat,  # what they expand to is known before it is made
            )
            if rows is None:
                table = _bounded(reader, unit, group, nested, self.only)
            else:
                table = _some(reader, unit, group, nested, self.only, rows)
            columns = columns_of(table, unit.file, problems, unit.start)
        except Unreadable:
            raise
        except Exception as e:  # hostile bytes make the library raise anything
            text = str(e)
            code = "checksum-mismatch" if "CRC" in text or "checksum" in text else "unreadable"
            raise Unreadable(code, f"row group {group} does not decode: {text[:160]}", file=unit.file) from None
        n = unit.samples if rows is None else len(rows)
        within = {key: Column([value] * n) for key, value in keys.items()}  # first, as the last column may be the label
        return self.with_answers(self.made(Block(unit, within | columns | within, (), problems, rows=rows)))


def _shared_texts(group: Any) -> tuple[list[str], int]:
    """Columns whose texts stand in a dictionary, and so may be many for few bytes, and the nested ones' largest size."""
    flat, nested = [], 0
    for i in range(group.num_columns):
        chunk = group.column(i)
        if chunk.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page:
            if "." in chunk.path_in_schema:
                nested = max(nested, chunk.total_uncompressed_size)
            else:
                flat.append(chunk.path_in_schema)
    return flat, nested


def _bounded(reader: Any, unit: Unit, group: int, largest: int, only: Sequence[str] | None) -> Any:
    """The row group as a table, in steps where a nested text of at most ``largest`` bytes may be repeated."""
    import pyarrow as pa

    if unit.samples * largest <= STEP_BYTES:
        return reader.read_row_group(group, columns=only, use_threads=False)
    batches, made = [], 0
    rows = max(1, STEP_BYTES // largest)
    for batch in reader.iter_batches(rows, row_groups=[group], columns=only, use_threads=False):
        batches.append(batch)
        made += batch.nbytes
        no_inflation(made, unit.bytes, f"row group {group}", unit.file)
    return pa.Table.from_batches(batches)


def _some(reader: Any, unit: Unit, group: int, largest: int, only: Sequence[str] | None, rows: Any) -> Any:
    """Some rows of the row group, in order, decoded column by column: the memory of one serves the next.

    They are slices, for ``take`` imports pandas wherever it is installed.
    """
    import numpy as np
    import pyarrow as pa

    runs_of = [(int(r[0]), len(r)) for r in np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)]
    kinds = {field.name: field.type for field in reader.schema_arrow}
    columns = {}
    for name in kinds if only is None else only:
        whole = _bounded(reader, unit, group, largest if pa.types.is_nested(kinds[name]) else 0, [name])
        part = pa.concat_tables([whole.slice(start, length) for start, length in runs_of])
        at = len(part.schema.names) - 1 - part.schema.names[::-1].index(name)  # of two columns of one name the last
        columns[name] = part.column(at).combine_chunks()
    return pa.table(columns)


class _Window(io.RawIOBase):
    """A file of which only some spans of bytes are held, at their true offsets."""

    def __init__(self, spans: Spans) -> None:
        self._spans, self._at = [(start, memoryview(data)) for start, data in spans], 0
        self._end = max((start + len(data) for start, data in spans), default=0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._end)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        for start, held in self._spans:
            lo = self._at - start
            if 0 <= lo < len(held):
                data = bytes(held[lo : lo + size] if size >= 0 else held[lo:])
                self._at += len(data)
                return data
        if self._at >= self._end:
            return b""
        raise OSError(f"offset {self._at} lies outside what was read of the row group")


def _constant(metadata: Any) -> bool:
    """Whether the statistics of every column chunk name one value only."""
    for group in range(metadata.num_row_groups):
        for i in range(metadata.num_columns):
            found = metadata.row_group(group).column(i).statistics
            if found is None or not found.has_min_max or found.min != found.max:
                return False
    return True


def _span(group: Any) -> tuple[int, int]:
    chunks = [_place(group.column(i)) for i in range(group.num_columns)]
    return (min(lo for lo, _ in chunks), max(hi for _, hi in chunks)) if chunks else (0, 0)


def _spans(group: Any, names: Sequence[str]) -> list[tuple[int, int]]:
    """Where the columns lie, in order; those that touch are one."""
    chunks = [group.column(i) for i in range(group.num_columns)]
    within = tuple(f"{name}." for name in names)
    wanted = [c for c in chunks if c.path_in_schema in names or c.path_in_schema.startswith(within)]
    spans: list[tuple[int, int]] = []
    for lo, hi in sorted(map(_place, wanted)):
        if spans and lo <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(hi, spans[-1][1])
        else:
            spans.append((lo, hi))
    return spans


def _place(chunk: Any) -> tuple[int, int]:
    """Where a column chunk begins and ends in its file."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    return at, at + chunk.total_compressed_size


def _schema(metadata: Any, file: str) -> Any:
    try:
        return metadata.schema.to_arrow_schema().remove_metadata()
    except Exception as e:  # names that are no text, types that do not exist
        raise Unreadable("unreadable", f"the schema cannot be read: {str(e)[:120]}", file=file) from None


def commonest(schemas: dict[str, Any]) -> Any:
    """The schema that most files have, of equally many the first file's."""
    kinds: list[Any] = []
    counts: list[int] = []
    for schema in schemas.values():
        at = next((i for i, kind in enumerate(kinds) if schema.equals(kind)), len(kinds))
        if at == len(kinds):
            kinds.append(schema)
            counts.append(0)
        counts[at] += 1
    return kinds[max(range(len(kinds)), key=lambda i: (counts[i], -i))]


def schema_drift(expected: Any, found: Any, file: str) -> list[Unreadable]:
    """How a file's schema differs from that of most files."""
    problems = absent_columns([n for n in expected.names if n not in found.names], file)
    for name in expected.names:
        if name not in found.names:
            continue
        if found.field(name).type != expected.field(name).type:
            text = f"{name} is {found.field(name).type}, elsewhere {expected.field(name).type}"
            problems.append(Unreadable("dtype-drift", text, file=file, field=name))
    problems += extra_columns([n for n in found.names if n not in expected.names], file)
    return problems


def hive_keys(path: str) -> dict[str, str]:
    """``year=2020/split=train/part.parquet`` → ``{"year": "2020", "split": "train"}``."""
    pairs = (p.split("=", 1) for p in path.split("/")[:-1] if "=" in p)
    return {k: SPLITS.get(v.lower(), v) if k == "split" else v for k, v in pairs}


SOURCE = Parquet
