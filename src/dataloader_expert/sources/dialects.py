"""How a file of separated values is written: its delimiter, quoting, header and the names of its columns, from its first bytes."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.cells import is_number
from dataloader_expert.sources.leading_zeros import Digits, digits_of
from dataloader_expert.sources.lines import utf8
from dataloader_expert.sources.magic import REMARKS
from dataloader_expert.sources.plain import NULLS
from dataloader_expert.sources.quoting import (
    are_closed,
    are_quoted,
    evenness,
    is_spaced,
    outside_quotes,
    without_closing,
    without_spaces,
)
from dataloader_expert.sources.roles import FEW, words
from dataloader_expert.sources.targets import SEVERAL
from dataloader_expert.sources.times import is_time

ONE_CHARACTER = "\x1f"
"""What a delimiter of several characters is read as: the unit separator of ASCII."""
NEARLY_ALL = 0.95
YEARS = 4
"""So many numbers in equal steps, as no other row has them, are names of columns: years, or places."""
DIGITS = 18
"""Of a whole number of 64 bits."""
SENTENCE_ENDS = (".", "!", "?")
"""How a sentence ends, and the name of a column does not."""
COMMA_COLUMNS = 2
"""So many columns of numbers with commas are numbers with fractions, where no semicolons stand between the cells."""
FORMS_FROM = 200
"""Rows of each file from which the form of its values is told."""


@dataclass(frozen=True)
class Dialect:
    """The dialect of a file.

    ``names``: of its columns, made distinct; ``skip``: bytes before the first record; ``repeated``: names that the header repeats;
    ``remarks``: lines before the table, blank ones not counted.
    """

    delimiter: str
    quoted: bool
    header: bool
    names: tuple[str, ...]
    skip: int
    repeated: tuple[str, ...] = ()
    forms: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    """What the first values of each column are, with one of them; None if they are not of one form."""
    remarks: int = 0
    long: frozenset[str] = frozenset()
    """Columns of codes, which are read as text: of more digits than a number keeps, or with zeros before them."""
    digits: dict[str, Digits] = field(default_factory=dict)
    """Columns of digits alone, with their first values."""
    short: bool = False
    """Whether the header lacks the name of a column."""
    units: bool = False
    """Whether a line of units stands between the header and the first record."""
    decimal: str = "."
    """What separates the fractions of numbers."""
    sure: bool = True
    """Whether a header names a column of numbers: of texts alone, its first row may be another one."""
    begins: int = 0
    """The line where the table seems to begin, if the first lines are read as records and are of at most half as many cells; 0: at once."""

    unequal: bool = False
    """Whether rows are filled up to a place of their own each, as series of unequal length are."""
    spaced: bool = False
    """Whether a space follows each delimiter, which is no part of a cell."""
    optional: int = 0
    """How many of the last columns only some rows have."""
    closed: bool = False
    """Whether a semicolon that is no part of the last cell ends each line."""

    @property
    def character(self) -> str:
        """What stands for the delimiter where a parser takes one character alone."""
        return self.delimiter if len(self.delimiter) == 1 else ONE_CHARACTER

    @property
    def before(self) -> int:
        """Lines before the first record, blank ones not counted."""
        return self.remarks + self.header + self.units


def called_as(dialect: Dialect, names: tuple[str, ...]) -> Dialect:
    """The dialect of a file without a header, with the names of another one's columns."""
    new = dict(zip(dialect.names, names, strict=True))
    return replace(
        dialect,
        names=names,
        forms={new[name]: form for name, form in dialect.forms.items()},
        digits={new[name]: found for name, found in dialect.digits.items()},
        long=frozenset(new[name] for name in dialect.long),
    )


