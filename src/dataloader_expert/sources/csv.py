"""CSV: delimiter, header and quoting are detected and reported; a unit is a run of records."""

from __future__ import annotations

import csv as stdlib_csv
import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import read_folders, split_in_name
from dataloader_expert.sources.lines import MOST_ODD, Range, record_ranges, utf8, without_nul
from dataloader_expert.sources.plain import NULLS
from dataloader_expert.sources.roles import FEW, words
from dataloader_expert.sources.tables import Table, absent_columns, columns_of, extra_columns, listed
from dataloader_expert.sources.times import is_time

SAMPLE = 256 << 10
FORMS_FROM = 200
"""Rows of each file from which the form of its values is told."""


@dataclass(frozen=True)
class Dialect:
    """The dialect of a file.

    ``names``: of its columns, made distinct; ``skip``: bytes before the first record; ``repeated``: names that the header repeats.
    """

    delimiter: str
    quoted: bool
    header: bool
    names: tuple[str, ...]
    skip: int
    repeated: tuple[str, ...] = ()
    forms: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    """What the first values of each column are, with one of them; None if they are not of one form."""


@dataclass(frozen=True)
class _Part:
    """A file, its split, and the ranges of its records."""

    path: str
    split: str | None
    dialect: Dialect
    ranges: list[Range]

    @property
    def records(self) -> int:
        return sum(records for _, _, records in self.ranges)

    def unlike(self, names: set[str]) -> bool:
        """Whether at most half of its and the table's columns are in both; the split of a table is part of it in any case.

        A form to fill in has the key and the label of another file.
        """
        if self.split is not None:
            return False
        mine = set(self.dialect.names)
        asked = "submission" in words(self.path.rsplit("/", 1)[-1])
        return asked or 2 * len(mine & names) <= len(mine | names)


