"""Tables in text files: ``.txt``, ``.data`` or no suffix at all, with values between tabs, commas or blanks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Any, ClassVar

from dataloader_expert.conclusions import number
from dataloader_expert.errors import Aside, Unreadable
from dataloader_expert.sources.annotations.reading import annotations_of
from dataloader_expert.sources.answer_files import Answers
from dataloader_expert.sources.base import Column, Unit
from dataloader_expert.sources.cells import is_number
from dataloader_expert.sources.csv import Csv
from dataloader_expert.sources.dialects import ONE_CHARACTER, Dialect, sniff_dialect
from dataloader_expert.sources.files import Entry, Listing, is_beside
from dataloader_expert.sources.groups_in_names import WHOLE, group_of_files
from dataloader_expert.sources.layout import (
    PART_WORDS,
    SPLITS,
    read_folders,
    split_in_name,
    splits_of_files,
    tokens,
    without_split,
)
from dataloader_expert.sources.lines import MOST_ODD, byte_order_mark, record_ranges
from dataloader_expert.sources.magic import NUMBERS_AND_NAME, REMARKS
from dataloader_expert.sources.other_tables import folds_aside, without_folds
from dataloader_expert.sources.roles import GROUP_WORDS
from dataloader_expert.sources.table_label import REPEATED

HEAD = 1 << 16
"""The first bytes of a file, which tell whether it is a table."""
FEWEST = 3
"""The fewest lines that are a table."""
ALIKE = 0.95
"""The share of lines that must have as many cells as the others, and numbers where these have them: a few may be damaged."""
COLUMN = ""
"""The delimiter of a column alone."""
TWO_COLONS = "::"
"""The delimiter of MovieLens."""
_BLANKS = re.compile(rb"[ \t]+")
_OUTER = re.compile(rb"(?m)^[ \t]+|(?<![ \t])[ \t]+(?=\r?$)")


@dataclass(frozen=True)
class Layout:
    """What text files are of which each row of some is a sample."""

    tables: list[Entry]
    beside: list[Entry]
    """Columns, and matrices, that have a row for each sample too."""
    notes: list[Entry]
    """The others, such as the names of columns and classes."""
    others: tuple[Entry, ...] = ()
    """Tables of something else, such as those of users and films beside ratings."""
    folds: Sequence[Entry] = ()
    """Tables of a part of the rows."""
    grouped: bool = False
    """Whether each table is that of one person, recording or the like."""


class DelimitedText(Csv):
    format = "delimited"
    kinds = frozenset({"text"})
    instead_of = "text"
    delimiters: ClassVar[str] = "\t;|,"
    listing: Listing

    def __init__(self) -> None:
        super().__init__()
        self.beside: list[Entry] = []
        """The files that may hold columns of the tables' rows."""
        self.per_series = ""
        """What a file beside the tables has for each of their series."""
        self.grouped = False
        """Whether each file is a group."""

    def describe(self) -> None:
        super().describe()
        if self.label is None and self.per_series:
            self.label_how = f"{self.per_series}; pass label="
        if self.grouped and self.roles is not None and self.roles.group is None:
            group = group_of_files(unit.file for unit in self.units)
            self.roles = replace(self.roles, group=group, name_parts=WHOLE)

    @classmethod
    def fits(cls, listing: Listing) -> bool:
        """Whether they are tables, one for each folder and split, and what belongs to the rows of these."""
        return _layout(listing) is not None

    def tables(self) -> list[Entry]:
        """The tables; without any, the columns."""
        found = _layout(self.listing)
        if found is None:  # asked for
            entries = _texts(self.listing)
            columns = [entry for entry in entries if _mark(self.listing, entry) == COLUMN]
            found = Layout([entry for entry in entries if entry not in columns], columns, [])
        text = "no table of the samples' values: not read"
        self.problems += [Aside("note", text, file=entry.path) for entry in found.notes]
        text = (
            f"another table, with other columns: not read; the samples are the rows of {found.tables[0].path}"
            if found.others
            else ""
        )
        self.problems += [Aside("table", text, file=entry.path) for entry in found.others]
        self.problems += folds_aside(found.folds)
        self.grouped = found.grouped
        self.beside = found.beside if found.tables else []
        return found.tables or found.beside

    def without_answers(self, parts: Sequence[Any]) -> list[Any]:
        """All: files with columns of the rows are no tables here."""
        return list(parts)

    def join(self) -> None:
        """Files with one value, or equally many, for each row of the only table of their folder or split, as ``y_train.txt`` of
        ``X_train.txt``."""
        rows: Counter[str] = Counter()
        splits: dict[str | None, list[str]] = {}
        homes: dict[tuple[str, str | None], list[str]] = {}
        for unit in self.units:
            if unit.file not in rows:
                splits.setdefault(unit.split, []).append(unit.file)
                homes.setdefault(_home(unit.file), []).append(unit.file)
            rows[unit.file] += unit.samples
        named = splits_of_files([*rows, *(entry.path for entry in self.beside)])[len(rows) :]
        for entry, split in zip(self.beside, named, strict=True):
            tables = homes.get(_home(entry.path)) or (splits.get(split, []) if split is not None else [])
            if told := self._of_series(entry):
                self.per_series = f"{entry.path} {told}"
                self.problems.append(Aside("note", f"{told}: not read", file=entry.path))
                continue
            try:
                values = None if len(tables) != 1 else self._column(entry, self.first[tables[0]])
            except Unreadable as e:  # it is too large, or gone
                self.problems.append(e)
                continue
            if values is None:
                text = (
                    "values that are not numbers"
                    if len(tables) == 1
                    else "a single column, next to no table or to several"
                )
                self.problems.append(Aside("note", f"{text}: not read as samples", file=entry.path))
            elif len(values) != rows[tables[0]]:
                text = (
                    f"it has {len(values):,} values, {tables[0].rpartition('/')[2]} {rows[tables[0]]:,} rows: not read"
                )
                self.problems.append(Unreadable("length-mismatch", text, file=entry.path))
            else:
                stem = entry.path.rpartition("/")[2].rpartition(".")[0]
                name = without_split(stem) or stem
                name = f"{name}_2" if name in self.names else name
                self.answers.setdefault(tables[0], []).append(Answers(entry.path, {name: Column(values)}))

    def _of_series(self, entry: Entry) -> str:
        """What is told of a file with one value for each series of a table, such as the life that is left to each engine of a test split;
        nothing of another one."""
        if _mark(self.listing, entry) != COLUMN:
            return ""
        near = [path for path in self.dialects if path.rpartition("/")[0] == entry.path.rpartition("/")[0]]
        try:
            values = self._column(entry, 0)
            series = {} if values is None else {path: self._series_in(path) for path in near}
        except Unreadable:
            return ""  # it is told elsewhere
        own = sorted((split_in_name(path) == "train", path) for path, n in series.items() if n == len(values))
        return f"has a value for each of the {len(values):,} series of {own[0][1]}, and none for a row" if own else ""

    def _series_in(self, path: str) -> int:
        """How many runs of one value the first column of a table has where each is one row's many times; 0 where they are no series."""
        import numpy as np

        first = np.concatenate(
            [np.asarray(next(iter(self.peek(u).columns.values())).values) for u in self.units if u.file == path]
        )
        runs = 1 + int((first[1:] != first[:-1]).sum()) if first.dtype.kind in "iu" and len(first) else 0
        return runs if runs == len(np.unique(first)) and REPEATED * runs <= len(first) else 0

    def _column(self, entry: Entry, first: int) -> Any:
        """The values of a file, [rows] or [rows, columns], NaN in rows of another width; None where some are no numbers.

        ``first``: the sample of the first row.
        """
        import numpy as np

        mark = _mark(self.listing, entry)
        text = self.listing.read(entry.path).decode("utf-8-sig", "replace")
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(REMARKS)]
        lines = lines[1:] if lines and not any(map(is_number, _cells(lines[0], mark))) else lines  # the names
        if mark != COLUMN:
            cells = [_cells(line, mark) for line in lines]
            [(width, _)] = Counter(map(len, cells)).most_common(1)
            odd = [i for i, row in enumerate(cells) if len(row) != width]
            for i in odd[:MOST_ODD]:
                told = f"a row of {number(len(cells[i]), 'value')}, and others have {width}"
                self.problems.append(Unreadable("parse-error", told, file=entry.path, sample=first + i))
                cells[i] = ["nan"] * width
        try:
            return np.array(lines, np.int64) if mark == COLUMN else np.array(cells, np.float64)
        except (ValueError, OverflowError):
            return np.array(lines, np.float64) if mark == COLUMN and all(map(is_number, lines)) else None

    def _dialect(self, entry: Entry, header: bool | None = None) -> Dialect:
        head = self.listing.head(entry.path, HEAD)
        whole = entry.size <= HEAD
        mark = _mark(self.listing, entry)
        if mark not in (" ", COLUMN, TWO_COLONS):
            return super()._dialect(entry, header)
        skip = byte_order_mark(self.listing, entry.path)
        remarks = 0
        while head[skip:].lstrip(b" \t").startswith(tuple(mark.encode() for mark in REMARKS)):
            skip = head.find(b"\n", skip) + 1 or len(head)
            remarks += 1
        above = _above_header(head[skip:].decode("utf-8", "replace").splitlines())
        for _ in range(above):
            remarks += bool(head[skip : (end := head.find(b"\n", skip) + 1)].strip(b"\r\n"))
            skip = end
        delimiter = TWO_COLONS if mark == TWO_COLONS else " "
        dialect = sniff_dialect(
            _of_one_character(head[skip:], delimiter), ONE_CHARACTER if mark == TWO_COLONS else " ", whole, header
        )
        units = False
        if dialect.header:
            skip = head.find(b"\n", skip) + 1
            below = head[skip : head.find(b"\n", skip) + 1]
            units = len(below.split()) < len(dialect.names) and not any(map(is_number, below.decode("latin-1").split()))
            skip += len(below) * units
        named = NUMBERS_AND_NAME.match(head[skip:].decode("utf-8", "replace")) is not None
        return replace(dialect, delimiter=delimiter, skip=skip, remarks=remarks, quoted=named, units=units)

    def read(self, unit: Unit) -> bytes:
        return _of_one_character(super().read(unit), self.dialects[unit.file].delimiter)


