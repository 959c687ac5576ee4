"""Batches in which every class has its share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataloader_expert.samplers.base import EpochBatchSampler, Plan, State, class_codes, grouped_by, shuffled


class StratifiedBatchSampler(EpochBatchSampler):
    """Each sample once an epoch, in batches whose class counts differ from the data's shares by less than one.

    A class's samples are dealt to the batches so that each gets the share rounded down, and what is left goes to
    neighbouring batches, class after class around the circle: row and column sums then come out exactly (controlled
    rounding, Cox 1987). Batches then come in random order, the smaller last one at the end.

    Args:
        labels: one class per sample: sequence, array or tensor, [samples].
        batch_size: samples per batch.
        drop_last: leaves out the smaller last batch, and with ranks what makes no whole round.
        seed, num_replicas, rank: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.

    Raises:
        ValueError: if ``batch_size`` is below 1 or there are no labels.
    """

    def __init__(
        self,
        labels: Sequence[object] | Any,
        batch_size: int,
        seed: int = 0,
        *,
        drop_last: bool = False,
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        super().__init__(seed, num_replicas, rank, drop_last)
        self._codes, self._counts = class_codes(labels)
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be at least 1")
        if not len(self._codes):
            raise ValueError("labels are empty; one per sample is needed")
        self.batch_size = batch_size

    @property
    def batches(self) -> int:
        full, rest = divmod(len(self._codes), self.batch_size)
        return full + bool(rest and not self.drop_last)

    def _identity(self) -> dict[str, State]:
        return {**super()._identity(), "batch_size": self.batch_size, "samples": len(self._codes)}

    def _plan(self) -> Plan:
        rng = self._rng()
        n, counts = len(self._codes), self._counts
        full, rest = divmod(n, self.batch_size)
        last = _rounded(counts * (rest / n), rest, rng)
        # samples in random order, then by class: the j-th of its class is a random one
        order = shuffled(rng, n)
        order = order[grouped_by(self._codes[order])]
        firsts = np.cumsum(counts) - counts
        nth = np.arange(n) - np.repeat(firsts, counts)
        to_full = counts - last
        each = to_full // max(full, 1)
        extra = to_full - each * full
        turn = np.zeros(len(counts), np.int64)  # a random order of the classes around the circle
        around = rng.permutation(len(counts))
        turn[around] = np.cumsum(extra[around]) - extra[around]
        even = np.repeat(each * full, counts)
        batch = np.where(nth < even, nth, np.repeat(turn, counts) + nth - even) % max(full, 1)
        places = rng.permutation(full) if full else np.zeros(1, np.int64)
        batch = places[batch]
        batch[nth >= np.repeat(to_full, counts)] = full
        mixed = shuffled(rng, n)  # within a batch the classes come in no order
        flat = order[mixed[grouped_by(batch[mixed].astype(np.uint32))]]
        ends = np.minimum(np.arange(1, full + bool(rest) + 1) * self.batch_size, n)
        return Plan(flat, ends[: self.batches])


def _rounded(shares: Any, total: int, rng: np.random.Generator) -> Any:
    """Integers next to ``shares`` that sum to ``total``: the largest fractions go up, ties at random."""
    whole = np.floor(shares + 1e-9).astype(np.int64)
    missing = total - int(whole.sum())
    if missing > 0:
        fractions = shares - whole + rng.random(len(shares)) * 1e-9
        whole[np.argsort(-fractions)[:missing]] += 1
    return whole