class Csv(Table):
    format = "csv"
    kinds = frozenset({"csv"})
    in_shards = True
    delimiters: ClassVar[str] = ",;\t|"
    listing: Listing

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        entries = listing.of(cls.kinds)
        source = cls()
        source.listing = listing
        source.files, source.bytes = len(entries), sum(e.size for e in entries)
        source.dialects, source.types = {}, None
        folders, _, _ = read_folders([e.path for e in entries])
        parts: list[_Part] = []
        for entry, folder in zip(entries, folders, strict=True):
            if not entry.size:
                continue  # already reported as empty
            try:
                dialect = source._dialect(entry)
                ranges = record_ranges(listing, entry.path, dialect.quoted, dialect.skip)
            except Unreadable as problem:
                source.problems.append(problem)
                continue
            split = split_in_name(entry.path.rsplit("/", 1)[-1]) or folder
            parts.append(_Part(entry.path, split, dialect, ranges))
        parts = source._one_table(parts)
        units: list[Unit] = []
        start = 0
        for part in parts:
            source.dialects[part.path] = part.dialect
            for lo, hi, records in part.ranges:
                units.append(Unit(len(units), part.path, start, records, hi - lo, part.split, None, (lo, hi)))
                start += records
        if not units:
            raise RequestError("format-unknown", f"no {cls.format} file has records; give a file with data")
        source.units = tuple(units)
        first = source.dialects[units[0].file]
        source._check_forms(parts)
        source.describe()
        source._check_headers(parts)
        source.classes = declared_classes(listing)
        n = len(source.dialects)
        source.sharding = (
            f"{n} file{'s' * (n != 1)}, delimiter {first.delimiter!r}, "
            f"{'with' if first.header else 'without'} a header, quoting {'on' if first.quoted else 'off'}"
        )
        return source

    dialects: dict[str, Dialect]
    names: tuple[str, ...]
    """The columns of the table: those of most rows, of the training split if there is one."""
    told: frozenset[tuple[str, str]] = frozenset()
    """Files and those of their columns whose values are known to be unlike those of the other files."""
    texts: frozenset[str] = frozenset()
    """Columns that are read as text, for files write their dates in several ways."""
    only: list[str] | None = None
    """The columns to convert; None: all."""

    def read_only(self, names: Sequence[str]) -> None:
        known = dict.fromkeys(n for d in self.dialects.values() for n in d.names)
        self.only, self.types = [n for n in known if n in names], None

    types: dict[str, Any] | None
    """Of the columns that have values in the first block that was read; None before."""

    def telling(self) -> Sequence[Unit]:
        return sorted(self.units, key=lambda unit: {*self.dialects[unit.file].names} != {*self.names})

    def _one_table(self, parts: list[_Part]) -> list[_Part]:
        """The files that are parts of one table; a smaller file with other columns is another one, such as a list of classes."""
        rows: Counter[tuple[str, ...]] = Counter()
        for part in [p for p in parts if p.split == "train"] or parts:
            rows[tuple(sorted(part.dialect.names))] += part.records
        if not rows:
            return parts
        [(names, _)] = rows.most_common(1)
        self.names, total = names, sum(part.records for part in parts)
        kept = []
        for part in parts:
            mine = set(part.dialect.names)
            if len(mine) == len(names) or 2 * part.records >= total or not part.unlike(set(names)):
                kept.append(part)
                continue
            text = f"its columns ({listed(part.dialect.names)}) are not those of the data: not read as samples"
            self.problems.append(Unreadable("foreign-file", text, file=part.path))
        others = [part for part in kept if part.split not in (None, "train")]
        lacking = {frozenset(set(names) - set(part.dialect.names)) for part in others} - {frozenset()}
        if any(part.split == "train" for part in kept) and len(lacking) == 1:
            [lacked] = lacking
            self.withheld = next(iter(lacked)) if len(lacked) == 1 else None
        return kept

    def _dialect(self, entry: Entry) -> Dialect:
        head = self.listing.head(entry.path, SAMPLE)
        if head.count(b"\0") > head.count(b"\n"):
            raise Unreadable("not-the-format", "contains NUL bytes, so it is not text", file=entry.path)
        return sniff_dialect(head, self.delimiters, len(head) == entry.size)

    def _check_headers(self, parts: list[_Part]) -> None:
        """Columns that a file lacks and the table has, and the reverse; a split in which no file has the label is unlabelled."""
        labelled = {part.split for part in parts if self.label in part.dialect.names}
        for part in parts:
            for name in part.dialect.repeated:
                text = f"several columns are called {name}; those after the first are read as {name}_2 and so on"
                self.problems.append(Unreadable("odd-name", text, file=part.path, field=name))
            mine = set(part.dialect.names)
            absent, extra = sorted(set(self.names) - mine), sorted(mine - set(self.names))
            if self.label in absent and part.split is not None and part.split not in labelled:
                absent.remove(self.label)
            self.problems += absent_columns(absent, part.path) + extra_columns(extra, part.path)

    def _check_forms(self, parts: list[_Part]) -> None:
        """Columns in which a file has other values than most rows of the others: texts for numbers, or dates written otherwise."""
        told, texts = set(), set()
        for name in self.names:
            found = [(p, *known) for p in parts if (known := p.dialect.forms.get(name)) is not None]
            rows: Counter[str] = Counter()
            for part, form, _ in found:
                rows[form] += part.records
            if len(rows) < 2:
                continue
            [(usual, _)] = rows.most_common(1)
            example = next(cell for _, form, cell in found if form == usual)
            dates = all("dates" in form for form in rows)
            if dates:
                texts.add(name)
            for part, form, cell in found:
                if form == usual:
                    continue
                told.add((part.path, name))
                here, there = ("dates", "dates") if dates else (form, usual)
                text = f"{name} has {here} such as {cell[:40]!r}, in the other files {there} such as {example[:40]!r}"
                self.problems.append(Unreadable("dtype-drift", text, file=part.path, field=name))
        self.told, self.texts = frozenset(told), frozenset(texts)

    def read(self, unit: Unit) -> bytes:
        return self.listing.span(unit.file, *unit.at)

    def decode(self, unit: Unit, raw: Any) -> Block:
        problems: list[Unreadable] = []
        data = without_nul(utf8(raw, unit.file, problems, unit.start), unit.file, problems, unit.start)
        table = self._table(unit, data, problems)
        if self.types is None:
            self.types = {f.name: f.type for f in table.schema if str(f.type) != "null"}
        columns = columns_of(table, unit.file, problems, unit.start)
        for name, column in columns.items():
            if isinstance(column.values, list):
                problems += _odd_cells(name, column.values, unit)
        return Block(unit, columns, (), problems)

    def _table(self, unit: Unit, data: bytes, problems: list[Unreadable]) -> Any:
        import pyarrow as pa
        import pyarrow.csv as pc

        dialect = self.dialects[unit.file]

        def wrong(row: Any) -> str:
            where = unit.start + (row.number or 1) - 1 if row.number is not None else None
            text = f"{row.actual_columns} fields, expected {row.expected_columns}: {row.text[:80]!r}"
            problems.append(Unreadable("parse-error", text, file=unit.file, sample=where))
            return "skip"

        def parse(types: dict[str, Any]) -> Any:
            return pc.read_csv(
                io.BytesIO(data),
                read_options=pc.ReadOptions(
                    column_names=list(dialect.names), use_threads=False, block_size=max(len(data) + 1, 1 << 16)
                ),
                parse_options=pc.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char='"' if dialect.quoted else False,
                    newlines_in_values=dialect.quoted,
                    invalid_row_handler=wrong,
                ),
                convert_options=pc.ConvertOptions(
                    null_values=list(NULLS),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    column_types={**types, **{name: pa.string() for name in self.texts}},
                    include_columns=None if self.only is None else [n for n in self.only if n in dialect.names],
                ),
            )

        if self.types is None:
            return parse({})
        try:
            return parse(self.types)
        except pa.ArrowInvalid:
            del problems[:]
            table = parse({})
            for field in table.schema:
                before = self.types.get(field.name, field.type)
                if field.type != before and (unit.file, field.name) not in self.told:
                    text = f"{field.name} has {_called(field.type)}, in the rows looked at first {_called(before)}"
                    problems.append(Unreadable("dtype-drift", text, file=unit.file, field=field.name))
            return table


