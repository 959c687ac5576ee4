"""How much a file may claim beyond the bytes it contains: one rule for all formats that can claim much in few bytes."""

from __future__ import annotations

from dataloader_expert.errors import Unreadable

FREE_BYTES, MOST_TIMES = 16 << 20, 200
"""Decoded bytes that any file may claim, and the factor over its stored bytes allowed beyond that."""
DEFLATE_TIMES = 1_032
"""The most that deflate compresses: what claims more was never stored."""
FREE_CELLS, MOST_CELLS = 2 << 20, 10_000
"""Values that any file may claim, and the number per stored byte allowed beyond that."""


def no_inflation(decoded: int, stored: int, what: str, file: str, most: int = MOST_TIMES) -> None:
    """Raises:
    Unreadable: ``bomb`` if ``stored`` bytes would become far too many.
    """
    if decoded > FREE_BYTES and decoded > most * max(stored, 1):
        raise Unreadable("bomb", f"{what} claims {decoded:,} bytes and takes {stored:,} of the file", file=file)


def no_flood(cells: int, stored: int, what: str, file: str, most: int = MOST_CELLS) -> None:
    """Raises:
    Unreadable: ``bomb`` if ``stored`` bytes claim far too many values, even values of zero size.
    """
    if cells > FREE_CELLS and cells > most * max(stored, 1):
        raise Unreadable("bomb", f"{what} claims {cells:,} values in {stored:,} bytes", file=file)


def cells_of(shape: tuple[int, ...]) -> int:
    """The number of values that a shape claims. An axis of length 0 counts as 1: (10**18, 0) is a claim."""
    cells = 1
    for n in shape:
        cells *= max(n, 1)
    return cells
