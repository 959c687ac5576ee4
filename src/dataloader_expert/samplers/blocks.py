"""Shuffling of data that are read block by block: row groups, shards."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dataloader_expert.samplers.base import IndexSampler
from dataloader_expert.samplers.ordering import Indices, index_type, shuffled
from dataloader_expert.samplers.rules import at_least


class BlockShuffleSampler(IndexSampler):
    """Each sample once: blocks in random order, the samples of ``mixed_blocks`` of them at a time in random order.

    A full shuffle of data in blocks decodes a block for nearly every sample. Here each worker decodes each block once an
    epoch, if ``mixed_blocks`` of them fit into its cache. The cost is less mixing: samples of one block come within
    ``mixed_blocks`` blocks of each other, and a batch holds samples of no more blocks than that.

    Args:
        sizes: samples of each block, in the order of the data set, [blocks].
        mixed_blocks: blocks whose samples are mixed; all of them: a full shuffle.
        seed, num_replicas, rank, drop_last: as in :class:`~dataloader_expert.samplers.base.EpochSampler`. With several
            ranks each reads every block.

    Attributes:
        mixing: the share of all blocks whose samples are mixed, in (0, 1]; 1: as well as a full shuffle.

    Raises:
        ValueError: if a size is negative or ``mixed_blocks`` below 1.
    """

    def __init__(
        self,
        sizes: Sequence[int] | Any,
        mixed_blocks: int = 16,
        seed: int = 0,
        *,
        num_replicas: int | None = None,
        rank: int | None = None,
        drop_last: bool = False,
    ) -> None:
        super().__init__(seed, num_replicas, rank, drop_last)
        self._sizes = np.asarray(sizes, dtype=np.int64)
        at_least(1, mixed_blocks=mixed_blocks)
        if self._sizes.ndim != 1 or (len(self._sizes) and self._sizes.min() < 0):
            raise ValueError("sizes must be one number of samples per block, each at least 0")
        self.mixed_blocks = mixed_blocks
        self._starts = np.cumsum(self._sizes) - self._sizes
        self.mixing = min(1.0, mixed_blocks / max(1, len(self._sizes)))
        blocks = zlib.crc32(self._sizes.tobytes())
        self._shape = {"samples": self.draws, "blocks": blocks, "mixed_blocks": mixed_blocks}

    @property
    def draws(self) -> int:
        """Indices in an epoch, of all ranks: every sample's."""
        return int(self._sizes.sum())

    def _blocks(self, start: int) -> Iterator[Indices]:
        rng, kind = self._rng(), index_type(self.draws)
        order = rng.permutation(len(self._sizes))
        for part, at in enumerate(range(0, len(order), self.mixed_blocks)):
            chosen = order[at : at + self.mixed_blocks]
            count = int(self._sizes[chosen].sum())
            if start >= count:
                start -= count
                continue
            rows = [np.arange(self._starts[b], self._starts[b] + self._sizes[b], dtype=kind) for b in chosen.tolist()]
            yield shuffled(self._rng(part), count, np.concatenate(rows))[start:]
            start = 0
