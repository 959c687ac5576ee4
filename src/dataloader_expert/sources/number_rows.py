"""Texts of nothing but rows of equally many numbers, such as the points of a cloud or the steps of a series: an array each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dataloader_expert.errors import Unreadable, escaped

NUMBERS = re.compile(rb"(?=.*\d\s*[\s,]\s*[-+\d.])[-+\d.eE,;\s]+", re.DOTALL)
FEWEST = 2
"""The fewest rows of a file: one alone may be anything."""
_BETWEEN = re.compile(rb"[,;]")
_UNCLEAR = re.compile(rb"(?=.*\d,[-+.\d]).*\S[;\s]+\S|.*[,;]\s*[,;]")
"""A line where commas stand within what blanks or semicolons separate, as in ``0,5;0,7``, or where a cell is empty."""


def width_of(heads: Sequence[bytes], whole: int) -> int:
    """How many numbers every row has; 0 where rows differ, or some are no numbers. ``whole``: the size of a head that may be cut off."""
    widths = set[int]()
    for head in heads:
        lines = [line for line in (head.splitlines() if len(head) < whole else head.splitlines()[:-1]) if line.strip()]
        if len(lines) < FEWEST or not NUMBERS.fullmatch(head) or any(map(_UNCLEAR.match, lines)):
            return 0
        rows = [_cells(line) for line in lines]
        if not all(_is_number(cell) for row in rows for cell in row):
            return 0
        widths |= {*map(len, rows)}
    return widths.pop() if len(widths) == 1 else 0


def rows_of(data: bytes, file: str, width: int) -> Any:
    """The numbers of a text, float64 [rows, width].

    Raises:
        Unreadable: ``parse-error`` for a row of another width or with another word.
    """
    import numpy as np

    rows = {at: cells for at, line in enumerate(data.splitlines(), 1) if (cells := _cells(line))}
    for at, cells in rows.items():
        if len(cells) != width:
            text = f"row {at} has {len(cells)} number{'s' * (len(cells) != 1)}, and others have {width}"
            raise Unreadable("parse-error", text, file=file)
    try:
        return np.array([*rows.values()], np.float64).reshape(-1, width)
    except ValueError:
        at, cell = next((at, cell) for at, cells in rows.items() for cell in cells if not _is_number(cell))
        text = f"row {at} holds '{escaped(cell.decode('utf-8', 'replace'), 40)}', which is no number"
        raise Unreadable("parse-error", text, file=file) from None


def _cells(line: bytes) -> list[bytes]:
    return _BETWEEN.sub(b" ", line).split()


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
