"""Indices that know which draw of which epoch they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class Draw(int):
    """An index with its epoch and, where an index may come several times, its place in the epoch's order, from 1.

    An ``int``, so that batch samplers, wrappers of other libraries and queues to workers pass it on as it is.
    """

    epoch: int
    place: int

    def __new__(cls, index: int, epoch: int, place: int = 0) -> Draw:
        made = super().__new__(cls, index)
        made.epoch, made.place = epoch, place
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Draw, (int(self), self.epoch, self.place)


def placed(indices: Iterable[Any], epoch: int, places: Iterable[int]) -> Iterator[Any]:
    """``indices`` as draws of ``epoch``; what is not a whole number stays as it is."""
    for index, place in zip(indices, places, strict=False):
        yield Draw(index, epoch, place) if hasattr(index, "__index__") else index