def sniff_dialect(head: bytes, delimiters: str, whole: bool, header: bool | None = None) -> Dialect:
    """Delimiter (most consistent field count), quoting, header and names from a file's first bytes.

    ``header``: whether there is one, where other files tell; None: as the rows suggest.
    """
    bom = 3 if head.startswith(b"\xef\xbb\xbf") else 0
    cut = len(head) if whole else head.rfind(b"\n") + 1 or len(head)
    text = utf8(head[bom:cut], "", []).decode("utf-8", "replace")
    lines = _lines(text)
    bare = outside_quotes(text)

    def fit(mark: str) -> tuple[float, int]:
        return max(evenness(lines, mark), evenness(bare, mark))

    if not lines:
        raise Unreadable("empty-file", "no lines")
    delimiter = max(delimiters, key=fit)
    spaced = is_spaced(bare, delimiter)
    if spaced:
        text = without_spaces(text.encode(), delimiter).decode()
        lines = _lines(text)
    closed = are_closed(lines, delimiter)
    if closed:
        text = without_closing(text.encode()).decode()
        lines = _lines(text)
    even = text if whole or text.count('"') % 2 == 0 else text[: text.rindex('"')].rpartition("\n")[0]
    quoted = are_quoted(lines, even, delimiter)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    )
    rows: list[list[str]] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) >= 1000:
                break
    except csv.Error:
        pass  # the readable head is enough for detection
    if not rows:
        raise Unreadable("parse-error", "its first record is not a table row")
    decimal = "," if _have_commas(rows, 1 if delimiter == ";" else COMMA_COLUMNS) else "."
    rows = (
        [[cell.replace(",", ".") if _FRACTION.fullmatch(cell) else cell for cell in row] for row in rows]
        if decimal == ","
        else rows
    )
    remarks, first = _remarks(rows, lines), head[bom:]
    begins = 0 if remarks else _seems_to_begin(rows, text)
    rows, skip = rows[remarks:], bom + _past(first, remarks)
    units = header is not False and _are_units(rows)
    rows = [rows[0], *rows[2:]] if units else rows
    header = units or (_has_header(rows) if header is None else header)
    width = len(rows[0]) if header else _width(rows)
    short = header and len(rows) > 2 and {len(row) for row in rows[1:]} == {width + 1}
    first_cells = [row[0].strip() for row in rows[1:]]
    if short and not any(row[-1].strip() for row in rows[1:]):
        rows[0] = [*rows[0], ""]  # every row ends in a delimiter
    elif (
        short
        and len({*first_cells}) == len(first_cells)
        and (_running(first_cells) or not any(map(is_number, first_cells)))
    ):
        rows[0] = ["", *rows[0]]  # as R writes it: the rows have names, and their column has none
    optional = 0 if header or quoted else _optional(rows, delimiter)
    width = len(rows[0]) if header else width + optional
    names = _unique(rows[0]) if header else tuple(f"f{i}" for i in range(width))
    said = Counter(name.strip() for name in rows[0] if header and name.strip())
    if header:
        at, odd = skip - bom, False
        while at < len(first) and (odd or first[at : at + 1] != b"\n"):
            odd ^= quoted and first[at : at + 1] == b'"'
            at += 1
        skip = bom + at + 1
        skip = first.find(b"\n", at + 1) + 1 + bom if units else skip
    repeated = tuple(name for name, n in said.items() if n > 1)
    values = rows[header : FORMS_FROM + header]
    forms = {name: _form([row[i] for row in values if i < len(row)]) for i, name in enumerate(names)}
    cells = {name: [row[i].strip() for row in rows[header:] if i < len(row)] for i, name in enumerate(names)}
    long = {
        n
        for n, of in cells.items()
        if any(len(c) > DIGITS for c in of) and all(c.isdigit() for c in of if c not in NULLS)
    }
    digits = {name: found for name, of in cells.items() if (found := digits_of(of)) is not None}
    texts = frozenset(long | {name for name, found in digits.items() if found.padded})
    texts |= {name for name in names if decimal == "," and _lists_labels(name)}
    sure = not header or _names_numbers(rows)
    return Dialect(
        delimiter,
        quoted,
        header,
        names,
        skip,
        repeated,
        forms,
        remarks,
        texts,
        digits,
        bool(short),
        units,
        decimal,
        sure,
        begins,
        header and _end_unequally(rows[1:]),
        spaced,
        optional,
        closed,
    )


def _lines(text: str) -> list[str]:
    """The first lines, blank ones apart."""
    return [line for line in re.split(r"\r?\n", text) if line][:2000]


