"""Easy samples first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler


class CurriculumSampler(Sampler[int]):
    """Draws from the easiest share of the data, which grows from ``start`` to 1 over ``epochs`` epochs.

    Args:
        difficulty: one number per sample, [samples]; larger is harder.
        epochs: epochs until all samples are drawn.
        start: share of the data in epoch 0, in (0, 1].
        seed: of the order, with the epoch.
    """

    def __init__(self, difficulty: Sequence[float], epochs: int = 10, start: float = 0.3, seed: int = 0) -> None:
        if not 0 < start <= 1 or epochs < 1:
            raise ValueError(f"got start {start} and {epochs} epochs; start is in (0, 1], epochs at least 1")
        self._order = np.argsort(np.asarray(difficulty), kind="stable")
        self.epochs, self.start, self.seed, self.epoch = epochs, start, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        share = min(1.0, self.start + (1 - self.start) * self.epoch / self.epochs)
        return max(1, round(share * len(self._order)))

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng((self.seed, self.epoch))
        yield from rng.permutation(self._order[: len(self)]).tolist()
