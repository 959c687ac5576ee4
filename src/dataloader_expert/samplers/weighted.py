"""Draws by weight, of any number of samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.samplers.base import IndexSampler, Indices, State, index_type

BLOCK = 1 << 20
"""Draws made at a time: small enough for the processor's cache, large enough to be vectorised."""
TABLED = 1 << 25
"""Samples up to which an alias table is kept (8 bytes each); beyond it draws come from sorted uniforms."""
FAINTEST = np.float32(1e-36)
"""Without replacement a weight above 0 counts as at least this share of the largest: float32 keys stay finite."""

Floats = NDArray[np.float64]


class WeightedSampler(IndexSampler):
    """Indices drawn in proportion to their weights, as ``WeightedRandomSampler`` does, without its 2^24 limit.

    With replacement: an alias table (Walker 1977, built here by one vectorised merge) gives each draw in constant
    time; above 2^25 samples blocks of sorted uniforms are looked up in the cumulated weights, which needs no table.
    Without: exponential keys (Efraimidis and Spirakis 2006) choose the samples, which then come in random order.

    Args:
        weights: one per sample, finite, at least 0, not all 0, [samples]; any scale.
        num_samples: draws in an epoch, of all ranks; None: as many as samples.
        replacement: whether a sample may come twice.
        seed, num_replicas, rank, drop_last: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.

    Raises:
        ValueError: if a weight is negative or not finite, all are 0, or too few are above 0 without replacement.
    """

    def __init__(
        self,
        weights: Sequence[float] | Any,
        num_samples: int | None = None,
        replacement: bool = True,
        seed: int = 0,
        *,
        num_replicas: int | None = None,
        rank: int | None = None,
        drop_last: bool = False,
    ) -> None:
        super().__init__(seed, num_replicas, rank, drop_last)
        kept = np.asarray(weights)
        if kept.ndim != 1 or kept.dtype.kind not in "fiub":
            raise ValueError(f"weights are {kept.dtype} of {kept.ndim} dimensions; one number per sample is needed")
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(kept.sum(dtype=np.float64)) if len(kept) else 0.0
        if len(kept) and not (np.isfinite(total) and float(kept.min()) >= 0):
            bad = np.flatnonzero(~(np.isfinite(kept) & (kept >= 0)))
            if len(bad):
                raise ValueError(f"weight {bad[0]} is {kept[bad[0]]}; weights must be finite and at least 0")
        if total <= 0:
            raise ValueError("all weights are 0: there is nothing to draw")
        if not (np.isfinite(total) and np.isfinite(len(kept) / total)):  # too large or too small to be summed up
            kept = kept / float(kept.max())
            total = float(kept.sum(dtype=np.float64))
        self.num_samples = len(kept) if num_samples is None else num_samples
        if self.num_samples < 1:
            raise ValueError(f"num_samples is {num_samples}; it must be at least 1")
        self.replacement, self._size = replacement, len(kept)
        self._weights: Any = None
        self._table: tuple[NDArray[np.float32], Indices] | None = None
        self._cumulated: Floats | None = None
        if not replacement:
            possible = int(np.count_nonzero(kept))
            if self.num_samples > possible:
                raise ValueError(f"{self.num_samples} draws without replacement, but {possible} weights are above 0")
            self._weights = np.empty(len(kept), np.float32)
            np.divide(kept, float(kept.max()), out=self._weights, casting="same_kind", dtype=np.float64)
            np.maximum(self._weights, FAINTEST, out=self._weights, where=kept > 0)
        elif len(kept) <= TABLED:
            self._table = alias_table(kept, total)
        else:
            self._cumulated = np.cumsum(kept, dtype=np.float64)

    @property
    def draws(self) -> int:
        return self.num_samples

    def _identity(self) -> dict[str, State]:
        drawn = {"num_samples": self.num_samples, "replacement": self.replacement}
        return {**super()._identity(), "samples": self._size, **drawn}

    def _blocks(self, start: int) -> Iterator[Indices]:
        if self._weights is not None:
            yield self._without_replacement()[start:]
            return
        for part in range(start // BLOCK, -(-self.draws // BLOCK)):
            if self._table is not None:
                block = self._aliased(part, *self._table)
            else:
                assert self._cumulated is not None
                block = self._merged(part, self._cumulated)
            yield block[max(0, start - part * BLOCK) :]

    def _aliased(self, part: int, kept: NDArray[np.float32], alias: Indices) -> Indices:
        """Block ``part`` of the epoch: it has a generator of its own, so that a resumed epoch skips the others."""
        rng = self._rng(part)
        count = min(BLOCK, self.draws - part * BLOCK)
        drawn = rng.integers(self._size, size=count, dtype=alias.dtype)
        other = rng.random(count, dtype=np.float32) >= kept[drawn]
        np.copyto(drawn, alias[drawn], where=other)
        return drawn

    def _merged(self, part: int, cumulated: Floats) -> Indices:
        """Block ``part`` of the epoch: its uniforms are sorted, so that they walk through the weights once."""
        rng = self._rng(part)
        uniforms = rng.random(min(BLOCK, self.draws - part * BLOCK))
        uniforms.sort()
        uniforms *= cumulated[-1]
        drawn = np.searchsorted(cumulated, uniforms, side="right").astype(index_type(self._size))
        np.minimum(drawn, self._size - 1, out=drawn)
        rng.shuffle(drawn)
        return drawn

    def _without_replacement(self) -> Indices:
        rng, count = self._rng(), self.num_samples
        keys = rng.standard_exponential(self._size, dtype=np.float32)
        with np.errstate(divide="ignore", invalid="ignore"):  # weight 0: infinite or, of a key 0, NaN, behind all
            np.divide(keys, self._weights, out=keys)
        if count == self._size:
            chosen = np.arange(count, dtype=index_type(count))
        else:
            chosen = np.argpartition(keys, count)[:count].astype(index_type(self._size))
        rng.shuffle(chosen)
        return chosen


def alias_table(weights: NDArray[Any], total: float) -> tuple[NDArray[np.float32], Indices]:
    """Walker's table: keep a uniform index i if a uniform number is below ``kept[i]``, else take ``alias[i]``.

    Samples below the mean weight have a deficit, the others a surplus. Laid end to end, deficits and surpluses are
    two partitions of one interval; each deficit is filled by the surplus that covers its beginning, and a surplus
    that ends within a deficit is itself topped up by the next. One merge of both finds all of this at once.
    """
    n = len(weights)
    scaled: Floats = np.multiply(weights, n / total, dtype=np.float64)
    light = scaled < 1.0
    kept = np.empty(n, np.float32)
    np.minimum(scaled, 1.0, out=kept, casting="same_kind")
    alias = np.arange(n, dtype=index_type(n))
    small, large = alias[light], alias[~light]
    if not len(small) or not len(large):
        return np.ones(n, np.float32), alias
    ends = np.empty(n)  # where deficits end, then where surpluses end; large arrays are reused: fresh pages cost most
    deficits, surpluses = ends[: len(small)], ends[len(small) :]
    scaled -= 1.0
    np.cumsum(scaled[light], out=deficits)
    np.negative(deficits, out=deficits)
    np.cumsum(scaled[~light], out=surpluses)
    # Both are ascending: the stable sort meets two runs and merges them in linear time. Positive floats are ordered
    # as their bits are; the lowest one says which of the two a number is.
    bits = ends.view(np.int64)
    bits[: len(small)] |= 1
    bits[len(small) :] &= ~1
    bits.sort(kind="stable")
    flags = scaled.view(np.int64)
    np.bitwise_and(bits, 1, out=flags)
    is_deficit = flags.astype(bool)
    is_surplus = ~is_deficit
    filled = alias[is_deficit]  # for each deficit, the surpluses that end before it does
    filled -= alias[: len(small)]
    met = alias[is_surplus]  # for each surplus, the deficits that end before it does
    met -= alias[: len(large)]
    last = len(large) - 1
    np.minimum(met, len(small) - 1, out=met)
    rest = ends[is_surplus]
    rest -= ends[is_deficit][met]
    rest += 1.0
    rest[last] = 1.0  # rounding alone is left there
    kept[large] = np.clip(rest, 0.0, 1.0, out=rest)
    begins = np.empty_like(filled)  # a deficit begins where the one before it ends
    begins[0] = 0
    np.minimum(filled[:-1], last, out=begins[1:])
    alias[small] = large[begins]
    alias[large[:-1]] = large[1:]
    return kept, alias