def _have_commas(rows: list[list[str]], least: int) -> bool:
    """Whether numbers have a comma before their fractions, as in half of Europe: most of a column of numbers, below what stands above
    them, and none has a full stop.

    ``least``: so many such columns tell it. Where semicolons separate the cells, one does; elsewhere the cells of one may be pairs of
    numbers, or all have three digits behind the comma, as thousands have.
    """
    columns = []
    for i in range(_width(rows)):
        cells = [row[i].strip() for row in rows if len(row) > i and row[i] not in NULLS]
        below = list(itertools.dropwhile(lambda cell: not (_FRACTION.fullmatch(cell) or is_number(cell)), cells))
        above = cells[: len(cells) - len(below)]
        if 2 * len(below) > len(cells) and not any(map(_lists_labels, above)):
            columns.append(below)
    told = [
        column
        for column in columns
        if 2 * sum(map(bool, map(_FRACTION.fullmatch, column))) > len(column)
        and all(_FRACTION.fullmatch(cell) or is_number(cell) for cell in column)
    ]
    sure = least == 1 or not all(_THOUSANDS.fullmatch(cell) for column in told for cell in column if "," in cell)
    return len(told) >= least and sure and not any(_STOP.fullmatch(cell) for column in columns for cell in column)


def _lists_labels(name: str) -> bool:
    """Whether a column is called like several labels, which commas separate too."""
    return bool(said := words(name)) and said[-1] in SEVERAL


def _remarks(rows: list[list[str]], lines: list[str]) -> int:
    """How many of the first rows are not of the table: remarks, and what stands above a header in fewer or more cells.

    A first record that is damaged is of the table: only what a header follows may be left out without a mark.
    """
    width = _width(rows)
    marked = [line.startswith(REMARKS) for line in lines[: len(rows)]]
    n = next((i for i, row in enumerate(rows) if len(row) == width and not any(marked[i : i + 1])), 0)
    n = n or _padded(rows, width)
    if not n or width < 2 or 2 * n > len(rows) or any("\n" in cell for row in rows[:n] for cell in row):
        return 0
    narrow = [2 * _last(row) <= width for row in rows[:n]]
    if any('"' in line and not (mark or few) for line, mark, few in zip(lines, marked, narrow, strict=False)):
        return 0
    blank = any(cell.strip() in NULLS for cell in rows[n])  # no name of a column
    if _names_numbers(rows[n:]) or (all(narrow) and not blank and _has_header(rows[n:])):
        return n
    if n == 1 and not marked[0] and len(rows[0]) == width - 1:
        return 0  # R's header
    if len(rows[n - 1]) == width and _has_header(rows[n - 1 :]):
        n -= 1  # the header is marked too, as ``#CHROM``
    return n if all(marked[:n]) and all(len(row) != width for row in rows[:n]) else 0


def _last(row: list[str]) -> int:
    """How many cells a row has up to the last one that is not blank."""
    return next((i for i in range(len(row), 0, -1) if row[i - 1].strip()), 0)


def _padded(rows: list[list[str]], width: int) -> int:
    """How many of the first rows are remarks that a spreadsheet has filled with blank cells, above a header without any; else 0."""
    n = next((i for i, row in enumerate(rows) if len(row) == width and all(cell.strip() for cell in row)), 0)
    remarks = n > 0 and all(2 * _last(row) <= width for row in rows[:n])
    below = [rows[n], *rows[n + 2 :]] if remarks and _are_units(rows[n:]) else rows[n:]
    return n if remarks and _names_numbers(below) else 0


def _are_units(rows: list[list[str]]) -> bool:
    """Whether the second row has the units of the columns whose names are in the first: units over columns of numbers, and nothing
    but units and blanks elsewhere."""
    if len(rows) < 2 + FEW or any(map(is_number, rows[0])):
        return False
    cells = [(i, cell.strip()) for i, cell in enumerate(rows[1]) if cell.strip()]
    if not cells or not all(_UNIT.fullmatch(cell) for _, cell in cells):
        return False
    columns = {
        cell: [r[i].strip() for r in rows[2:FORMS_FROM] if len(r) > i and r[i] not in NULLS] for i, cell in cells
    }
    again = any(cell in column for cell, column in columns.items() if cell != "-")
    return not again and any(column and all(map(is_number, column)) for cell, column in columns.items() if cell != "-")


