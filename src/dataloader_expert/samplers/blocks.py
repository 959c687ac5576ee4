"""Shuffling of data that is read in blocks: row groups, shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dataloader_expert.samplers.base import IndexSampler
from dataloader_expert.samplers.ordering import Indices, index_type, shuffled
from dataloader_expert.samplers.rules import integers, summed_up


class BlockShuffleSampler(IndexSampler):
    """Each sample once: blocks in random order, with the samples of ``mixed_blocks`` at a time shuffled together.

    A full shuffle decodes a block for nearly every sample. Here each worker decodes each block once per epoch, if
    ``mixed_blocks`` of them fit into its cache. The cost is less mixing: a batch holds samples of at most so many blocks.

    Args:
        sizes: samples of each block, at least 0, in the order of the data set, [blocks].
        mixed_blocks: blocks that are shuffled together, at least 1; all of them: a full shuffle.
        seed, num_replicas, rank, drop_last: as in :class:`~dataloader_expert.samplers.base.EpochSampler`. Every rank
            reads every block.

    The attribute ``mixing`` is ``mixed_blocks`` as a share of all blocks, in (0, 1]; 1: a full shuffle.
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
        integers(1, mixed_blocks=mixed_blocks)
        if self._sizes.ndim != 1 or (len(self._sizes) and self._sizes.min() < 0):
            raise ValueError("sizes must be one number of samples per block, each at least 0")
        self.mixed_blocks = mixed_blocks
        self._starts = np.cumsum(self._sizes) - self._sizes
        self.mixing = min(1.0, mixed_blocks / max(1, len(self._sizes)))
        self._shape = {"samples": self.draws, "blocks": summed_up(self._sizes), "mixed_blocks": mixed_blocks}

    @property
    def draws(self) -> int:
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