def sniff_dialect(head: bytes, delimiters: str, whole: bool) -> Dialect:
    """Delimiter (most consistent field count), quoting, header and names from a file's first bytes."""
    bom = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    text = head[bom:].decode("utf-8", "replace")
    if not whole and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    lines = [line for line in text.splitlines() if line][:2000]
    bare = [line for line in _CELL.sub("q", text).splitlines() if line][:2000]  # separators inside quotes do not count

    def fit(mark: str) -> tuple[float, int]:
        return max(_evenness(lines, mark), _evenness(bare, mark))

    if not lines:
        raise Unreadable("empty-file", "no lines")
    delimiter = max(delimiters, key=fit)
    closed = text if whole or text.count('"') % 2 == 0 else text[: text.rindex('"')].rpartition("\n")[0]
    quoted = _quoted(lines, delimiter) or _well_quoted(closed, delimiter)
    reader = stdlib_csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=stdlib_csv.QUOTE_MINIMAL if quoted else stdlib_csv.QUOTE_NONE,
    )
    rows: list[list[str]] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) >= 1000:
                break
    except stdlib_csv.Error:
        pass  # the readable head is enough for detection
    header = _has_header(rows)
    width = len(rows[0])
    names = _unique(rows[0]) if header else tuple(f"f{i}" for i in range(width))
    said = Counter(name.strip() for name in rows[0] if header and name.strip())
    skip = bom
    if header:
        first = head[bom:]
        at, odd = 0, False
        while at < len(first) and (odd or first[at : at + 1] != b"\n"):
            odd ^= quoted and first[at : at + 1] == b'"'
            at += 1
        skip += at + 1
    repeated = tuple(name for name, n in said.items() if n > 1)
    values = rows[header : FORMS_FROM + header]
    forms = {name: _form([row[i] for row in values if i < len(row)]) for i, name in enumerate(names)}
    return Dialect(delimiter, quoted, header, names, skip, repeated, forms)


def _form(cells: list[str]) -> tuple[str, str] | None:
    """What all cells are that have a value, and the first of them; None where they differ or are few."""
    present = [cell.strip() for cell in cells if cell not in NULLS]
    if len(present) < FEW:
        return None
    numbers = sum(map(_number, present))
    if numbers == len(present):
        return "numbers", present[0]
    if all(map(is_time, present)):
        return ("ISO dates" if all(map(_ISO.match, present)) else "dates in another form than ISO"), present[0]
    return ("texts", present[0]) if not numbers and not any(map(is_time, present)) else None


def _called(kind: Any) -> str:
    """What the values of an Arrow type are, in words."""
    import pyarrow.types as t

    if t.is_integer(kind):
        return "whole numbers"
    if t.is_floating(kind):
        return "numbers with fractions"
    if t.is_boolean(kind):
        return "true or false"
    if t.is_temporal(kind):
        return "dates or times"
    return "no values" if t.is_null(kind) else "texts"


_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_CELL = re.compile(r'"(?:[^"]|"")*"')


def _evenness(lines: list[str], mark: str) -> tuple[float, int]:
    """The share of lines that contain the character as often as most do, and how often that is."""
    counts = Counter(line.count(mark) for line in lines)
    most, lines_with = counts.most_common(1)[0]
    return (lines_with / len(lines) if most else 0.0, most)


def _odd_cells(name: str, values: list[Any], unit: Unit) -> list[Unreadable]:
    """Texts in a column that otherwise contains numbers; they turned the whole column into text."""
    present = [(i, v) for i, v in enumerate(values) if isinstance(v, str)]
    few = present[:100]
    if len(few) < 10 or sum(_number(v) for _, v in few) * 10 < 8 * len(few):
        return []
    odd = [i for i, v in present if not _number(v)]
    if not odd or len(odd) * 10 > len(present):
        return []
    of = f"{name} contains numbers except for {len(odd)} texts such as"
    return [
        Unreadable(
            "dtype-drift", f"{of} {values[i][:40]!r}: read as text", file=unit.file, field=name, sample=unit.start + i
        )
        for i in odd[:MOST_ODD]
    ]


