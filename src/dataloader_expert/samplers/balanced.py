"""Batches of P classes by K samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.samplers.base import EpochBatchSampler, Plan, portions
from dataloader_expert.samplers.ordering import (
    TOGETHER,
    Indices,
    Keys,
    class_codes,
    few_sorted,
    grouped_by,
    key_counts,
    key_type,
    shuffled_segments,
)
from dataloader_expert.samplers.rules import integers, summed_up


class ClassBalancedBatchSampler(EpochBatchSampler):
    """Batches that hold ``classes_per_batch`` classes with ``samples_per_class`` samples each.

    Every sample of a class is drawn, in shuffled order, before one repeats. Classes are drawn equally often, except in
    the last round of an epoch; if P does not divide their number, only in the long run. Without ``classes_per_batch`` a
    batch holds every class, in sorted order, and the epoch ends with the rarest class (``drop_last``) or with the most
    frequent one, while the others are reshuffled and repeat.

    Args:
        labels: one class per sample: sequence, array or tensor, [samples]; without any, a ``ValueError``.
        classes_per_batch: P, from 1 to the number of classes; None: all.
        samples_per_class: K, at least 1.
        drop_last: see above; with ``classes_per_batch``: leave out batches that do not fill a whole round of the ranks.
        shuffle: False: the samples of a class in stored order.
        seed, num_replicas, rank: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.
    """

    repeats = True

    def __init__(
        self,
        labels: Sequence[object] | Any,
        classes_per_batch: int | None = None,
        samples_per_class: int = 1,
        seed: int | None = None,
        *,
        drop_last: bool = True,
        shuffle: bool = True,
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        super().__init__(seed or 0, num_replicas, rank, drop_last and classes_per_batch is not None)
        codes, self._counts = class_codes(labels)
        if not len(codes):
            raise ValueError("labels are empty; pass one per sample")
        n = len(self._counts)
        p = n if classes_per_batch is None else classes_per_batch
        integers(1, classes_per_batch=p, samples_per_class=samples_per_class)
        if p > n:
            raise ValueError(f"classes_per_batch is {p}, but labels have {n} classes")
        self.classes_per_batch, self.samples_per_class, self.shuffle = p, samples_per_class, shuffle
        self._all = classes_per_batch is None
        self._members = grouped_by(codes)
        if self._all:
            count = int(self._counts.min() if drop_last else self._counts.max())
            self._batches = portions(count, samples_per_class, drop_last)
        else:
            self._batches = max(1, len(codes) // (p * samples_per_class))
        self._shape = {"classes_per_batch": p, "samples_per_class": samples_per_class, "samples": len(codes)}
        self._shape |= {"labels": summed_up(codes), "batches": self._batches, "shuffle": shuffle}

    @property
    def batches(self) -> int:
        return self._batches

    @property
    def batch_size(self) -> int:
        """Samples of a batch: P classes by K."""
        return self.classes_per_batch * self.samples_per_class

    def _plan(self) -> Plan:
        rng = self._rng()
        p, k = self.classes_per_batch, self.samples_per_class
        turns = _Turns(self._dealt(rng), len(self._counts))
        if self.shuffle:
            needed = turns.before(self._batches * p) * k
            supply, held = self._supply(rng, needed), needed  # of each class what is needed, and so never exceeded
        else:
            supply, held = self._members, self._counts
        starts = np.cumsum(held) - held

        def made(first: int, until: int) -> list[list[int]]:
            classes, places = turns.between(first * p, until * p)
            nth = (places * k)[:, None] + np.arange(k)
            if not self.shuffle:
                nth %= held[classes][:, None]
            batches: list[list[int]] = supply[starts[classes][:, None] + nth].reshape(-1, self.batch_size).tolist()
            return batches

        return Plan(self._batches, TOGETHER // self.batch_size, made)

    def _dealt(self, rng: np.random.Generator) -> Keys:
        """The classes of every batch, [batches * P]: rounds of all classes in random order, without what fills no batch."""
        n, p = len(self._counts), self.classes_per_batch
        every = np.arange(n)
        if self._all or p == n:
            return np.tile(every.astype(key_type(n)), self._batches)
        per_round = n // p
        rounds = -(-self._batches // per_round)
        dealt = np.empty((rounds, per_round * p), key_type(n))
        step = max(1, TOGETHER // n)
        for first in range(0, rounds, step):
            orders = np.tile(every, (min(step, rounds - first), 1))
            rng.permuted(orders, axis=1, out=orders)
            dealt[first : first + step] = orders[:, : per_round * p]
        return dealt.reshape(-1)[: self._batches * p]

    def _supply(self, rng: np.random.Generator, needed: NDArray[np.int64]) -> Indices:
        """Of each class as many samples as are ``needed``, shuffled anew as often as it is used up."""
        passes = -(-needed // self._counts)
        counts = np.repeat(self._counts, passes)
        starts = np.repeat(np.cumsum(self._counts) - self._counts, passes)
        kept = counts.copy()  # the last pass of a class ends early
        drawn = passes > 0
        kept[np.cumsum(passes)[drawn] - 1] -= (passes * self._counts - needed)[drawn]
        supply = np.empty(int(needed.sum()), self._members.dtype)
        at = 0
        for first, last, samples in shuffled_segments(rng, self._members, starts, counts):
            sizes, wanted = counts[first:last], kept[first:last]
            if int(wanted.sum()) < len(samples):
                nth = np.arange(len(samples)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
                samples = samples[nth < np.repeat(wanted, sizes)]
            supply[at : at + len(samples)] = samples
            at += len(samples)
        return supply


class _Turns:
    """The class of every turn of an epoch, and how often it came before: cheapest when read in ascending order."""

    def __init__(self, classes: Keys, count: int) -> None:
        self._classes, self._count = classes, count
        self._at, self._seen = 0, np.zeros(count, np.int64)

    def before(self, turn: int) -> NDArray[np.int64]:
        """How often each class comes before ``turn``."""
        return key_counts(self._classes[:turn], self._count)

    def between(self, first: int, until: int) -> tuple[Keys, NDArray[np.int64]]:
        """The classes of these turns, and how often each of them came before, in the epoch."""
        if first != self._at:
            self._seen = self.before(first)
        classes = self._classes[first:until]
        by_class = few_sorted(classes)
        ordered = classes[by_class]
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        sizes = np.diff(np.append(begins, len(ordered)))
        places = np.empty(len(classes), np.int64)
        places[by_class] = np.arange(len(classes)) + np.repeat(self._seen[ordered[begins]] - begins, sizes)
        self._seen[ordered[begins]] += sizes
        self._at = until
        return classes, places