def _end_unequally(rows: list[list[str]]) -> bool:
    """Whether the cells of nearly every row have values up to a place of its own, and are blank behind it."""
    filled = [[bool(cell.strip()) for cell in row] for row in rows[:FORMS_FROM]]
    ends = [len(row) - row[::-1].index(True) if any(row) else 0 for row in filled]
    whole = sum(all(row[:end]) for row, end in zip(filled, ends, strict=True))
    places = Counter(ends)
    return len(places) > FEW and 2 * max(places.values()) <= len(ends) and whole >= NEARLY_ALL * len(ends)


def _seems_to_begin(rows: list[list[str]], text: str) -> int:
    """The line after the first ones, two and more, of at most half as many cells as most rows have; 0 where there are none."""
    width = _width(rows)
    narrow = len(list(itertools.takewhile(lambda row: 2 * len(row) <= width, rows)))
    told = [number for number, line in enumerate(text.splitlines(), 1) if line]
    return told[narrow] if 1 < narrow < len(rows) and narrow < len(told) and len(rows[narrow]) == width else 0


def _names_numbers(rows: list[list[str]]) -> bool:
    """Whether the first row has a name over a column of numbers."""
    rest = rows[1:200]
    columns = ([row[i].strip() for row in rest if len(row) > i and row[i] not in NULLS] for i in range(len(rows[0])))
    return any(
        bool(column) and all(map(is_number, column)) and _named(cell.strip()) and not is_number(cell.strip())
        for cell, column in zip(rows[0], columns, strict=True)
    )


def _width(rows: list[list[str]]) -> int:
    """How many cells most rows have."""
    return Counter(map(len, rows)).most_common(1)[0][0]


def _optional(rows: list[list[str]], delimiter: str) -> int:
    """How many columns stand in some rows behind those of most, where tabs, which no text contains, separate them: the same number in
    each of these rows, whose other cells are numbers where those of most rows are."""
    width = _width(rows)
    usual = [row for row in rows if len(row) == width]
    longer = [row for row in rows if len(row) > width]
    numbers = [i for i, column in enumerate(zip(*usual, strict=True)) if all(map(is_number, column))]
    if delimiter != "\t" or width < 2 or len(longer) < FEW or len({*map(len, longer)}) > 1 or not numbers:
        return 0
    fit = all(is_number(row[i]) for row in longer for i in numbers)
    return len(longer[0]) - width if fit and len(usual) + len(longer) >= NEARLY_ALL * len(rows) else 0


def with_optional(dialect: Dialect, n: int) -> Dialect:
    """The dialect of a file without a header, with so many more columns at the end, which only some rows of other files have."""
    more = (f"f{len(dialect.names) + i}" for i in range(n))
    return replace(dialect, names=(*dialect.names, *more), optional=n)


def filled(data: bytes, dialect: Dialect) -> bytes:
    """The lines with blank cells for the last columns that they lack, which only some have."""
    mark, most = dialect.delimiter.encode(), len(dialect.names) - 1
    lines = data.split(b"\n")
    lacking = ((most - line.count(mark)) if line.strip(b"\r") else 0 for line in lines)
    return b"\n".join(
        line.rstrip(b"\r") + mark * n if 0 < n <= dialect.optional else line
        for line, n in zip(lines, lacking, strict=True)
    )


def _past(data: bytes, lines: int) -> int:
    """Where the first line that is not blank begins after so many of them."""
    at = 0
    while lines >= 0:
        end = data.find(b"\n", at) + 1 or len(data)
        blank = not data[at:end].strip(b"\r\n")
        if lines == 0 and not blank:
            break
        lines -= not blank
        at = end
        if at == len(data):
            break
    return at


def _form(cells: list[str]) -> tuple[str, str] | None:
    """What all cells are that have a value, and the first of them; None where they differ or are few."""
    present = [cell.strip() for cell in cells if cell not in NULLS]
    if len(present) < FEW:
        return None
    numbers = sum(map(is_number, present))
    if numbers == len(present):
        return "numbers", present[0]
    if all(map(is_time, present)):
        return ("ISO dates" if all(map(_ISO.match, present)) else "dates in another form than ISO"), present[0]
    return ("texts", present[0]) if not numbers and not any(map(is_time, present)) else None


