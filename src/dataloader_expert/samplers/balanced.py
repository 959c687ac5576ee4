"""Batches of P classes by K samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.samplers.base import (
    EpochBatchSampler,
    Indices,
    Plan,
    State,
    class_codes,
    grouped_by,
    index_type,
    shuffled,
)


class ClassBalancedBatchSampler(EpochBatchSampler):
    """Batches that hold ``classes_per_batch`` classes with ``samples_per_class`` samples each.

    Each class's samples are used up in a shuffled order before any is repeated. Classes come equally often, but in the
    last round of an epoch; where P does not divide their number, only in the long run.
    Without ``classes_per_batch`` a batch holds every class, in sorted order, and an epoch ends with the rarest class
    (``drop_last``) or with the most frequent one, while the others begin anew in another order.

    Args:
        labels: one class per sample: sequence, array or tensor, [samples].
        classes_per_batch: P; at most the number of classes; None: all of them.
        samples_per_class: K.
        seed: of every random choice.
        drop_last: without ``classes_per_batch``, see above; with it, an epoch has as many whole batches as the
            samples fill, and with ``drop_last`` the ranks get only whole rounds of them.
        shuffle: whether samples are drawn in random order rather than their own.
        num_replicas, rank: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.

    Raises:
        ValueError: without labels, if P exceeds the number of classes, or P or K is below 1.
    """

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
            raise ValueError("labels are empty; one per sample is needed")
        n = len(self._counts)
        p = n if classes_per_batch is None else classes_per_batch
        if p < 1 or samples_per_class < 1:
            raise ValueError(f"got {p} classes by {samples_per_class} samples; both must be at least 1")
        if p > n:
            raise ValueError(f"classes_per_batch is {p}, but there are {n} classes")
        self.classes_per_batch, self.samples_per_class, self.shuffle = p, samples_per_class, shuffle
        self._all = classes_per_batch is None
        self._members = grouped_by(codes).astype(index_type(len(codes)))
        if self._all:
            per_class = self._counts // samples_per_class if drop_last else -(-self._counts // samples_per_class)
            self._batches = int(per_class.min() if drop_last else per_class.max())
        else:
            self._batches = max(1, len(codes) // (p * samples_per_class))

    @property
    def batches(self) -> int:
        return self._batches

    @property
    def batch_size(self) -> int:
        return self.classes_per_batch * self.samples_per_class

    def _identity(self) -> dict[str, State]:
        shape = {"classes_per_batch": self.classes_per_batch, "samples_per_class": self.samples_per_class}
        more = {"samples": len(self._members), "batches": self._batches, "shuffle": self.shuffle}
        return {**super()._identity(), **shape, **more}

    def _plan(self) -> Plan:
        rng = self._rng()
        turns = self._turns(rng)
        times = np.bincount(turns, minlength=len(self._counts))
        supply, starts = self._supply(rng, times * self.samples_per_class)
        place = np.empty(len(turns), np.int64)  # how often the class came before, turn by turn
        by_class = grouped_by(turns)
        firsts = np.cumsum(times) - times
        place[by_class] = np.arange(len(turns)) - np.repeat(firsts, times)
        at = starts[turns] + place * self.samples_per_class
        flat = supply[at] if self.samples_per_class == 1 else supply[at[:, None] + np.arange(self.samples_per_class)]
        return Plan(flat.reshape(-1), size=self.batch_size)

    def _turns(self, rng: np.random.Generator) -> NDArray[np.uint32]:
        """The classes of every batch, one batch after the other, [batches * P].

        Rounds deal all classes out in random order, P to a batch; those left over at a round's end wait for the next.
        """
        n, p = len(self._counts), self.classes_per_batch
        if self._all or p == n:
            return np.tile(np.arange(n, dtype=np.uint32), self._batches)
        per_round = n // p
        rounds = -(-self._batches // per_round)
        dealt = rng.permuted(np.tile(np.arange(n, dtype=np.uint32), (rounds, 1)), axis=1)[:, : per_round * p]
        return np.ascontiguousarray(dealt).reshape(-1)[: self._batches * p]

    def _supply(self, rng: np.random.Generator, needed: NDArray[np.intp]) -> tuple[Indices, NDArray[np.int64]]:
        """Each class's samples, shuffled anew as often as ``needed`` asks; and where each class begins."""
        counts = self._counts
        passes = -(-needed // counts)
        held = passes * counts
        starts = np.cumsum(held) - held
        segments = np.repeat(np.arange(passes.sum(), dtype=np.uint32), np.repeat(counts, passes))
        offsets = np.repeat(np.cumsum(counts) - counts, passes)
        begins = np.cumsum(np.repeat(counts, passes)) - np.repeat(counts, passes)
        entries = np.arange(len(segments), dtype=np.int64) + np.repeat(offsets - begins, np.repeat(counts, passes))
        supply: Indices = self._members[entries]
        if self.shuffle:
            order = shuffled(rng, len(segments))
            supply = supply[order[grouped_by(segments[order])]]
        return supply, starts