def _texts(listing: Listing) -> list[Entry]:
    """The text files that hold something, without those that describe others."""
    return [e for e in listing.of(DelimitedText.kinds) if e.size and (listing.single or not is_beside(e.path))]


def _mark(listing: Listing, entry: Entry) -> str | None:
    return delimiter_of(listing.head(entry.path, HEAD), entry.size <= HEAD)


def _layout(listing: Listing) -> Layout | None:
    """The tables, one for each folder and split and all with the same delimiter; None if there are none.

    Several tables in a folder may be a recording or a point cloud each, and a text beside tables may be a sample. That rows are
    samples is sure where a column alone has as many beside them, such as their labels: what else has as many in a split is
    part of the samples then, and all other files are notes. Without such a column the names must say it (``_by_names``).
    """
    entries = _texts(listing)
    marks = {entry.path: _mark(listing, entry) for entry in entries}
    tables = [entry for entry in entries if marks[entry.path] not in (None, COLUMN)]
    columns = [entry for entry in entries if marks[entry.path] == COLUMN]
    alike = len({marks[entry.path] for entry in tables}) == 1
    if alike and len(tables) + len(columns) == len(entries) and len({_home(e.path) for e in tables}) == len(tables):
        return Layout(tables, columns, [])
    return (
        (_by_columns(listing, entries, marks) if alike else None)
        or _by_names(listing, entries, marks)
        or _by_header(listing, entries, marks)
    )


