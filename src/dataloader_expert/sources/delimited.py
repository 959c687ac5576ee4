"""Tables in text files: ``.txt``, ``.data`` or no suffix at all, with values between tabs, commas or blanks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Any, ClassVar

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.base import Block, Column, Unit
from dataloader_expert.sources.csv import Csv
from dataloader_expert.sources.dialects import Dialect, is_number, sniff_dialect
from dataloader_expert.sources.files import Entry, Listing, is_beside
from dataloader_expert.sources.layout import split_in_name, without_split
from dataloader_expert.sources.lines import byte_order_mark
from dataloader_expert.sources.magic import REMARKS

HEAD = 1 << 16
"""The first bytes of a file, which tell whether it is a table."""
FEWEST = 3
"""The fewest lines that are a table."""
ALIKE = 0.95
"""The share of lines that must have as many cells as the others, and numbers where these have them: a few may be damaged."""
COLUMN = ""
"""The delimiter of a column alone."""
_BLANKS = re.compile(rb"[ \t]+")
_OUTER = re.compile(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)")


@dataclass(frozen=True)
class ColumnFile:
    """A file with one number for each row of a table: float64 or int64 [rows]."""

    path: str
    values: Any


class DelimitedText(Csv):
    format = "delimited"
    kinds = frozenset({"text"})
    instead_of = "text"
    delimiters: ClassVar[str] = "\t;|,"
    listing: Listing

    def __init__(self) -> None:
        super().__init__()
        self.singles: list[Entry] = []
        """The files of a column alone."""
        self.column_files: dict[str, dict[str, ColumnFile]] = {}
        """Of each table: those that hold a column of its rows, by its name."""
        self.first: dict[str, int] = {}
        """The first row of each table."""

    @property
    def aligned(self) -> frozenset[str]:
        """The files whose lines belong to those of a table."""
        return frozenset(file.path for columns in self.column_files.values() for file in columns.values())

    @classmethod
    def fits(cls, listing: Listing) -> bool:
        """Whether every file is a table, all with the same delimiter and one for each folder and split, or one column of numbers beside it.

        Several tables in a folder may be a recording or a point cloud each.
        """
        found: dict[tuple[str, str | None], str] = {}
        for entry in listing.of(cls.kinds):
            if not entry.size or (is_beside(entry.path) and not listing.single):
                continue
            delimiter, home = delimiter_of(listing.head(entry.path, HEAD), entry.size <= HEAD), _home(entry.path)
            if delimiter is None or (delimiter != COLUMN and home in found):
                return False
            if delimiter != COLUMN:
                found[home] = delimiter
        return len({*found.values()}) == 1

    def tables(self) -> list[Entry]:
        """The tables; without any, the columns."""
        entries = [e for e in super().tables() if self.listing.single or not is_beside(e.path)]
        delimiters = {e.path: delimiter_of(self.listing.head(e.path, HEAD), e.size <= HEAD) for e in entries}
        tables = [entry for entry in entries if delimiters[entry.path] != COLUMN]
        self.singles = [entry for entry in entries if delimiters[entry.path] == COLUMN] if tables else []
        return tables or entries

    def join(self) -> None:
        """Files with one value for each row of the only table of their folder and split, as ``y_train.txt`` of ``X_train.txt``."""
        rows: Counter[str] = Counter()
        for unit in self.units:
            rows[unit.file] += unit.samples
            self.first[unit.file] = min(unit.start, self.first.get(unit.file, unit.start))
        homes: dict[tuple[str, str | None], list[str]] = {}
        for file in rows:
            homes.setdefault(_home(file), []).append(file)
        for entry in self.singles:
            tables = homes.get(_home(entry.path), [])
            values = None if len(tables) != 1 else self._column(entry)
            if values is None:
                text = (
                    "values that are no numbers" if len(tables) == 1 else "a column alone, beside no table or several"
                )
                text += ": not read as samples"
                self.problems.append(Unreadable("foreign-file", text, file=entry.path))
            elif len(values) != rows[tables[0]]:
                text = (
                    f"it has {len(values):,} values, {tables[0].rpartition('/')[2]} {rows[tables[0]]:,} rows: not read"
                )
                self.problems.append(Unreadable("length-mismatch", text, file=entry.path))
            else:
                stem = entry.path.rpartition("/")[2].rpartition(".")[0]
                name = without_split(stem) or stem
                name = f"{name}_2" if name in self.names else name
                self.column_files.setdefault(tables[0], {})[name] = ColumnFile(entry.path, values)
        held = {u.split: frozenset(self.column_files.get(u.file, ())) for u in self.units}
        if held.get("train"):  # a test split without its labels
            self.withheld = held["train"] - frozenset.intersection(*held.values())

    def telling(self) -> Sequence[Unit]:
        return sorted(super().telling(), key=lambda unit: unit.file not in self.column_files)

    def _column(self, entry: Entry) -> Any:
        """The values of a file with one in each line; None where one is no number."""
        import numpy as np

        text = self.listing.read(entry.path).decode("utf-8-sig", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(REMARKS)]
        lines = lines[1:] if lines and not is_number(lines[0]) else lines  # its name
        try:
            return np.array(lines, np.int64)
        except (ValueError, OverflowError):
            return np.array(lines, np.float64) if all(map(is_number, lines)) else None

    def decode(self, unit: Unit, raw: Any) -> Block:
        block = super().decode(unit, raw)
        columns = self.column_files.get(unit.file)
        if not columns:
            return block
        lo = unit.start - self.first[unit.file]
        rows = slice(lo, lo + unit.samples) if block.rows is None else lo + block.rows
        more = {name: Column(file.values[rows]) for name, file in columns.items()}
        return replace(block, columns={**block.columns, **more})

    def _dialect(self, entry: Entry) -> Dialect:
        head = self.listing.head(entry.path, HEAD)
        whole = entry.size <= HEAD
        if delimiter_of(head, whole) not in (" ", COLUMN):
            return super()._dialect(entry)
        skip = byte_order_mark(self.listing, entry.path)
        remarks = 0
        while head[skip:].lstrip(b" \t").startswith(tuple(mark.encode() for mark in REMARKS)):
            skip = head.find(b"\n", skip) + 1 or len(head)
            remarks += 1
        dialect = sniff_dialect(_single_blanks(head[skip:]), " ", whole)
        if dialect.header:
            skip = head.find(b"\n", skip) + 1
        return replace(dialect, skip=skip, remarks=remarks, quoted=False)

    def read(self, unit: Unit) -> bytes:
        data = super().read(unit)
        return _single_blanks(data) if self.dialects[unit.file].delimiter == " " else data


def _home(path: str) -> tuple[str, str | None]:
    """The folder and the split of a file."""
    folder, _, name = path.rpartition("/")
    return folder, split_in_name(name)


def delimiter_of(head: bytes, whole: bool = False) -> str | None:
    """The delimiter of a table, from a file's first bytes: a tab, comma, semicolon or bar that stands equally often in every line, or
    blanks between numbers; ``COLUMN`` of a column of numbers; None of prose and of tagged tokens, whose sentences end in blank lines.

    Text has commas too: the lines must have at least two, and a column of numbers.
    """
    if b"\0" in head:
        return None
    text = head.decode("utf-8-sig", "replace")
    lines = text.splitlines() if whole else text.splitlines()[:-1]
    while lines and not lines[-1].strip():
        lines.pop()
    lines = list(dropwhile(lambda line: line.startswith(REMARKS), lines))
    if len(lines) < FEWEST or not all(line.strip() for line in lines):
        return None
    for mark, fewest in (("\t", 1), (";", 2), ("|", 2), (",", 2)):
        cells = _even([line.split(mark) for line in lines])
        if cells is None or len(cells[0]) <= fewest:
            continue
        columns = zip(*cells[1:], strict=True)
        if mark == "\t" or any(sum(map(is_number, column)) >= ALIKE * len(column) for column in columns):
            return mark
    rows = _even([line.split() for line in lines])
    if rows is None:
        return None
    named = not any(map(is_number, rows[0]))
    numbers = [all(map(is_number, row)) for row in rows[named:]]
    if sum(numbers) < ALIKE * len(numbers):
        return None
    return " " if len(rows[0]) > 1 else COLUMN


def _even(rows: list[list[str]]) -> list[list[str]] | None:
    """The rows that have as many cells as most; None unless nearly all do, the first among them."""
    [(width, most)] = Counter(map(len, rows)).most_common(1)
    return [row for row in rows if len(row) == width] if most >= ALIKE * len(rows) and len(rows[0]) == width else None


def _single_blanks(data: bytes) -> bytes:
    """Lines without blanks at their ends, and with one between values."""
    return _BLANKS.sub(b" ", _OUTER.sub(b"", data))


SOURCE = DelimitedText
