"""torch's caching allocator of a CUDA device, simulated: what a stream of allocations makes it hold and reserve.

Follows ``c10/cuda/CUDACachingAllocator.cpp`` of torch 2.13 in its default settings: sizes rounded to 512 bytes, small
blocks cut from segments of 2 MiB, large ones from 20 MiB or their own size in steps of 2 MiB, best fit, neighbours
merged when freed, whole free segments given back before an out-of-memory. Estimators that replay allocations so:
DNNMem (Gao et al., ESEC/FSE 2020).
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

SMALLEST = 512
SMALL = 1 << 20
SMALL_SEGMENT = 2 << 20
LARGE_SEGMENT = 20 << 20
LARGE_FROM = 10 << 20
STEP = 2 << 20


class DeviceFull(Exception):
    """What torch raises as ``torch.cuda.OutOfMemoryError``."""


@dataclass(eq=False)
class Block:
    """A piece of a segment, between its neighbours ``before`` and ``after``."""

    id: int
    size: int
    small: bool
    before: Block | None = None
    after: Block | None = None
    used: bool = False


class CachingAllocator:
    """``cap`` bounds what may be reserved. ``retries`` counts how often cached segments had to be given back first.

    Attributes:
        allocated, reserved: bytes at present; ``most_allocated``, ``most_reserved`` their maxima.
    """

    def __init__(self, cap: float = math.inf) -> None:
        self.cap = cap
        self.allocated = self.reserved = self.most_allocated = self.most_reserved = self.retries = 0
        self._free: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        self._blocks: dict[int, Block] = {}
        self._made = 0

    def take(self, size: int) -> Block:
        """A block of at least ``size`` bytes.

        Raises:
            DeviceFull: if it would exceed the cap.
        """
        size = rounded(size)
        small = size <= SMALL
        block = self._fitting(size, small) or self._segment(size, small)
        rest = block.size - size
        if rest >= SMALLEST if small else rest > SMALL:
            piece = self._block(rest, small)
            piece.before, piece.after = block, block.after
            if block.after is not None:
                block.after.before = piece
            block.after, block.size = piece, size
            self._keep(piece)
        block.used = True
        self.allocated += block.size
        self.most_allocated = max(self.most_allocated, self.allocated)
        return block

    def give(self, block: Block) -> None:
        """Frees a block; it merges with its free neighbours."""
        self.allocated -= block.size
        block.used = False
        for other in (block.before, block.after):
            if other is not None and not other.used:
                self._drop(other)
                if other is block.before:
                    block.before = other.before
                    if other.before is not None:
                        other.before.after = block
                else:
                    block.after = other.after
                    if other.after is not None:
                        other.after.before = block
                block.size += other.size
        self._keep(block)

    def _fitting(self, size: int, small: bool) -> Block | None:
        free = self._free[small]
        at = bisect.bisect_left(free, (size, -1))
        if at == len(free):
            return None
        block = self._blocks[free[at][1]]
        self._drop(block)
        return block

    def _segment(self, size: int, small: bool) -> Block:
        large = LARGE_SEGMENT if size < LARGE_FROM else -(-size // STEP) * STEP
        whole = SMALL_SEGMENT if small else large
        if self.reserved + whole > self.cap:
            self.retries += 1
            self._give_back()
            if self.reserved + whole > self.cap:
                raise DeviceFull(f"{size} bytes asked with {self.reserved} of {self.cap:.0f} reserved")
        self.reserved += whole
        self.most_reserved = max(self.most_reserved, self.reserved)
        return self._block(whole, small)

    def _give_back(self) -> None:
        for small, free in self._free.items():
            for _, id_ in list(free):
                block = self._blocks[id_]
                if block.before is None and block.after is None:
                    self.reserved -= block.size
                    self._drop(block)
                    del self._blocks[id_]
            self._free[small] = free

    def _block(self, size: int, small: bool) -> Block:
        self._made += 1
        block = self._blocks[self._made] = Block(self._made, size, small)
        return block

    def _keep(self, block: Block) -> None:
        bisect.insort(self._free[block.small], (block.size, block.id))

    def _drop(self, block: Block) -> None:
        free = self._free[block.small]
        del free[bisect.bisect_left(free, (block.size, block.id))]


def rounded(size: int) -> int:
    """Bytes that a block of ``size`` takes."""
    return max(SMALLEST, -(-size // SMALLEST) * SMALLEST)