_LETTERS, _DIGITS = re.compile(r"[A-Za-z]+"), re.compile(r"[0-9]+")
_FRACTION, _STOP = re.compile(r"\s*[-+]?\d+,\d+\s*"), re.compile(r"[-+]?\d+\.\d+")
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*")
_UNIT = re.compile(
    r"\[[^\[\]]*\]|\([^()]*\)|-|%|[°º][CF]?|[kKMGTmµμnp]?(?:s|g|m|A|V|W|Wh|Hz|Pa|J|N|Nm|mol|l|L|B|Ω|Ohm|ohm|bar|cd|lm|lx|T|eV)"
    r"|sec|min|h|hr|d|days?|hours?|years?|yr|[cdh]m|hPa|K|°?deg|rad|rpm|ppm|ppb|psi|inch|in|ft|lb|mi|mph|dB[Am]?|USD|EUR|€|\$"
    r"|[kcm]?m/(?:s|h)|[kcm]?m/s(?:2|²|\^2)|[kcm]?m[23²³]|1/(?:s|min|h)|[kmµ]?g/(?:l|L|ml|m3|m³)|kg/m3|mg/dL|W/m2|W/m²|(?:l|L|m3|m³)/(?:s|min|h)"
)
"""Units of measurement as a second header has them: anything in brackets, or one of the usual ones."""


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: more of its cells must be told apart from their column than look like its values.

    An empty, numeric or repeated cell decides nothing on its own: an index has no name, and years or pixels are named by numbers.
    """
    first, rest = [cell.strip() for cell in rows[0]], [row for row in rows[1:] if row != rows[0]]
    if not rest:
        return not any(map(is_number, first))
    names, alike = set(), 0
    steady = _steady([float(cell) for cell in first if is_number(cell)])
    alone = steady and sum(map(is_number, first)) >= YEARS and not any(map(_of_steps, rest[:FORMS_FROM]))
    for i, cell in enumerate(first):
        column = [r[i].strip() for r in rest if len(r) > i and r[i] not in NULLS]
        numeric = bool(column) and sum(map(_measured, column)) > 0.9 * len(column)
        if is_number(cell):
            fractions = numeric and cell.isdigit() and not any(map(str.isdigit, column))
            if (fractions and steady) or (alone and numeric):
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
    if any(map(is_number, first)):
        return len(names) > alike
    if any(_named(cell) for cell in names):
        return True
    if all(_is_code_of(cell, [r[i].strip() for r in rest if len(r) > i]) for i, cell in enumerate(first)):
        return False
    return (
        all(cell and cell not in {r[i].strip() for r in rest if len(r) > i} for i, cell in enumerate(first))
        and len(set(first)) == len(first)
        and not any(len(cell) > 64 or cell.endswith(SENTENCE_ENDS) for cell in first)
    )


_FLAGGED = re.compile(r"[-+]?\d+(?:\.\d+)? [a-z]{1,3}|:(?: [a-z]{1,3})?")


def _measured(cell: str) -> bool:
    """Whether a cell is a number, perhaps with a flag as statistical offices write them: ``9.2 b``, and ``:`` for none."""
    return is_number(cell) or _FLAGGED.fullmatch(cell) is not None


def _is_code_of(cell: str, column: list[str]) -> bool:
    """Whether a cell with digits is made of letters and digits as all others of its column are: a value as they are, and no name."""
    form = _LETTERS.sub("a", _DIGITS.sub("0", cell))
    return "0" in form and len(column) > 1 and all(_LETTERS.sub("a", _DIGITS.sub("0", c)) == form for c in column)


def _named(cell: str) -> bool:
    """Whether a cell may be a name: ``?`` or ``-`` stands for a missing value."""
    return cell not in NULLS and any(map(str.isalpha, cell))


def _steady(numbers: list[float]) -> bool:
    """Whether numbers rise by equal steps, as the numbers, years or wavelengths that name columns do."""
    steps = [b - a for a, b in itertools.pairwise(numbers)]
    return len(steps) > 1 and steps[0] > 0 and all(math.isclose(step, steps[0], rel_tol=1e-6) for step in steps)


def _of_steps(row: list[str]) -> bool:
    return _steady([float(cell) for cell in row if is_number(cell.strip())])


def _running(cells: list[str]) -> bool:
    """Whether cells count rows from 0 or 1."""
    start = cells[0].strip()
    return len(cells) > 1 and start in ("0", "1") and cells == [str(int(start) + i) for i in range(len(cells))]


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
