"""Batches of samples of like length: less padding, still shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataloader_expert.samplers.base import EpochBatchSampler, Indices, Plan, State, shuffled


class _ByLength(EpochBatchSampler):
    """Shuffles, then sorts windows of the shuffled order by length."""

    def __init__(
        self, lengths: Any, seed: int, drop_last: bool, num_replicas: int | None = None, rank: int | None = None
    ) -> None:
        super().__init__(seed, num_replicas, rank, drop_last)
        self._lengths = np.asarray(lengths)
        if self._lengths.ndim != 1 or self._lengths.dtype.kind not in "iuf":
            raise ValueError(
                f"lengths are {self._lengths.dtype} of {self._lengths.ndim} dimensions; one each is needed"
            )
        bad = np.flatnonzero(~(np.isfinite(self._lengths) & (self._lengths >= 0)))
        if len(bad):
            raise ValueError(f"length {bad[0]} is {self._lengths[bad[0]]}; lengths must be finite and at least 0")
        if len(self._lengths) and self._lengths.dtype.kind in "iu":
            narrow = np.uint16 if int(self._lengths.max()) < 1 << 16 else self._lengths.dtype
            self._lengths = self._lengths.astype(narrow)  # 16 bits are sorted by radix

    def _windows(self, rng: np.random.Generator, size: int) -> list[Indices]:
        """The shuffled order in windows of ``size`` samples, each sorted by length."""
        order = shuffled(rng, len(self._lengths))
        parts = [order[at : at + size] for at in range(0, len(order), size)]
        return [part[np.argsort(self._lengths[part], kind="stable")] for part in parts]


class LengthBucketBatchSampler(_ByLength):
    """Shuffles, sorts windows of ``window`` batches by length, cuts them into batches, shuffles the batches.

    Args:
        lengths: one length per sample, [samples].
        batch_size: samples per batch; the last may be smaller unless ``drop_last``.
        window: batches that are sorted together; larger pads less and shuffles less.
        seed, num_replicas, rank: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.

    Raises:
        ValueError: if ``batch_size`` or ``window`` is below 1, or lengths are not numbers.
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
        super().__init__(lengths, seed, drop_last, num_replicas, rank)
        if batch_size < 1 or window < 1:
            raise ValueError(f"got batch_size {batch_size} and window {window}; both must be at least 1")
        self.batch_size, self.window = batch_size, window

    @property
    def batches(self) -> int:
        full, rest = divmod(len(self._lengths), self.batch_size)
        return full + bool(rest and not self.drop_last)

    def _identity(self) -> dict[str, State]:
        cut = {"batch_size": self.batch_size, "window": self.window, "drop_last": self.drop_last}
        return {**super()._identity(), "samples": len(self._lengths), **cut}

    def _plan(self) -> Plan:
        rng = self._rng()
        n, b = len(self._lengths), self.batch_size
        windows = self._windows(rng, b * self.window)
        if not windows:
            return Plan(np.zeros(0, np.int32), size=b)
        flat = np.concatenate(windows)
        full = n // b  # only the last window can hold a smaller batch, and it is that window's longest
        places = rng.permutation(self.batches)
        sizes = np.full(self.batches, b)
        if self.batches > full:
            sizes[-1] = n - full * b
        starts = np.cumsum(sizes) - sizes
        sizes, starts = sizes[places], starts[places]
        ends = np.cumsum(sizes)
        take = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)
        return Plan(flat[take], ends)


class TokenBudgetBatchSampler(_ByLength):
    """Batches of as many samples of like length as fit ``max_tokens`` when padded to their longest.

    Args:
        lengths: tokens per sample, [samples]; none above ``max_tokens``.
        max_tokens: the most that ``samples * longest`` of a batch may be.
        max_samples: the most samples in a batch; None: no limit.
        window: samples that are sorted together; None: all of them, which pads least.
        seed, drop_last, num_replicas, rank: as in :class:`~dataloader_expert.samplers.base.EpochSampler`;
            ``drop_last`` leaves out batches that make no whole round of the ranks.

    Raises:
        ValueError: if a sample alone is over the budget (naming the first), or a number is below 1.
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
        super().__init__(lengths, seed, drop_last, num_replicas, rank)
        if max_tokens < 1 or (max_samples is not None and max_samples < 1) or (window is not None and window < 1):
            raise ValueError(f"got {max_tokens=}, {max_samples=}, {window=}; each must be at least 1")
        over = np.flatnonzero(self._lengths > max_tokens)
        if len(over):
            first = int(over[0])
            raise ValueError(
                f"{len(over)} samples are over the budget of {max_tokens} tokens by themselves, the first is sample "
                f"{first} with {self._lengths[first]}: leave them out, cut them, or raise max_tokens"
            )
        self.max_tokens, self.max_samples, self.window = max_tokens, max_samples, window
        self._kept: tuple[int, Plan] | None = None

    @property
    def batches(self) -> int:
        return len(self._plan())

    def _identity(self) -> dict[str, State]:
        cut = {"max_tokens": self.max_tokens, "max_samples": self.max_samples, "window": self.window}
        return {**super()._identity(), "samples": len(self._lengths), **cut}

    def _plan(self) -> Plan:
        if self._kept is None or self._kept[0] != self.epoch:  # how many batches there are follows from the plan
            self._kept = (self.epoch, self._made())
        return self._kept[1]

    def _made(self) -> Plan:
        rng = self._rng()
        n = len(self._lengths)
        most = self.max_samples or n
        windows = self._windows(rng, self.window or max(n, 1))
        starts: list[int] = []
        offset = 0
        for part in windows:
            starts += [offset + at for at in _cut(self._lengths[part], self.max_tokens, most)]
            offset += len(part)
        begins = np.asarray(starts, np.int64)
        sizes = np.diff(np.append(begins, n))
        places = rng.permutation(len(begins))
        begins, sizes = begins[places], sizes[places]
        ends = np.cumsum(sizes)
        take = np.arange(n) + np.repeat(begins - (ends - sizes), sizes)
        flat = np.concatenate(windows)[take] if windows else np.zeros(0, np.int32)
        return Plan(flat, ends)


def _cut(ascending: Any, budget: int, most: int) -> list[int]:
    """Where batches of ascending lengths begin: each as long as (its samples) x (its last length) fits."""
    n, at = len(ascending), 0
    lengths = np.maximum(ascending, 1).tolist()
    starts = []
    while at < n:
        starts.append(at)
        low = at + 1  # one sample always fits; more fit up to the last length's share of the budget
        high = min(n, at + min(most, int(budget // lengths[at])))
        while low < high:  # the most samples that fit, between low and high
            middle = (low + high + 1) // 2
            if lengths[middle - 1] * (middle - at) <= budget:
                low = middle
            else:
                high = middle - 1
        at = low
    return starts
