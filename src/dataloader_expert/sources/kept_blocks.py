"""Decoded units of a source that are kept in memory, so that samples near each other are decoded once."""

from __future__ import annotations

from collections import OrderedDict

from dataloader_expert.sources.base import Block, bytes_of

CACHE_BYTES = 256 << 20


class Blocks:
    """Decoded units of one source, up to 256 MiB; the least recently used are dropped first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[Block, int]] = OrderedDict()
        self._bytes = 0

    def get(self, at: int) -> Block | None:
        if at not in self._kept:
            return None
        self._kept.move_to_end(at)
        return self._kept[at][0]

    def keep(self, at: int, block: Block) -> None:
        """Keeps a block; one above the limit is kept alone."""
        size = memory_of(block)
        self._bytes += size - self._kept.pop(at, (block, 0))[1]
        self._kept[at] = block, size
        while self._bytes > CACHE_BYTES and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1][1]

    def forget(self) -> None:
        self._kept.clear()
        self._bytes = 0


def memory_of(block: Block) -> int:
    """Bytes of a block's values, of long lists estimated from some."""
    return sum(bytes_of(column.values) for column in block.columns.values()) + sum(map(len, block.raw))
