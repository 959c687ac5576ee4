"""Batches and splits of whole groups."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.samplers.base import PackedBatchSampler, Plan
from dataloader_expert.samplers.ordering import CHUNK, TOGETHER, Indices, class_codes, grouped_by, index_type
from dataloader_expert.samplers.rules import integers, summed_up


class GroupBatchSampler(PackedBatchSampler):
    """Packs whole groups, in shuffled order, into batches of at most ``batch_size`` samples.

    Args:
        groups: one group per sample, [samples].
        batch_size: the maximum of samples, at least 1; a larger group is a batch of its own.
        seed, drop_last, num_replicas, rank: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.
    """

    def __init__(
        self,
        groups: Sequence[object] | Any,
        batch_size: int,
        seed: int = 0,
        *,
        drop_last: bool = False,
        num_replicas: int | None = None,
        rank: int | None = None,
    ) -> None:
        super().__init__(seed, num_replicas, rank, drop_last)
        integers(1, batch_size=batch_size)
        codes, self._counts = class_codes(groups, "groups")
        self._members = grouped_by(codes)
        self._batch_size = batch_size
        self._shape = {"batch_size": batch_size, "samples": len(codes), "groups": summed_up(codes)}

    def _packed(self) -> Plan:
        turns = self._rng().permutation(len(self._counts)).astype(index_type(len(self._counts)))
        cuts = self._cuts(turns)
        starts = np.cumsum(self._counts) - self._counts

        def made(first: int, until: int) -> list[list[int]]:
            groups = turns[cuts[first] : cuts[until]]
            sizes = self._counts[groups]
            ends = np.cumsum(sizes)
            at = np.arange(int(ends[-1])) + np.repeat(starts[groups] - (ends - sizes), sizes)
            last_ones = cuts[first + 1 : until] - cuts[first] - 1
            return [batch.tolist() for batch in np.split(self._members[at], ends[last_ones])]

        return Plan(len(cuts) - 1, TOGETHER * len(cuts) // max(1, len(self._members)), made)

    def _cuts(self, turns: Indices) -> NDArray[np.int64]:
        """The first group of each batch, and the number of groups, [batches + 1]."""
        cuts = array("q", [0])
        held = 0
        for start in range(0, len(turns), CHUNK):  # not all at once as Python integers
            for at, size in enumerate(self._counts[turns[start : start + CHUNK]].tolist(), start):
                if held and held + size > self._batch_size:
                    cuts.append(at)
                    held = 0
                held += size
        if held:
            cuts.append(len(turns))
        return np.asarray(cuts, np.int64)


def split_by_group(groups: Sequence[object] | Any, shares: dict[str, float], seed: int = 0) -> dict[str, Indices]:
    """Splits samples so that no group is in two splits; sizes are as close to the shares as whole groups allow.

    Groups are taken from largest to smallest, equals in random order, each into the split that is furthest below its
    share. No split is empty if there are as many groups as splits.

    Args:
        groups: one group per sample, [samples].
        shares: split to its share, such as ``{"train": 0.8, "val": 0.2}``; above 0, the sum 1, else a ``ValueError``.
        seed: of the order of groups of one size.

    Returns the ascending sample indices of each split, [samples of the split], int32 where they fit.
    """
    if not isinstance(shares, dict):
        raise ValueError(f"shares is {shares!r}; it must be a dictionary, such as {{'train': 0.8, 'val': 0.2}}")
    if min(shares.values(), default=0) <= 0 or abs(sum(shares.values()) - 1) > 1e-6:
        raise ValueError(f"shares is {shares}; each must be above 0, and together they must sum to 1")
    codes, counts = class_codes(groups, "groups")
    rng = np.random.Generator(np.random.SFC64([seed]))
    order = rng.permutation(len(counts))
    order = order[np.argsort(-counts[order], kind="stable")]
    wanted = np.array(list(shares.values())) * len(codes)
    held = np.zeros(len(shares))
    home = np.zeros(len(counts), np.int64)
    for at, group in enumerate(order.tolist()):
        room = wanted - held
        if len(order) - at <= int((held == 0).sum()):  # as many groups left as splits without one
            room[held > 0] = -np.inf
        split = int(np.argmax(room))
        home[group] = split
        held[split] += counts[group]
    of_sample = home[codes]
    return {name: np.flatnonzero(of_sample == i).astype(index_type(len(codes))) for i, name in enumerate(shares)}
