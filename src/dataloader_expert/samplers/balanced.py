"""Batches of P classes by K samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler


class ClassBalancedBatchSampler(Sampler[list[int]]):
    """Batches that hold ``classes_per_batch`` classes with ``samples_per_class`` samples each.

    Each class's samples are used up in a shuffled order before any is repeated; an epoch has as many batches as
    the data fill. The order follows from ``seed`` and epoch alone.

    Args:
        labels: one class per sample, length [samples].
        classes_per_batch: P; at most the number of classes.
        samples_per_class: K.
        seed: of every random choice.

    Raises:
        ValueError: if P exceeds the number of classes, or P or K is below 1.
    """

    def __init__(self, labels: Sequence[object], classes_per_batch: int, samples_per_class: int, seed: int = 0) -> None:
        _, codes = np.unique(np.asarray(labels), return_inverse=True)
        self._members = [np.flatnonzero(codes == c) for c in range(int(codes.max()) + 1 if len(codes) else 0)]
        if classes_per_batch < 1 or samples_per_class < 1:
            raise ValueError(f"got {classes_per_batch} classes by {samples_per_class} samples; both must be at least 1")
        if classes_per_batch > len(self._members):
            raise ValueError(f"classes_per_batch is {classes_per_batch}, but there are {len(self._members)} classes")
        self.classes_per_batch, self.samples_per_class, self.seed = classes_per_batch, samples_per_class, seed
        self.epoch = 0
        self._batches = max(1, len(codes) // (classes_per_batch * samples_per_class))

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self._batches

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng((self.seed, self.epoch))
        p, k, n = self.classes_per_batch, self.samples_per_class, len(self._members)
        rounds = -(-self._batches * p // n)
        turns = np.concatenate([rng.permutation(n) for _ in range(rounds + 1)])
        queues = [rng.permutation(m) for m in self._members]
        at = [0] * n
        start = 0
        for _ in range(self._batches):
            chosen = list(dict.fromkeys(turns[start : start + p].tolist()))
            start += p
            while len(chosen) < p:  # a class met twice where two rounds join
                extra = int(rng.integers(n))
                if extra not in chosen:
                    chosen.append(extra)
            batch: list[int] = []
            for c in chosen:
                taken: list[int] = []
                while len(taken) < k:
                    part = queues[c][at[c] : at[c] + k - len(taken)]
                    taken += part.tolist()
                    at[c] += len(part)
                    if at[c] >= len(queues[c]):
                        queues[c], at[c] = rng.permutation(self._members[c]), 0
                batch += taken
            yield batch
