"""Batches of samples of like length: less padding, still shuffled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler


class LengthBucketBatchSampler(Sampler[list[int]]):
    """Shuffles, sorts windows of ``window`` batches by length, cuts them into batches, shuffles the batches.

    Args:
        lengths: one length per sample, [samples].
        batch_size: samples per batch; the last may be smaller unless ``drop_last``.
        window: batches that are sorted together; larger pads less and shuffles less.
        seed: of every random choice, with the epoch.
    """

    def __init__(
        self, lengths: Sequence[int], batch_size: int, window: int = 50, seed: int = 0, drop_last: bool = False
    ) -> None:
        if batch_size < 1 or window < 1:
            raise ValueError(f"got batch_size {batch_size} and window {window}; both must be at least 1")
        self._lengths = np.asarray(lengths)
        self.batch_size, self.window, self.seed, self.drop_last = batch_size, window, seed, drop_last
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        full, rest = divmod(len(self._lengths), self.batch_size)
        return full + bool(rest and not self.drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng((self.seed, self.epoch))
        order = rng.permutation(len(self._lengths))
        step = self.batch_size * self.window
        batches: list[list[int]] = []
        for lo in range(0, len(order), step):
            part = order[lo : lo + step]
            part = part[np.argsort(self._lengths[part], kind="stable")]
            batches += [part[i : i + self.batch_size].tolist() for i in range(0, len(part), self.batch_size)]
        if self.drop_last:
            batches = [b for b in batches if len(b) == self.batch_size]
        for i in rng.permutation(len(batches)):
            yield batches[i]
