"""Indices with the epoch and the position that they were drawn for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class Draw(int):
    """An index with its epoch and, if indices may repeat, its place in the epoch's order, from 1.

    An ``int``, so that batch samplers, wrappers of other libraries and worker queues pass it on unchanged.
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
    """``indices`` as draws of ``epoch``; what is not an integer is unchanged."""
    for index, place in zip(indices, places, strict=False):
        yield Draw(index, epoch, place) if hasattr(index, "__index__") else index
