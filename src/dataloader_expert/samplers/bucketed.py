"""Shuffled batches of samples of similar length, which need less padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.samplers.base import EpochBatchSampler, PackedBatchSampler, Plan
from dataloader_expert.samplers.ordering import TOGETHER, Indices, shuffled
from dataloader_expert.samplers.rules import finite, given, integers, per_sample, summed_up


class _ByLength(EpochBatchSampler):
    """Shuffles, then sorts windows of the shuffled order by length."""

    def __init__(self, lengths: Any, seed: int, num_replicas: int | None, rank: int | None, drop_last: bool) -> None:
        super().__init__(seed, num_replicas, rank, drop_last)
        self._lengths = per_sample("lengths", lengths, "iuf")
        finite("lengths", self._lengths)
        if len(self._lengths) and self._lengths.dtype.kind in "iu":
            narrow = np.uint16 if int(self._lengths.max()) < 1 << 16 else self._lengths.dtype
            self._lengths = self._lengths.astype(narrow)  # 16 bits are sorted by radix
        self._shape = {"samples": len(self._lengths), "lengths": summed_up(self._lengths)}

    def _windows(self, rng: np.random.Generator, size: int) -> Indices:
        """All samples in random order, each ``size`` of them sorted by length."""
        order = shuffled(rng, len(self._lengths))
        whole = len(order) - len(order) % size
        step = max(1, TOGETHER // size) * size
        parts = [order[at : min(at + step, whole)].reshape(-1, size) for at in range(0, whole, step)]
        for windows in (*parts, order[None, whole:]):  # views of the order, which is sorted in place
            by_length = np.argsort(self._lengths[windows], axis=1, kind="stable")
            windows[:] = np.take_along_axis(windows, by_length, axis=1)
        return order

    def _order_of(self, rng: np.random.Generator, longest: NDArray[Any]) -> NDArray[np.intp]:
        """A random order of the batches, in which those of one step have similar lengths across ranks.

        A step takes as long as its longest batch. So the batches, sorted by ``longest`` [batches], are cut into rounds
        of one batch per rank; rounds, and the ranks within one, are shuffled. An incomplete round comes last.
        """
        count, world = len(longest), self._world
        if world == 1:
            return rng.permutation(count)
        whole = count // world * world
        left_out = rng.choice(count, count - whole, replace=False)
        kept = np.delete(np.arange(count), left_out)
        alike = kept[np.lexsort((rng.random(whole), longest[kept]))].reshape(-1, world)
        rounds = rng.permuted(alike, axis=1)[rng.permutation(len(alike))]
        return np.concatenate([rounds.ravel(), left_out])


class LengthBucketBatchSampler(_ByLength):
    """Shuffles, sorts windows of ``window`` batches by length, cuts them into batches, and shuffles these.

    The batches of one step have similar lengths across ranks.

    Args:
        lengths: one length per sample, finite and at least 0, [samples].
        batch_size: samples per batch, at least 1; the last may be smaller unless ``drop_last``.
        window: batches that are sorted together, at least 1; more means less padding and less shuffling.
        seed, num_replicas, rank: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.
    """

    def __init__(
        self,
        lengths: Sequence[int] | Any,
        batch_size: int,
        window: int = 50,
        seed: int = 0,
        drop_last: bool = False,
        *,
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        super().__init__(lengths, seed, num_replicas, rank, drop_last)
        integers(1, batch_size=batch_size, window=window)
        self._batch_size, self.window = batch_size, window
        self._shape |= {"batch_size": batch_size, "window": window, "drop_last": drop_last}

    def _plan(self) -> Plan:
        rng = self._rng()
        n, b = len(self._lengths), self._batch_size
        order = self._windows(rng, b * self.window)
        ends = np.minimum(np.arange(1, self.batches + 1) * b, n)  # the smaller batch is its window's longest
        places = self._order_of(rng, self._lengths[order[ends - 1]])
        return _planned(order, places * b, ends[places])


class TokenBudgetBatchSampler(_ByLength, PackedBatchSampler):
    """Batches of as many samples of similar length as fit into ``max_tokens`` when padded to the longest.

    The batches of one step have similar lengths across ranks.

    Args:
        lengths: tokens per sample, [samples]; one above ``max_tokens`` is a ``ValueError`` that names the first.
        max_tokens: the maximum of ``samples * longest`` of a batch; this and the next two are at least 1.
        max_samples: the maximum of samples in a batch; None: no limit.
        window: samples that are sorted together; None: all, for the least padding.
        seed, drop_last, num_replicas, rank: as in :class:`~dataloader_expert.samplers.base.EpochSampler`;
            ``drop_last`` leaves out batches that do not fill a whole round of the ranks.
    """

    def __init__(
        self,
        lengths: Sequence[int] | Any,
        max_tokens: int,
        max_samples: int | None = None,
        window: int | None = 100_000,
        seed: int = 0,
        *,
        drop_last: bool = False,
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        super().__init__(lengths, seed, num_replicas, rank, drop_last)
        limits = {"max_tokens": max_tokens, "max_samples": max_samples, "window": window}
        integers(1, **given(**limits))
        over = np.flatnonzero(self._lengths > max_tokens)
        if len(over):
            first = int(over[0])
            raise ValueError(
                f"{len(over)} samples are over the budget of {max_tokens} tokens by themselves; the first is sample "
                f"{first} with {self._lengths[first]}: leave them out, cut them, or raise max_tokens"
            )
        self.max_tokens, self.max_samples, self.window = max_tokens, max_samples, window
        self._shape |= limits

    def _packed(self) -> Plan:
        rng = self._rng()
        n = len(self._lengths)
        window = min(self.window or n, max(n, 1))
        order = self._windows(rng, window)
        starts = [np.zeros(0, np.int64)]
        for at in range(0, n, window):
            cut = _cut(self._lengths[order[at : at + window]], self.max_tokens, self.max_samples or n)
            starts.append(np.asarray(cut, np.int64) + at)
        begins = np.concatenate(starts)
        ends = np.append(begins[1:], n) if n else begins
        places = self._order_of(rng, self._lengths[order[ends - 1]])
        return _planned(order, begins[places], ends[places])


def _planned(order: Indices, starts: NDArray[Any], ends: NDArray[Any]) -> Plan:
    """The batches ``order[start:end]``."""

    def made(first: int, until: int) -> list[list[int]]:
        bounds = zip(starts[first:until].tolist(), ends[first:until].tolist(), strict=True)
        return [order[start:end].tolist() for start, end in bounds]

    return Plan(len(ends), 64, made)


def _cut(ascending: Any, budget: int, most: int) -> list[int]:
    """Where batches of ascending lengths begin: each takes samples as long as their number x the last length fits."""
    n, at = len(ascending), 0
    lengths = np.maximum(ascending, 1).tolist()
    starts = []
    while at < n:
        starts.append(at)
        high = min(n, at + min(most, int(budget // lengths[at])))  # no more fit, for none is shorter than the first
        low = min(high, at + max(1, int(budget // lengths[high - 1])))  # as many fit, for none is longer than the last
        while low < high:  # the most samples that fit, between low and high
            middle = (low + high + 1) // 2
            if lengths[middle - 1] * (middle - at) <= budget:
                low = middle
            else:
                high = middle - 1
        at = low
    return starts
