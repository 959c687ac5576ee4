"""Codes of digits, such as postal codes, some of which have lost their leading zeros, as spreadsheets drop them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.plain import NULLS

LEAST = 3
"""The fewest digits of a code: of two it may be an hour or a month, a number whether padded or not."""


class LostZeros(Unreadable):
    what = "zeros"

    def __init__(self, message: str, **where: object) -> None:
        super().__init__("dtype-drift", message, **where)


class Digits(NamedTuple):
    """How often each value of a column of digits alone occurs in the first rows of a file."""

    counts: Counter[str]

    @property
    def width(self) -> int:
        return max(map(len, self.counts))

    @property
    def padded(self) -> bool:
        """Whether all are of one length, which zeros make up, as in postal codes."""
        alike = {*map(len, self.counts)} == {self.width}
        return alike and self.width >= LEAST and any(code.startswith("0") for code in self.counts)


class Lost(NamedTuple):
    """``width``: digits of a whole code; ``short``: those that lack zeros, with their rows, and ``rows`` of all."""

    width: int
    short: Counter[str]
    rows: int


def digits_of(cells: Sequence[str]) -> Digits | None:
    """None where a cell that has a value holds anything else."""
    counts = Counter(cell for cell in cells if cell not in NULLS)
    return Digits(counts) if counts and all(cell.isascii() and cell.isdigit() for cell in counts) else None


def lost_zeros(parts: Sequence[Digits]) -> Lost | None:
    """The codes of a column that lack zeros, from each of its files.

    Most codes have one length and some begin with zero; none of the shorter ones does, and at least half of these are there in full,
    too. Numbers of several lengths are not written with zeros, and levels of a classification begin with them at every length.
    """
    counts: Counter[str] = sum((part.counts for part in parts), Counter[str]())
    width = max((part.width for part in parts), default=0)
    short = Counter({code: n for code, n in counts.items() if len(code) < width})
    if width < LEAST or not short or 2 * short.total() > counts.total() or any(code.startswith("0") for code in short):
        return None
    again = sum(code.zfill(width) in counts for code in short)
    return Lost(width, short, counts.total()) if 2 * again >= len(short) else None
