"""Tables without a header, or with an odd one: the column that names files tells how they are written.

LJ Speech (``LJ001-0001|text|text``), LibriSpeech (``19-198-0000 TEXT OF MANY WORDS``), lists of images with their class, CelebA
(a line with the number of rows, one with the names of the columns but the first).
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from dataloader_expert.sources.annotations.record import LOOKED_AT, NEARLY_ALL, ODD, Names, Row, folder_of, scattered
from dataloader_expert.sources.annotations.transcripts import is_prose
from dataloader_expert.sources.files import Entry, Listing

MARKS = ("|", "\t", ";", ",", None)
"""What may separate cells; None: blank space."""
FEWEST = 3
"""The fewest rows of a table."""
_AGAIN = re.compile(r"(?<=\.\w{3})#\d+\Z|(?<=\.\w{4})#\d+\Z")
ABOVE = 2
"""Lines above the first row."""
TRIED = 20
"""How many of many texts are read before all are."""
_QUOTED = re.compile(r'(?:"(?:[^"]|"")*"|[^",]*)(?:,(?:"(?:[^"]|"")*"|[^",]*))*')
"""A line of CSV, in which quotes stand around whole cells or are doubled within these."""
LONGEST = 1 << 20
"""Characters of the longest line: longer ones are none of a table."""


Bare = tuple[list[Row], tuple[str, bool]]
"""The rows of such a table, its column that names files, and whether it does so without their suffix."""


@dataclass(frozen=True)
class Text:
    """A text file that may be such a table: what it says, the files that it may name, and its folder, with its final slash."""

    text: str
    files: Names
    folder: str

    @cached_property
    def lines(self) -> list[str]:
        """Those with something in them, without what remarks above the rows say but for the last ones, which may name the columns."""
        lines = [line for line in self.text.splitlines() if line.strip()]
        remarks = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
        return lines[max(0, remarks - ABOVE) :]

    def names(self, row: list[str], column: int, by_stem: bool) -> bool:
        return len(row) > column and self.files.find(_named(row[column]), by_stem, self.folder) is not None


def bare_table(listing: Listing, entry: Entry, files: Names) -> Bare | None:
    """The table that a text is; None if it is none."""
    found = bare_rows([_text(listing, entry, files)])
    return None if found is None else (found[0][0], found[1])


def together(listing: Listing, texts: list[Entry], below: Callable[[str], Names]) -> dict[str, Bare]:
    """Those that each stand alone in their folder, as the transcripts of each chapter of LibriSpeech: of one ending, as one table.

    ``below``: the files that a table in a folder may name.
    """
    homes = Counter(folder_of(entry.path) for entry in texts)
    alike: dict[str, list[Entry]] = {}
    for entry in texts:
        name = entry.path.rpartition("/")[2]
        if homes[folder_of(entry.path)] == 1:
            alike.setdefault(name.partition(".")[2] or name, []).append(entry)
    made: dict[str, Bare] = {}
    for entries in alike.values():
        with contextlib.suppress(*ODD):
            few = [_text(listing, e, below(f"{folder_of(e.path)}/")) for e in entries[:TRIED] if len(entries) > 1]
            if not few or bare_rows(few) is None:
                continue  # before all of them are read
            read = [*few, *(_text(listing, e, below(f"{folder_of(e.path)}/")) for e in entries[TRIED:])]
            found = bare_rows(read)
            if found is not None:
                made |= {e.path: (rows, found[1]) for e, rows in zip(entries, found[0], strict=True)}
    return made


def is_row(name: str, rows: list[Row]) -> bool:
    """Whether what was taken for the name of a column is written as the values below it: the file that it names is lost."""
    return any(map(str.isdigit, name)) and _form(name) in {_form(str(row.get(name))) for row in rows[:LOOKED_AT]}


def _text(listing: Listing, entry: Entry, files: Names) -> Text:
    text = listing.read(entry.path).decode("utf-8-sig", "replace")
    return Text(text, files, entry.path[: entry.path.rfind("/") + 1])


def bare_rows(texts: Sequence[Text]) -> tuple[list[list[Row]], tuple[str, bool]] | None:
    """The rows of each, and the column that names files and whether it does so without their suffix; None if none does.

    Several are judged as one table, as a row of few may be lost: they are written alike, with a header in all or in none.
    """
    if any(len(line) > LONGEST for text in texts for line in text.lines[: LOOKED_AT + ABOVE]):
        return None
    for mark in MARKS:
        for column in (0, 1, _last(texts, mark)):
            found = _rows(texts, mark, column) if column is not None else None
            if found is not None:
                return found
    return None


def _rows(texts: Sequence[Text], mark: str | None, column: int) -> tuple[list[list[Row]], tuple[str, bool]] | None:
    cells = [[_cells(line, mark) for line in text.lines[: LOOKED_AT + ABOVE]] for text in texts]
    for by_stem in (False, True):
        told = [[text.names(row, column, by_stem) for row in rows] for text, rows in zip(texts, cells, strict=True)]
        first = min((of.index(True) for of in told if any(of)), default=ABOVE + 1)
        if first > ABOVE:
            continue
        written = {
            _form(r[column]) for rows, of in zip(cells, told, strict=True) for r, it in zip(rows, of, strict=True) if it
        }
        while first and column < len(cells[0][first - 1]) and _form(cells[0][first - 1][column]) in written:
            first -= 1  # no header: its file is lost
        some, there = [row for rows in cells for row in rows[first:]], sum(map(sum, told))
        if len(some) < FEWEST or there < NEARLY_ALL * len(some):
            continue
        names = [row[column].strip() for row in some if len(row) > column]
        if by_stem and all(map(str.isdigit, names)) and not (there == len({*names}) == len(some) and scattered(names)):
            continue  # numbers may be anything
        width, most = Counter(map(len, some)).most_common(1)[0]
        if width < 2:
            return None  # a list of names
        if most < len(some) and len(texts) > 1 and all(_even(rows[first:]) for rows in cells):
            return None  # tables of several kinds
        if most < len(some):  # the rest of a line is one text
            if column:
                continue
            width = 2
        if mark is None and not column and width > 2 and is_prose([row[1:] for row in some if len(row) == width]):
            width = 2
        header = [] if not first else [cell.strip(" #") for cell in texts[0].lines[first - 1].split(mark)]
        header = ["", *header] if len(header) == width - 1 > 1 else header
        named = len(header) == len({*header}) == width and not any(
            ":" in cell for cell in header
        )  # else it is a remark
        if column > 1 and not named:
            continue  # behind other cells a name may be what a row is about
        called = header if named else [f"f{i}" for i in range(width)]
        called[column] = called[column] or f"f{column}"
        made = [[_row(_cells(line, mark, width), called, column) for line in text.lines[first:]] for text in texts]
        _unquote([row for rows in made for row in rows])
        return made, (called[column], by_stem)
    return None


def _cells(line: str, mark: str | None, most: int = 0) -> list[str]:
    """The cells of a line, of which the last holds the rest where there are more than ``most``. Between commas, quotes around a cell are
    those of CSV if all in the line are."""
    if mark == "," and '"' in line and _QUOTED.fullmatch(line):
        with contextlib.suppress(csv.Error):  # a cell is longer than it reads
            cells = next(csv.reader([line]))
            return [*cells[: most - 1], mark.join(cells[most - 1 :])] if 0 < most < len(cells) else cells
    return line.split(mark, most - 1)


def _last(texts: Sequence[Text], mark: str | None) -> int | None:
    """The last column where all lines have equally many cells, three and more."""
    widths = {len(_cells(line, mark)) for text in texts for line in text.lines[: LOOKED_AT + ABOVE]}
    return widths.pop() - 1 if len(widths) == 1 and min(widths) > 2 else None


def _even(rows: list[list[str]]) -> bool:
    return len(rows) >= FEWEST and len(set(map(len, rows))) == 1


def _form(name: str) -> str:
    """How it is written, whatever its numbers."""
    return re.sub(r"\d+", "0", name.strip())


def _row(cells: list[str], called: list[str], column: int) -> Row:
    row: Row = dict(zip(called, (cell.strip() for cell in cells), strict=False))
    return row | {called[column]: _named(row[called[column]])}


def _unquote(rows: list[Row]) -> None:
    """Takes the quotes from around the values of columns of which all have some, as ICDAR's ``word_1.png, "Coffee"``."""
    for name in rows[0] if rows else ():
        cells = [row[name] for row in rows if name in row]
        if all(len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells):
            for row in rows:
                if name in row:
                    row[name] = row[name][1:-1].replace('\\"', '"')


def _named(cell: str) -> str:
    """A name without the number of the row among those of its file, as Flickr8k writes it: ``1.jpg#0``."""
    return _AGAIN.sub("", cell.strip())