def _quoted(lines: list[str], delimiter: str) -> bool:
    """Whether double quotes enclose fields: no, if every line splits evenly without them and some are unpaired."""
    if not any('"' in line for line in lines):
        return delimiter != "\t"
    even = len({line.count(delimiter) for line in lines}) == 1
    cells = [c for line in lines for c in line.split(delimiter) if '"' in c]
    wrapped = sum(len(c) > 1 and c[0] == '"' == c[-1] and c[1:-1].count('"') % 2 == 0 for c in cells)
    return not (even and wrapped < len(cells))


def _well_quoted(text: str, delimiter: str) -> bool:
    """Whether every double quote opens or closes an entire cell, and the cells that span lines are not chance pairs.

    A file that is not quoted may have a quote at the start of a cell and the next one at the end of a cell some lines below. Read
    as quoted, such pairs are the exception among its records, or they swallow the numbers with which every line begins or ends.
    """
    mark = re.escape(delimiter)
    cells = re.compile(rf'(?:(?<=^)|(?<={mark}))"(?:[^"]|"")*"(?={mark}|\r?$)', re.MULTILINE)
    found = cells.findall(text)
    if not found or '"' in cells.sub("", text):
        return False
    if sum("\n" in c for c in found) * 2 <= len(found):
        return True
    try:
        rows = [row for row in stdlib_csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row][1:]
    except stdlib_csv.Error:  # such as a cell of over 128 KiB
        return False
    lines = [line.split(delimiter) for line in text.splitlines() if line][1:]
    spanning = Counter(i for row in rows for i, cell in enumerate(row) if "\n" in cell)
    if not spanning or max(spanning.values()) * 2 <= len(rows):
        return False  # a writer that wraps texts does so in one column, record after record
    return not any(all(map(_number, column)) for column in zip(*lines, strict=False))


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: more of its cells must be told apart from their column than look like its values.

    An empty, numeric or repeated cell decides nothing on its own: an index has no name, and years or pixels are named by numbers.
    """
    first, rest = [cell.strip() for cell in rows[0]], [row for row in rows[1:] if row != rows[0]]
    if not rest:
        return not any(map(_number, first))
    names, alike = set(), 0
    steady = _steady([float(cell) for cell in first if _number(cell)])
    for i, cell in enumerate(first):
        column = [r[i] for r in rest if len(r) > i and r[i] not in NULLS]
        numeric = bool(column) and sum(map(_number, column)) > 0.9 * len(column)
        if _number(cell):
            fractions = numeric and cell.isdigit() and not any(map(str.isdigit, column))
            if fractions and steady:
                names.add(cell)  # of numbered columns
            alike += not fractions and not steady
        elif not cell:
            if numeric and _running(column):
                names.add(cell)  # of an index
        elif numeric:
            if _named(cell) and cell not in column:
                names.add(cell)  # a text over numbers
        elif cell not in NULLS and 2 * len(set(column)) <= len(column) and cell not in column:
            names.add(cell)  # a text that does not recur over texts that do
    if any(map(_number, first)):
        return len(names) > alike
    if any(_named(cell) for cell in names):
        return True
    return (
        all(cell and cell not in {r[i].strip() for r in rest if len(r) > i} for i, cell in enumerate(first))
        and len(set(first)) == len(first)
        and all(len(cell) <= 64 for cell in first)
    )


def _named(cell: str) -> bool:
    """Whether a cell may be a name: ``?`` or ``-`` stands for a missing value."""
    return cell not in NULLS and any(map(str.isalpha, cell))


def _steady(numbers: list[float]) -> bool:
    """Whether numbers rise by equal steps, as the numbers, years or wavelengths that name columns do."""
    steps = [b - a for a, b in itertools.pairwise(numbers)]
    return len(steps) > 1 and steps[0] > 0 and all(math.isclose(step, steps[0], rel_tol=1e-6) for step in steps)


def _running(cells: list[str]) -> bool:
    """Whether cells count rows from 0 or 1."""
    start = cells[0].strip()
    return len(cells) > 1 and start in ("0", "1") and cells == [str(int(start) + i) for i in range(len(cells))]


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unique(names: list[str]) -> tuple[str, ...]:
    """Distinct names for the columns: a column without one is the index if it is the first, else called after its place."""
    out: list[str] = []
    for i, name in enumerate(names):
        name = name.strip() or (f"f{i}" if i else "index")
        base, n = name, 1
        while name in out:
            n += 1
            name = f"{base}_{n}"
        out.append(name)
    return tuple(out)


SOURCE = Csv