def _by_header(listing: Listing, entries: list[Entry], marks: dict[str, str | None]) -> Layout | None:
    """The tables whose columns have the same names, such as one for each share or weather station, whatever these are called and in
    which folders they lie; or the largest table, if others share columns with it, as the stops and trips of a timetable. None where
    columns alone, or more texts than tables, are beside them, or where they are numbered in folders of classes or named by a table: they
    may be a sample each then."""
    headers: dict[tuple[str, tuple[str, ...]], list[Entry]] = {}
    for entry in entries:
        mark = marks[entry.path]
        names = _names(listing, entry, mark) if mark else ()
        if mark and names:
            headers.setdefault((mark, names), []).append(entry)
    if not headers or COLUMN in marks.values():
        return None
    main = max(headers.values(), key=lambda of: sum(e.size for e in of))
    notes = [entry for entry in entries if marks[entry.path] is None]
    [own] = (of for of, found in headers.items() if found is main)
    of_one = main
    if len(main) == 1:
        of_one = [e for of, found in headers.items() for e in found if of[0] == own[0] and {*of[1]} & {*own[1]}]
    if len(of_one) < 2 or len(notes) > len(of_one) or sum(e.size for e in notes) >= sum(e.size for e in main):
        return None
    if _are_recordings(main) or annotations_of(listing, main, keep=True).tables:
        return None
    said = {token for entry in main for token in tokens(entry.path.rpartition("/")[2])}
    others = tuple(entry for entry in entries if entry not in main and entry not in notes)
    return Layout(main, [], notes, others, grouped=len(main) > 1 and not said & {*PART_WORDS, *SPLITS})


def _are_recordings(tables: Sequence[Entry]) -> bool:
    """Whether they lie in folders of classes, in each of which they are called alike but for a number."""
    _, labels, names = read_folders([entry.path for entry in tables])
    called = {
        (label, re.sub(r"\d+", "", entry.path.rpartition("/")[2])) for label, entry in zip(labels, tables, strict=True)
    }
    return bool(names) and len(called) == len({*labels})


