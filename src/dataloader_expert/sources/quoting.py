"""Whether double quotes enclose the cells of a table, and whether a space stands between a delimiter and the next cell."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from dataloader_expert.sources.cells import is_number

NEARLY_ALL = 0.95
"""The share of lines that are of one form; a few may be damaged."""
CODE = 4
"""Characters from which on cells of one length, without blanks, are codes."""
_CELL = re.compile(r'"(?:[^"]|"")*"')


def outside_quotes(text: str) -> list[str]:
    """The first lines, with a letter for what is in quotes: separators there do not count."""
    return [line for line in _CELL.sub("q", text).splitlines() if line][:2000]


def evenness(lines: Sequence[str], mark: str) -> tuple[float, int]:
    """The share of lines that contain the character as often as most do, and how often that is."""
    counts = Counter(line.count(mark) for line in lines)
    most, lines_with = counts.most_common(1)[0]
    return (lines_with / len(lines) if most else 0.0, most)


def is_spaced(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a space follows each delimiter below the header, as in ``a, b, c``."""
    rows = lines[1:]
    n = sum(line.count(delimiter) for line in rows)
    return n > 0 and n == sum(line.count(f"{delimiter} ") for line in rows)


def without_spaces(data: bytes, delimiter: str) -> bytes:
    """The text without the spaces behind delimiters, but for those in quotes."""
    mark = re.escape(delimiter.encode())
    quoted = rb"(?:^|(?<=" + mark + rb' ))"(?:[^"]|"")*"'
    spaces = rb"(?<=" + mark + rb") +"
    return re.sub(quoted + rb"|" + spaces, lambda m: m[0].lstrip(b" "), data, flags=re.MULTILINE)


_CLOSED = re.compile(rb";[ \t]*(?=\r?$)", re.MULTILINE)


def are_closed(lines: Sequence[str], delimiter: str) -> bool:
    """Whether nearly all lines end in a number and a semicolon, which is no part of it, as those of some recorders do."""
    if delimiter == ";":
        return False
    last = [line.rstrip().removesuffix(";").rpartition(delimiter)[2] for line in lines if line.rstrip().endswith(";")]
    return len(last) >= NEARLY_ALL * len(lines) and sum(map(is_number, last)) >= NEARLY_ALL * len(last) > 0


def without_closing(data: bytes) -> bytes:
    """The text without the semicolons at the ends of its lines."""
    return _CLOSED.sub(b"", data)


def are_quoted(lines: Sequence[str], text: str, delimiter: str) -> bool:
    """Whether double quotes enclose cells. ``text``: with an even number of quotes, if that can be."""
    return _well_quoted(text, delimiter) or (_quoted(lines, delimiter) and not _stand_alone(lines, text, delimiter))


def _quoted(lines: Sequence[str], delimiter: str) -> bool:
    """Whether double quotes enclose fields: no, if every line splits evenly without them and some are unpaired."""
    if not any('"' in line for line in lines):
        return delimiter != "\t"
    even = len({line.count(delimiter) for line in lines}) == 1
    cells = [c for line in lines for c in line.split(delimiter) if '"' in c]
    wrapped = sum(map(_wrapped, cells))
    return not (even and wrapped < len(cells))


def _wrapped(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == '"' == cell[-1] and cell[1:-1].count('"') % 2 == 0


def _stand_alone(lines: Sequence[str], text: str, delimiter: str) -> bool:
    """Whether most quotes at the start or the end of a cell have no other one there, and read as quotes they swallow lines that are
    rows."""
    cells = [c for line in lines for c in line.split(delimiter) if c[:1] == '"' or c[-1:] == '"']
    if 2 * sum(map(_wrapped, cells)) >= len(cells):
        return False
    rows = _rows(text, delimiter)
    return rows is not None and _of_one_width([line.split(delimiter) for line in lines]) > _of_one_width(rows)


def _of_one_width(rows: Sequence[Sequence[str]]) -> int:
    """How many rows have as many cells as most have; none if that is a single one."""
    [(width, n)] = Counter(map(len, rows)).most_common(1) or [(0, 0)]
    return n if width > 1 else 0


def _rows(text: str, delimiter: str) -> list[list[str]] | None:
    """The rows, read with quotes; None if they cannot be."""
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error:  # such as a cell of over 128 KiB
        return None


def _well_quoted(text: str, delimiter: str) -> bool:
    """Whether every double quote opens or closes an entire cell, and the cells that span lines are not chance pairs.

    A file that is not quoted may have a quote at the start of a cell and the next one at the end of a cell some lines below. The lines
    of such pairs are rows as the others are; where no column tells how rows look, such pairs are the exception.
    """
    mark = re.escape(delimiter)
    cells = re.compile(rf'(?:(?<=^)|(?<={mark}))"(?:[^"]|"")*"(?={mark}|\r?$)', re.MULTILINE)
    found = cells.findall(text)
    if not found or '"' in cells.sub("", text):
        return False
    if sum("\n" in c for c in found) * 2 <= len(found):
        return True
    rows = _rows(text, delimiter)
    if rows is None:
        return False
    whole, spread = _lines_of(text, delimiter)
    if (forms := _forms(whole)) and spread:
        alike = sum(all(len(line) > i and fits(line[i]) for i, fits in forms.items()) for line in spread)
        return alike < NEARLY_ALL * len(spread)
    spanning = Counter(i for row in rows[1:] for i, cell in enumerate(row) if "\n" in cell)
    # a writer that wraps texts does so in one column, record after record
    return bool(spanning) and max(spanning.values()) * 2 > len(rows) - 1


def _lines_of(text: str, delimiter: str) -> tuple[list[list[str]], list[list[str]]]:
    """The lines, split at each delimiter, of records on one line, the first of all apart, and of those that quotes spread over several."""
    lines = list(io.StringIO(text, newline=""))
    reader = csv.reader(lines, delimiter=delimiter)
    whole: list[list[str]] = []
    spread: list[list[str]] = []
    at = 0
    for _ in reader:
        own = [line.rstrip("\r\n").split(delimiter) for line in lines[at : reader.line_num] if line.strip()]
        if at:
            (whole if reader.line_num == at + 1 else spread).extend(own)
        at = reader.line_num
    return whole, spread


def _forms(rows: Sequence[Sequence[str]]) -> dict[int, Callable[[str], bool]]:
    """The columns whose cells are of one form, numbers or codes of one length, and whether a cell is of it."""
    forms: dict[int, Callable[[str], bool]] = {}
    for i, column in enumerate(zip(*rows, strict=False)):
        [(length, _)] = Counter(map(len, column)).most_common(1)
        if all(map(is_number, column)):
            forms[i] = is_number
        elif length >= CODE and all(map(_is_code, column)) and len({*map(len, column)}) == 1:
            forms[i] = partial(_is_code_of, length)
    return forms if len(rows) > 1 else {}


def _is_code_of(length: int, cell: str) -> bool:
    return len(cell) == length and _is_code(cell)


def _is_code(cell: str) -> bool:
    return bool(cell) and not any(map(str.isspace, cell)) and '"' not in cell
