"""Runs of records of a CSV file as columns."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dataloader_expert.conclusions import number
from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.answer_files import Answered
from dataloader_expert.sources.arrow_columns import columns_of
from dataloader_expert.sources.base import Block, Column, Unit
from dataloader_expert.sources.csv_parts import Part
from dataloader_expert.sources.dialects import Dialect, filled
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.label_columns import numbers_listed
from dataloader_expert.sources.lines import MOST_ODD, utf8, without_nul
from dataloader_expert.sources.null_texts import with_null_texts, with_numbers_of
from dataloader_expert.sources.plain import NULLS
from dataloader_expert.sources.quoting import without_closing, without_spaces

_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


class CsvRecords(Answered[Part]):
    """A table whose units are runs of records."""

    listing: Listing
    dialects: dict[str, Dialect]
    told: frozenset[tuple[str, str]] = frozenset()
    """Files and those of their columns whose values are known to be unlike those of the other files."""
    listed: str | None = None
    """The label whose cells list numbers of classes."""
    texts: frozenset[str] = frozenset()
    """Columns that are read as text, for files write their dates in several ways."""
    only: list[str] | None = None
    """The columns to convert; None: all."""
    steps: frozenset[str] = frozenset()
    """Columns of series of unequal length: a file without some of them has no value there."""
    class_of: Mapping[str, str] = {}
    """The class of the rows of each file, where folders name it."""
    types: dict[str, Any] | None
    """Of the columns that have values in the first block that was read; None before."""

    def read(self, unit: Unit) -> bytes:
        return self.listing.span(unit.file, *unit.at)

    def decode(self, unit: Unit, raw: Any) -> Block:
        import numpy as np

        block = self._decoded(unit, raw)
        for name in self.steps - block.columns.keys() if self.only is None else ():
            block.columns[name] = Column([None] * block.samples, np.ones(block.samples, bool))
        if unit.file in self.class_of and (self.asked is None or "label" in self.asked):
            block.columns["label"] = Column([self.class_of[unit.file]] * block.samples)
        if self.listed in block.columns:
            cells = block.columns[self.listed]
            if (lists := numbers_listed(cells.values)) is not None:
                block.columns[self.listed] = replace(cells, values=lists)
        return self.with_answers(block)

    def _decoded(self, unit: Unit, raw: Any) -> Block:
        """The unit's samples as its file has them."""
        problems: list[Unreadable] = []
        data = without_nul(utf8(raw, unit.file, problems, unit.start), unit.file, problems, unit.start)
        dialect = self.dialects[unit.file]
        data = without_spaces(data, dialect.delimiter) if dialect.spaced else data
        data = without_closing(data) if dialect.closed else data
        data = filled(data, dialect) if dialect.optional else data
        data, blank = self._blanked(unit, data, problems)
        table, skipped = self._table(unit, data, problems)
        if self.types is None:
            self.types = {f.name: f.type for f in table.schema if str(f.type) != "null"}
        found = columns_of(table, unit.file, problems, unit.start)
        self._retyped(unit, table.schema, found, problems)
        if (blank or skipped) and table.num_rows + len(skipped) == unit.samples:
            import numpy as np

            rows = np.setdiff1d(np.arange(unit.samples), skipped)  # of the table, by their numbers in the unit
            sound = np.flatnonzero(~np.isin(rows, blank))
            columns = {name: column.take(sound) for name, column in found.items()}
            return Block(unit, columns, (), problems, rows=rows[sound])
        return Block(unit, found, (), problems)

    def _retyped(self, unit: Unit, schema: Any, columns: dict[str, Column], problems: list[Unreadable]) -> None:
        """Columns whose type is not that of the rows looked at first: of texts, those that are numbers are read as such, since a single
        other one makes texts of them all; else it is told."""
        for field in schema:
            before = (self.types or {}).get(field.name, field.type)
            if field.type == before:
                continue
            numbers = "float" in str(before) or "double" in str(before) or "int" in str(before)
            cells = numbers_among(columns[field.name].values) if numbers and str(field.type) == "string" else None
            if cells is not None:
                columns[field.name] = Column(cells, columns[field.name].nulls)
            elif (unit.file, field.name) not in self.told:
                first = self.units[0].file if self.units else ""
                where = f"in {first}" if first not in ("", unit.file) else "in the first rows"
                text = f"{field.name} has {_called(field.type)} here, but {_called(before)} {where}, which set its type"
                problems.append(Unreadable("dtype-drift", text, file=unit.file, field=field.name))

    def _blanked(self, unit: Unit, data: bytes, problems: list[Unreadable]) -> tuple[bytes, list[int]]:
        """The records with empty ones for those that repeat the header, as in files that were joined end to end: each would turn all
        columns into text. And which these are, counted from the unit's first."""
        import numpy as np

        dialect = self.dialects[unit.file]
        if not dialect.header or len(dialect.names) < 2:
            return data, []
        headers = [dialect.character.join(f"{q}{name}{q}" for name in dialect.names).encode() for q in ("", '"')]
        if not any(header in data for header in headers):
            return data, []
        bytes_ = np.frombuffer(data, np.uint8)
        ends, quotes = np.flatnonzero(bytes_ == 10), np.flatnonzero(bytes_ == 34)
        if dialect.quoted:
            ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        ends = ends[np.diff(ends, prepend=-1) > 1]  # of records, not of blank lines
        parts, rows, at = [], [], 0
        for found in re.finditer(b"|".join(map(re.escape, headers)), data):
            start, end = found.span()
            row = int(np.searchsorted(ends, start))
            first = int(ends[row - 1]) + 1 if row else 0
            if start == first and data[end : end + 1] in (b"\n", b"\r", b""):
                parts += [data[at:start], dialect.character.encode() * (len(dialect.names) - 1)]
                rows.append(row)
                at = end
        text = "a row repeats the header"
        problems += [Unreadable("parse-error", text, file=unit.file, sample=unit.start + n) for n in rows[:MOST_ODD]]
        return b"".join([*parts, data[at:]]), rows

    def _table(self, unit: Unit, data: bytes, problems: list[Unreadable]) -> tuple[Any, list[int]]:
        """The records with as many fields as the others, and the numbers, within the unit, of those that are left out."""
        import pyarrow as pa
        import pyarrow.csv as pc

        dialect = self.dialects[unit.file]

        skipped: list[int] = []
        known = len(problems)

        def wrong(row: Any) -> str:
            where = None
            if row.number is not None:
                where = unit.start + row.number - 1
                skipped.append(row.number - 1)
            text = f"{number(row.actual_columns, 'field')}, expected {row.expected_columns}: {row.text[:80]!r}"
            if dialect.begins and unit.start == self.first[unit.file] and len(skipped) < dialect.begins:
                text += f"; the table seems to begin in line {dialect.begins} of the file"
            problems.append(Unreadable("parse-error", text, file=unit.file, sample=where))
            return "skip"

        def parse(types: dict[str, Any], only: Sequence[str] | None = self.only, quoted_nulls: bool = False) -> Any:
            return pc.read_csv(
                io.BytesIO(data),
                read_options=pc.ReadOptions(
                    column_names=list(dialect.names), use_threads=False, block_size=max(len(data) + 1, 1 << 16)
                ),
                parse_options=pc.ParseOptions(
                    delimiter=dialect.character,
                    quote_char='"' if dialect.quoted else False,
                    newlines_in_values=dialect.quoted,
                    invalid_row_handler=wrong,
                ),
                convert_options=pc.ConvertOptions(
                    null_values=list(NULLS),
                    decimal_point=dialect.decimal,
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=quoted_nulls,
                    column_types={**types, **{name: pa.string() for name in self.texts}},
                    include_columns=None if only is None else [n for n in only if n in dialect.names],
                ),
            )

        try:
            table = parse(self.types or {})
        except pa.ArrowInvalid:
            if not self.types:
                raise
            del problems[known:], skipped[:]
            table = parse({})
        if doubtful := with_null_texts(table) if dialect.quoted else ():
            told, left_out = problems[:], skipped[:]  # they are told already
            table = with_numbers_of(table, parse({}, doubtful, quoted_nulls=True))
            problems[:], skipped[:] = told, left_out
        return table, skipped


def numbers_among(texts: list[str | None]) -> list[Any] | None:
    """The values with numbers in place of texts that are numbers; None if these are not most."""
    cells = [_number(text.strip()) if text is not None else None for text in texts]
    known = [cell for cell in cells if cell is not None]
    return cells if 2 * sum(not isinstance(cell, str) for cell in known) > len(known) else None


def _number(text: str) -> int | float | str:
    if not _PLAIN.fullmatch(text):
        return text
    return int(text) if text.lstrip("+-").isdigit() and len(text) < 19 else float(text)


def _called(kind: Any) -> str:
    """What the values of an Arrow type are, in words."""
    import pyarrow.types as t

    if t.is_integer(kind):
        return "whole numbers"
    if t.is_floating(kind):
        return "numbers with a decimal point"
    if t.is_boolean(kind):
        return "true or false"
    if t.is_temporal(kind):
        return "dates or times"
    return "no values" if t.is_null(kind) else "texts"