def _names(listing: Listing, entry: Entry, mark: str) -> tuple[str, ...]:
    """The names of its columns, some of them over numbers; none without a header."""
    lines = listing.head(entry.path, HEAD).decode("utf-8-sig", "replace").splitlines()
    rows = [_cells(line, mark) for line in lines[_above_header(lines) :] if line.strip()]
    columns = zip(*(row for row in rows[1:] if len(row) == len(rows[0])), strict=True)
    named = not any(map(is_number, rows[0])) and any(map(_of_numbers, columns))
    return tuple(cell.strip() for cell in rows[0]) if named else ()


def _by_names(listing: Listing, entries: list[Entry], marks: dict[str, str | None]) -> Layout | None:
    """The tables of one width whose names say that they are parts of one: each has a split in its name, or they differ by the number
    after a word; or the largest, beside those of other widths. None where folders name classes and files no persons, or columns alone
    belong to the tables: they may be a sample each. Of a table and its folds, the table.

    Texts beside them are notes where they are no more than the tables, in number and in bytes.
    """
    persons = all(_of_a_person(entry.path) for entry in entries if marks[entry.path])
    if read_folders([entry.path for entry in entries])[2] and not persons:
        return None
    widths: dict[tuple[str, int], list[Entry]] = {}
    for entry in entries:
        mark = marks[entry.path]
        if mark:
            widths.setdefault((mark, _width(listing, entry, mark)), []).append(entry)
    if not widths:
        return None
    split = {entry.path: split_in_name(entry.path.rpartition("/")[2]) for entry in entries}
    main = max(widths.values(), key=lambda of: (any(split[e.path] for e in of), sum(e.size for e in of)))
    columns = [entry for entry in entries if marks[entry.path] == COLUMN]
    notes = [entry for entry in entries if marks[entry.path] is None]
    if len(notes) > len(entries) - len(notes) or sum(e.size for e in notes) >= sum(e.size for e in main):
        return None
    if any(split[entry.path] for entry in notes):
        return None
    others = tuple(e for of in widths.values() if of is not main for e in of)
    main, folds = without_folds(main)
    if folds:
        return Layout(main, columns, notes, others, folds)
    if all(split[entry.path] for entry in main) or len({_home(entry.path) for entry in main}) == len(main):
        return Layout(main, columns, notes, others)
    said = [tokens(entry.path.rpartition("/")[2].rpartition(".")[0]) for entry in main]
    numbered = all(any(map(str.isdigit, of)) for of in said)
    rest = {tuple(token for token in of if not token.isdigit()) for of in said}
    if columns or not numbered or len(rest) > 1 or () in rest:  # a number alone is that of a sample
        return None
    return Layout(main, [], notes, others, grouped=not set(*rest) & PART_WORDS)


def _of_a_person(path: str) -> bool:
    """Whether a file is called after one of several persons, recordings or the like, each with a number."""
    said = tokens(path.rpartition("/")[2].rpartition(".")[0])
    return bool(said) and {*said[:-1]} & GROUP_WORDS != set() and said[-1].isdigit()


def _width(listing: Listing, entry: Entry, mark: str) -> int:
    """How many cells most lines have, of the first."""
    lines = listing.head(entry.path, HEAD).decode("utf-8-sig", "replace").splitlines()
    return Counter(len(_cells(line, mark)) for line in lines if line.strip()).most_common(1)[0][0]


def _by_columns(listing: Listing, entries: list[Entry], marks: dict[str, str | None]) -> Layout | None:
    """The tables that have as many rows as a column alone beside them; what else has as many is beside them too."""
    tables = [entry for entry in entries if marks[entry.path] not in (None, COLUMN)]
    columns = [entry for entry in entries if marks[entry.path] == COLUMN]
    homes: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in tables:
        homes.setdefault(_home(entry.path), []).append(entry)
    rows: dict[str, int] = {}
    roles: set[str] = set()
    for column in columns:
        own = homes.get(_home(column.path), [])
        if len(own) > 1 and any(_stem(entry) in _stem(column) for entry in own):
            continue  # of the points of one cloud
        for entry in (column, *own):
            rows[entry.path] = rows.get(entry.path) or _rows(listing, entry, marks[entry.path])
        if own and {rows[entry.path] for entry in own} == {rows[column.path]}:
            roles.add(without_split(max(own, key=lambda entry: entry.size).path))
    main = [entry for entry in tables if without_split(entry.path) in roles]
    if len(roles) != 1:
        return None
    split = dict(zip(marks, splits_of_files([*marks]), strict=True))
    n = {split[entry.path]: _rows(listing, entry, marks[entry.path]) for entry in main}
    alike = {without_split(e.path) for e in tables if n.get(split[e.path]) == _rows(listing, e, marks[e.path])}
    beside = [*columns, *(e for e in tables if e not in main and without_split(e.path) in alike)]
    notes = [entry for entry in entries if entry not in main and entry not in beside]
    return Layout(main, beside, notes) if len(notes) <= len(main) + len(beside) else None


