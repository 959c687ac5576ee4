"""Easy samples first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dataloader_expert.samplers.base import IndexSampler
from dataloader_expert.samplers.ordering import Indices, after, index_type, shuffled_blocks
from dataloader_expert.samplers.rules import integers, per_sample, summed_up


class CurriculumSampler(IndexSampler):
    """Shuffles the easiest share of the data, which grows from ``start`` to 1 over ``epochs`` epochs.

    Args:
        difficulty: one number per sample, [samples]; higher is harder. A NaN is a ``ValueError``.
        epochs: after which all samples are drawn; at least 1.
        start: share of the data in epoch 0, in (0, 1].
        seed, num_replicas, rank, drop_last: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.
    """

    def __init__(
        self,
        difficulty: Sequence[float] | Any,
        epochs: int = 10,
        start: float = 0.3,
        seed: int = 0,
        *,
        num_replicas: int | None = None,
        rank: int | None = None,
        drop_last: bool = False,
    ) -> None:
        super().__init__(seed, num_replicas, rank, drop_last)
        integers(1, epochs=epochs)
        if not 0 < start <= 1:
            raise ValueError(f"start is {start}; it must be in (0, 1]")
        values = per_sample("difficulty", difficulty, "biuf")
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            raise ValueError(f"difficulty[{missing[0]}] is NaN; samples are sorted by numbers")
        self._order = np.argsort(values, kind="stable").astype(index_type(len(values)))
        self.epochs, self.start = epochs, start
        self._shape = {"samples": len(values), "epochs": epochs, "start": start, "difficulty": summed_up(values)}

    @property
    def draws(self) -> int:
        """Indices in this epoch, of all ranks: the easiest so far."""
        share = min(1.0, self.start + (1 - self.start) * self.epoch / self.epochs)
        return min(len(self._order), max(1, round(share * len(self._order))))

    def _blocks(self, start: int) -> Iterator[Indices]:
        return after(shuffled_blocks(self._rng(), self.draws, self._order[: self.draws]), start)
