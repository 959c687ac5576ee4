"""Batches with the class proportions of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.samplers.base import EpochBatchSampler, Plan
from dataloader_expert.samplers.ordering import TOGETHER, Indices, class_codes, grouped_by, shuffled_segments
from dataloader_expert.samplers.rules import integers, summed_up


class StratifiedBatchSampler(EpochBatchSampler):
    """Each sample once per epoch, in batches whose class counts differ from the data's shares by less than one.

    Each batch gets the share of a class rounded down; the remaining samples go to neighbouring batches, class after
    class around a circle, so that row and column sums are exact (controlled rounding, Cox 1987). The batches are
    shuffled, with the smaller last one at the end.

    Args:
        labels: one class per sample: sequence, array or tensor, [samples]; without any, a ``ValueError``.
        batch_size: samples per batch, at least 1.
        drop_last: leave out the smaller last batch, and batches that do not fill a whole round of the ranks.
        seed, num_replicas, rank: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.
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
        codes, self._counts = class_codes(labels)
        integers(1, batch_size=batch_size)
        if not len(codes):
            raise ValueError("labels are empty; pass one per sample")
        self._members = grouped_by(codes)
        self._batch_size = batch_size
        self._shape = {"batch_size": batch_size, "samples": len(codes), "labels": summed_up(codes)}

    def _plan(self) -> Plan:
        rng = self._rng()
        n, counts = len(self._members), self._counts
        full, rest = divmod(n, self._batch_size)
        last = _rounded(counts * (rest / n), rest, rng)
        each = (counts - last) // max(full, 1)
        even = each * full
        extra = counts - last - even
        around = rng.permutation(len(counts))  # a random order of the classes around the circle
        # what is dealt evenly, then what goes around the circle, then the smaller last batch; each class by class
        places = np.stack([_before(even), even.sum() + _before(extra, around), n - rest + _before(last)], axis=1)
        dealt = self._dealt(rng, np.stack([even, extra, last], axis=1), places)
        turns = rng.permutation(full)  # where on the circle each batch stands
        begins = np.repeat(places[:, 0], each) + np.arange(int(each.sum())) - np.repeat(_before(each), each)
        steps = np.repeat(each, each)
        circle = even.sum() + np.arange(self._batch_size - int(each.sum()) if full else 0) * full
        key = int(rng.integers(1 << 63))

        def made(first: int, until: int) -> list[list[int]]:
            rng, whole = np.random.Generator(np.random.SFC64([key, first])), min(until, full)
            evenly = begins + steps * np.arange(first, whole)[:, None]
            batches = dealt[np.hstack([evenly, circle + turns[first:whole, None]])].astype(np.int64)
            rng.permuted(batches, axis=1, out=batches)  # within a batch the classes come in no order
            smaller = [rng.permutation(dealt[n - rest :]).tolist()] if until > whole else []
            return [*batches.tolist(), *smaller]

        return Plan(self.batches, TOGETHER // self._batch_size, made)

    def _dealt(self, rng: np.random.Generator, sizes: NDArray[np.int64], places: NDArray[np.int64]) -> Indices:
        """The samples of each class in random order, cut into parts of ``sizes`` that go to ``places`` [classes, 3]."""
        dealt = np.empty_like(self._members)
        for first, last, samples in shuffled_segments(rng, self._members, _before(self._counts), self._counts):
            lengths, starts = sizes[first:last].reshape(-1), places[first:last].reshape(-1)
            if last == first + 1:  # of a large class no list of places is needed
                for at, size, start in zip(_before(lengths), lengths, starts, strict=True):
                    dealt[start : start + size] = samples[at : at + size]
            else:
                dealt[np.arange(len(samples)) + np.repeat(starts - _before(lengths), lengths)] = samples
        return dealt


def _before(sizes: NDArray[Any], order: Any = slice(None)) -> NDArray[Any]:
    """Exclusive cumulated sums, in their order or in ``order``."""
    before = np.empty_like(sizes)
    before[order] = np.cumsum(sizes[order]) - sizes[order]
    return before


def _rounded(shares: Any, total: int, rng: np.random.Generator) -> Any:
    """``shares`` rounded to integers that sum to ``total``: the largest fractions go up, ties at random."""
    whole = np.floor(shares + 1e-9).astype(np.int64)
    missing = total - int(whole.sum())
    if missing > 0:
        fractions = shares - whole + rng.random(len(shares)) * 1e-9
        whole[np.argsort(-fractions)[:missing]] += 1
    return whole