def _rows(listing: Listing, entry: Entry, mark: str | None) -> int:
    """Its lines without the names of its columns; none of what cannot be read."""
    head = listing.head(entry.path, HEAD).decode("utf-8-sig", "replace").lstrip()
    named = not any(map(is_number, _cells(head.partition("\n")[0], mark)))
    try:
        return sum(n for _, _, n in record_ranges(listing, entry.path, False)) - named
    except Unreadable:  # it is told where it is read
        return 0


def _stem(entry: Entry) -> str:
    return without_split(entry.path.rpartition("/")[2].rpartition(".")[0])


def _cells(line: str, mark: str | None) -> list[str]:
    return line.split() if mark in (" ", COLUMN) else line.split(mark)


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
    lines = list(dropwhile(lambda line: not line.strip() or line.startswith(REMARKS), lines))
    lines = lines[_above_header(lines) :]
    if len(lines) < FEWEST or not all(line.strip(" ") for line in lines):
        return None
    if sum(map(bool, map(NUMBERS_AND_NAME.fullmatch, lines))) >= ALIKE * len(lines):
        return " "
    for mark, fewest in (("\t", 1), (TWO_COLONS, 2), (";", 2), ("|", 2), (",", 2)):
        cells = _even([line.split(mark) for line in lines])
        if cells is None or len(cells[0]) <= fewest:
            continue
        below = [[cell.replace(",", ".", 1) for cell in row] for row in cells[1:]] if mark == ";" else cells[1:]
        if mark == "\t" or any(
            map(_of_numbers, zip(*below, strict=True))
        ):  # 0,5 is a number where semicolons are between them
            return mark
    rows = _even([line.split() for line in lines])
    if rows is None:
        return None
    named = not any(map(is_number, rows[0]))
    numbers = [all(map(is_number, row)) for row in rows[named:]]
    if sum(numbers) < ALIKE * len(numbers):
        return " " if _have_symbols(rows[1:]) else None
    return " " if len(rows[0]) > 1 else COLUMN


def _above_header(lines: Sequence[str]) -> int:
    """How many lines say something of a table between blanks before the names of its columns, as a weather station's place and
    instruments; 0 where no names stand right above the numbers, or above a line of their units."""
    rows = [line.split() for line in lines]
    [(width, _)] = Counter(map(len, rows)).most_common(1) or [(0, 0)]
    first = next((i for i, row in enumerate(rows) if len(row) == width and 2 * sum(map(is_number, row)) >= width), 0)
    names = [
        i for i in range(max(0, first - 2), first) if len(rows[i]) == width > 1 and not any(map(is_number, rows[i]))
    ]
    return names[-1] if names else 0


def _have_symbols(rows: list[list[str]]) -> bool:
    """Whether words between blanks are the cells of a table, as codes among numbers are: three and more in a row, of which most vary
    from row to row, and a column of numbers. In sentences of one form, most words recur."""
    columns = list(zip(*rows, strict=True))
    vary = sum(len({*column}) > 1 for column in columns)
    return vary >= FEWEST and 2 * vary > len(columns) and any(map(_of_numbers, columns))


def _of_numbers(column: Sequence[str]) -> bool:
    """Whether nearly all of the cells are numbers."""
    return sum(map(is_number, column)) >= ALIKE * len(column)


def _even(rows: list[list[str]]) -> list[list[str]] | None:
    """The rows that have as many cells as most; None unless nearly all do, the first among them."""
    [(width, most)] = Counter(map(len, rows)).most_common(1)
    return [row for row in rows if len(row) == width] if most >= ALIKE * len(rows) and len(rows[0]) == width else None


def _of_one_character(data: bytes, delimiter: str) -> bytes:
    """Lines with one character between values, and without blanks at their ends where blanks are between them."""
    if delimiter == " ":
        return _BLANKS.sub(b" ", _OUTER.sub(b"", data))
    return data.replace(delimiter.encode(), ONE_CHARACTER.encode()) if len(delimiter) > 1 else data


SOURCE = DelimitedText
