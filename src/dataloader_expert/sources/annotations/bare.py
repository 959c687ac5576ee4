"""Tables without a header, or with an odd one: the column that names files tells how they are written.

LJ Speech (``LJ001-0001|text|text``), LibriSpeech (``19-198-0000 TEXT OF MANY WORDS``), lists of images with their class, CelebA
(a line with the number of rows, one with the names of the columns but the first).
"""

from __future__ import annotations

import re
from collections import Counter

from dataloader_expert.sources.annotations.record import LOOKED_AT, NEARLY_ALL, Names, Row

MARKS = ("|", "\t", ";", ",", None)
"""What may separate cells; None: blank space."""
FEWEST = 3
"""The fewest rows of a table."""
_AGAIN = re.compile(r"(?<=\.\w{3})#\d+\Z|(?<=\.\w{4})#\d+\Z")
ABOVE = 2
"""Lines above the first row."""
LONGEST = 1 << 20
"""Characters of the longest line: longer ones are none of a table."""


def bare_rows(text: str, files: Names, folder: str) -> tuple[list[Row], tuple[str, bool]] | None:
    """The rows, and the column that names files and whether it does so without their suffix; None if none does."""
    lines = [line for line in text.splitlines() if line.strip()]
    if any(len(line) > LONGEST for line in lines[: LOOKED_AT + ABOVE]):
        return None
    for mark in MARKS:
        for column in (0, 1):
            found = _rows(lines, mark, column, files, folder)
            if found is not None:
                return found
    return None


def _rows(
    lines: list[str], mark: str | None, column: int, files: Names, folder: str
) -> tuple[list[Row], tuple[str, bool]] | None:
    cells = [line.split(mark) for line in lines[: LOOKED_AT + ABOVE]]
    for by_stem in (False, True):

        def names(row: list[str], by_stem: bool = by_stem) -> bool:
            return len(row) > column and files.find(_named(row[column]), by_stem, folder) is not None

        first = next((i for i, row in enumerate(cells[: ABOVE + 1]) if names(row)), None)
        if first is None:
            continue
        some = cells[first:]
        if len(some) < FEWEST or sum(map(names, some)) < NEARLY_ALL * len(some):
            continue
        if by_stem and all(row[column].strip().isdigit() for row in some if len(row) > column):
            continue  # numbers may be anything
        width, most = Counter(map(len, some)).most_common(1)[0]
        if width < 2:
            return None  # a list of names
        if most < len(some):  # the rest of a line is one text
            if column:
                continue
            width = 2
        header = [] if not first else [cell.strip(" #") for cell in lines[first - 1].split(mark)]
        header = ["", *header] if len(header) == width - 1 > 1 else header
        called = header if len(header) == width and len({*header}) == width else [f"f{i}" for i in range(width)]
        called[column] = called[column] or f"f{column}"
        rows = [line.split(mark, width - 1) for line in lines[first:]]
        made: list[Row] = [dict(zip(called, (c.strip() for c in row), strict=False)) for row in rows]
        for row in made:
            row[called[column]] = _named(row[called[column]])
        return made, (called[column], by_stem)
    return None


def _named(cell: str) -> str:
    """A name without the number of the row among those of its file, as Flickr8k writes it: ``1.jpg#0``."""
    return _AGAIN.sub("", cell.strip())
