"""Batches that never split a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler


class GroupBatchSampler(Sampler[list[int]]):
    """Packs whole groups, in shuffled order, into batches of at most ``batch_size`` samples.

    A group larger than ``batch_size`` is a batch of its own. The order follows from ``seed`` and epoch alone.

    Args:
        groups: one group per sample, [samples].
    """

    def __init__(self, groups: Sequence[object], batch_size: int, seed: int = 0) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
        _, codes = np.unique(np.asarray(groups), return_inverse=True)
        order = np.argsort(codes, kind="stable")
        self._members = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(codes) else []
        self.batch_size, self.seed, self.epoch = batch_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng((self.seed, self.epoch))
        batch: list[int] = []
        for g in rng.permutation(len(self._members)):
            members = self._members[g]
            if batch and len(batch) + len(members) > self.batch_size:
                yield batch
                batch = []
            batch += members.tolist()
            if len(batch) >= self.batch_size:
                yield batch
                batch = []
        if batch:
            yield batch
