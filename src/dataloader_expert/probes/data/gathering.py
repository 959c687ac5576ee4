"""Blocks of a size that checks are fast on: single samples together, for a check costs as much for one array as for some
dozens at once; large blocks in parts, for what a check makes of a part stays in the cache, and time is looked at between them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from dataloader_expert.sources.base import Block, Column, bytes_of

MOST = 64
"""Samples of a block that is made so."""
MOST_BYTES = 8 << 20
"""Bytes of its values: more would leave the cache before the last check has seen them, and of fewer each check would cost much more."""


PART = 1 << 16
"""Samples of a part of a large block."""


def apart(block: Block) -> Iterator[Block]:
    """The block in parts of ``PART`` samples, if it holds many more; what was wrong with it stays with the first."""
    n = block.samples
    if n <= 2 * PART or block.rows is not None or n < block.unit.samples:
        yield block
        return
    for at in range(0, n, PART):
        here = slice(at, min(at + PART, n))
        columns = {name: column.cut(here) for name, column in block.columns.items()}
        unit = replace(block.unit, start=block.unit.start + at, samples=here.stop - at)
        yield Block(unit, columns, block.raw[here], [] if at else block.problems)


def together(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same samples in the same order, in fewer blocks: single ones that follow one another and are alike become one."""
    gathering = Gathering()
    for block in blocks:
        yield from gathering.with_next(block)
    yield from gathering.rest()


class Gathering:
    """Blocks that come one after another, of which single samples that follow one another and are alike become one."""

    def __init__(self) -> None:
        self._held: list[Block] = []
        self._kind: Hashable = None
        self._size = 0

    def with_next(self, block: Block) -> Iterator[Block]:
        """The blocks that are whole once this one has come."""
        its = _kind(block)
        held = self._held
        follows = held and its == self._kind and block.unit.start == held[-1].unit.start + 1
        if not (follows and len(held) < MOST and self._size < MOST_BYTES):
            yield from self.rest()
        if its is None:
            yield block
            return
        self._held.append(block)
        self._kind, self._size = its, self._size + _size(block)

    def rest(self) -> Iterator[Block]:
        """What was held back."""
        held, self._held, self._size = self._held, [], 0
        if held:
            yield gathered(held)


def gathered(blocks: list[Block]) -> Block:
    """One block of these, a sample each, of consecutive units that are alike."""
    import numpy as np

    if len(blocks) == 1:
        return blocks[0]
    units = tuple(block.unit for block in blocks)
    columns = {}
    for name, first in blocks[0].columns.items():
        parts = [block.columns[name].values for block in blocks]
        array = isinstance(first.values, np.ndarray)
        made = np.concatenate(parts, dtype=first.values.dtype) if array else [v for part in parts for v in part]
        columns[name] = Column(made, time=first.time)
    unit = replace(units[0], samples=len(units), bytes=sum(u.bytes for u in units), key=None, members=units)
    return Block(unit, columns, [raw for block in blocks for raw in block.raw])


def _kind(block: Block) -> Hashable:
    """Blocks of the same kind can be one; None for one that must stay alone."""
    alone = block.unit.samples != 1 or block.samples != 1 or block.problems or block.rows is not None or block.views
    if alone or any(c.nulls is not None or c.coded is not None or len(c) != 1 for c in block.columns.values()):
        return None
    if not all(hasattr(c.values, "dtype") or _plain(c.values[0]) for c in block.columns.values()):
        return None  # of unknown size
    shapes = tuple((name, _shape(column.values), column.time) for name, column in block.columns.items())
    return block.unit.split, len(block.raw), shapes


def _shape(values: Any) -> Any:
    return (values.dtype.str, values.shape[1:]) if hasattr(values, "dtype") else type(values)


def _plain(value: Any) -> bool:
    plain = value is None or isinstance(value, str | bytes | int | float)
    return plain or hasattr(value, "nbytes") or hasattr(value, "getbands")


def _size(block: Block) -> int:
    return sum(bytes_of(column.values) for column in block.columns.values()) + sum(map(len, block.raw))
