"""CSV: delimiter, header and quoting are detected and reported; a unit is a run of records."""

from __future__ import annotations

import csv as stdlib_csv
import io
import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.bundle import declared_classes
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.layout import read_folders, split_in_name
from dataloader_expert.sources.lines import MOST_ODD, record_ranges, utf8, without_nul
from dataloader_expert.sources.plain import NULLS
from dataloader_expert.sources.tables import Table, absent_columns, columns_of, extra_columns

SAMPLE = 256 << 10


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
        units: list[Unit] = []
        start = 0
        for entry, folder in zip(entries, folders, strict=True):
            if not entry.size:
                continue  # already reported as empty
            try:
                dialect = source.dialects[entry.path] = source._dialect(entry)
                ranges = record_ranges(listing, entry.path, dialect.quoted, dialect.skip)
            except Unreadable as problem:
                source.problems.append(problem)
                continue
            split = split_in_name(entry.path.rsplit("/", 1)[-1]) or folder
            for lo, hi, records in ranges:
                units.append(Unit(len(units), entry.path, start, records, hi - lo, split, None, (lo, hi)))
                start += records
        if not units:
            raise RequestError("format-unknown", f"no {cls.format} file has records; give a file with data")
        source.units = tuple(units)
        first = source.dialects[units[0].file]
        source._check_headers()
        source.describe()
        source.classes = declared_classes(listing)
        n = len(source.dialects)
        source.sharding = (
            f"{n} file{'s' * (n != 1)}, delimiter {first.delimiter!r}, "
            f"{'with' if first.header else 'without'} a header, quoting {'on' if first.quoted else 'off'}"
        )
        return source

    dialects: dict[str, Dialect]
    only: list[str] | None = None
    """The columns to convert; None: all."""

    def read_only(self, names: Sequence[str]) -> None:
        self.only, self.types = [n for n in self.types or () if n in names], None

    types: dict[str, Any] | None

    def _dialect(self, entry: Entry) -> Dialect:
        head = self.listing.head(entry.path, SAMPLE)
        if head.count(b"\0") > head.count(b"\n"):
            raise Unreadable("not-the-format", "contains NUL bytes, so it is not text", file=entry.path)
        return sniff_dialect(head, self.delimiters, len(head) == entry.size)

    def _check_headers(self) -> None:
        """Columns that a file lacks and most files have, and columns that it has and most files lack."""
        [(names, _)] = Counter(tuple(sorted(d.names)) for d in self.dialects.values()).most_common(1)
        for path, dialect in self.dialects.items():
            for name in dialect.repeated:
                text = f"several columns are called {name}; those after the first are read as {name}_2 and so on"
                self.problems.append(Unreadable("odd-name", text, file=path, field=name))
            absent, extra = sorted(set(names) - set(dialect.names)), sorted(set(dialect.names) - set(names))
            self.problems += absent_columns(absent, path) + extra_columns(extra, path)

    def read(self, unit: Unit) -> bytes:
        return self.listing.span(unit.file, *unit.at)

    def decode(self, unit: Unit, raw: Any) -> Block:
        problems: list[Unreadable] = []
        data = without_nul(utf8(raw, unit.file, problems, unit.start), unit.file, problems, unit.start)
        table = self._table(unit, data, problems)
        if self.types is None:
            self.types = {f.name: f.type for f in table.schema}
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
                    column_types=types,
                    include_columns=self.only,
                ),
            )

        if self.types is None:
            return parse({})
        try:
            return parse(self.types)
        except pa.ArrowInvalid as e:
            del problems[:]
            table = parse({})
            drift = [n for n in table.schema.names if n in self.types and table.schema.field(n).type != self.types[n]]
            for name in drift:
                text = f"{name} was {self.types[name]}, here {table.schema.field(name).type} ({str(e)[:80]})"
                problems.append(Unreadable("dtype-drift", text, file=unit.file, field=name))
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
    return Dialect(delimiter, quoted, header, names, skip, tuple(name for name, n in said.items() if n > 1))


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
