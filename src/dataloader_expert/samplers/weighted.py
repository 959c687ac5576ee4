"""Draws by weight, from any number of samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.samplers.base import IndexSampler
from dataloader_expert.samplers.ordering import CHUNK, Indices, after, index_type, shuffled, shuffled_blocks
from dataloader_expert.samplers.rules import finite, integers, per_sample, summed_up

BLOCK = 1 << 20
"""Draws made at a time: small enough for the processor's cache, large enough to be vectorised."""
MERGED = 1 << 22
"""Draws made at a time from sorted uniforms: the more there are, the nearer the next one's weight lies in memory."""
WALKED = 1 << 12
"""Samples whose weights are cumulated together, and among which sorted uniforms are looked up at a time."""
FULL = 0xFFFFFFFF
"""The whole of such samples' weight, as a whole number: 4 bytes a sample, and exact to 1e-6 of a mean weight."""
PIECE = 1 << 16
"""Weights of the table that are worked on at a time."""
TABLED = 1 << 25
"""Samples up to which an alias table is kept (8 bytes each); beyond it draws come from sorted uniforms."""
FAINTEST = np.float32(1e-36)
"""Without replacement a weight above 0 counts as at least this share of the largest: float32 keys stay finite."""

Floats = NDArray[np.float64]


class WeightedSampler(IndexSampler):
    """Indices drawn in proportion to their weights, as ``WeightedRandomSampler`` does, without its 2^24 limit.

    With replacement: an alias table (Walker 1977) gives each draw in constant time; above 2^25 samples, blocks of
    sorted uniforms are looked up in the cumulated weights, which needs no table. Without replacement: exponential keys
    (Efraimidis and Spirakis 2006) choose the samples, which are then shuffled.

    Args:
        weights: one per sample, finite, at least 0, not all 0, [samples]; any scale.
        num_samples: draws in an epoch, of all ranks, at least 1; None: the number of samples.
        replacement: whether a sample may be drawn twice; if not, ``num_samples`` weights must be above 0.
        seed, num_replicas, rank, drop_last: as in :class:`~dataloader_expert.samplers.base.EpochSampler`.
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
        kept = per_sample("weights", weights, "biuf")
        finite("weights", kept)
        with np.errstate(over="ignore", invalid="ignore"):
            total = float(kept.sum(dtype=np.float64)) if len(kept) else 0.0
        if total <= 0:
            raise ValueError("all weights are 0: there is nothing to draw")
        if not (np.isfinite(total) and np.isfinite(len(kept) / total)):  # too large or too small to be summed up
            kept = kept / float(kept.max())
            total = float(kept.sum(dtype=np.float64))
        self.num_samples = len(kept) if num_samples is None else num_samples
        integers(1, num_samples=self.num_samples)
        self.replacement, self.repeats, self._size = replacement, replacement, len(kept)
        self._shape = {"samples": len(kept), "num_samples": self.num_samples, "replacement": replacement}
        self._shape["weights"] = summed_up(kept)
        self._weights: Any = None
        if not replacement:
            possible = int(np.count_nonzero(kept))
            if self.num_samples > possible:
                raise ValueError(f"{self.num_samples} draws without replacement, but {possible} weights are above 0")
            self._weights = np.empty(len(kept), np.float32)
            np.divide(kept, float(kept.max()), out=self._weights, casting="same_kind", dtype=np.float64)
            np.maximum(self._weights, FAINTEST, out=self._weights, where=kept > 0)
        self._aliases = len(kept) <= TABLED
        self._tables: Any = () if not replacement else alias_table(kept, total) if self._aliases else cumulated(kept)

    @property
    def draws(self) -> int:
        return self.num_samples

    def _blocks(self, start: int) -> Iterator[Indices]:
        if self._weights is not None:
            rng, count = self._rng(), self.num_samples
            chosen = None if count == self._size else _smallest(_keys(rng, self._weights), count)
            yield from after(shuffled_blocks(rng, count, chosen), start)
            return
        drawn: Any = self._aliased if self._aliases else self._merged
        size = BLOCK if self._aliases else MERGED
        for part in range(start // size, -(-self.draws // size)):
            # a block has a generator of its own, so that a resumed epoch skips those before
            block = drawn(self._rng(part), min(size, self.draws - part * size), *self._tables)
            yield block[max(0, start - part * size) :]

    def _aliased(self, rng: np.random.Generator, count: int, kept: NDArray[np.float32], alias: Indices) -> Indices:
        drawn = rng.integers(self._size, size=count, dtype=alias.dtype)
        other = rng.random(count, dtype=np.float32) >= kept[drawn]
        np.copyto(drawn, alias[drawn], where=other)
        return drawn

    def _merged(self, rng: np.random.Generator, count: int, ends: Floats, within: NDArray[np.uint32]) -> Indices:
        """The uniforms of a block are sorted, so that they walk through the weights once."""
        uniforms = rng.random(count)
        uniforms.sort()
        uniforms *= ends[-1]
        np.minimum(uniforms, np.nextafter(ends[-1], 0), out=uniforms)  # a product may round up to the whole
        drawn = np.empty(len(uniforms), index_type(self._size))
        cuts = np.searchsorted(uniforms, ends)
        for i in np.flatnonzero(np.diff(cuts)).tolist():
            low, high, first = cuts[i], cuts[i + 1], i * WALKED
            share = (uniforms[low:high] - ends[i]) * (FULL / (ends[i + 1] - ends[i]))
            places = np.minimum(share, FULL - 1, out=share).astype(np.uint32)
            drawn[low:high] = np.searchsorted(within[first : first + WALKED], places, side="right")
            drawn[low:high] += first
        return shuffled(rng, len(drawn), drawn)


def cumulated(weights: NDArray[Any]) -> tuple[Floats, NDArray[np.uint32]]:
    """Sums of weights before each ``WALKED`` samples, and of all; and within those up to each sample, as a share of ``FULL``."""
    n = len(weights)
    within = np.empty(n, np.uint32)
    totals = np.zeros(-(-n // WALKED) + 1)
    for i in range(len(totals) - 1):
        sums = np.cumsum(weights[i * WALKED : (i + 1) * WALKED], dtype=np.float64)
        totals[i + 1] = sums[-1]
        last = np.searchsorted(sums, sums[-1])  # the last one that is above 0
        if sums[-1]:
            sums *= FULL / sums[-1]
        sums[last:] = FULL  # whatever the rounding: no uniform number passes it
        within[i * WALKED : (i + 1) * WALKED] = sums
    return np.cumsum(totals), within


def _keys(rng: np.random.Generator, weights: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Exponential keys, each over its weight, as the bits of floats: they are ordered alike."""
    keys = np.empty(len(weights), np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):  # weight 0: infinite or, of a key 0, NaN, behind all
        for at in range(0, len(keys), CHUNK):
            part = keys[at : at + CHUNK]
            rng.standard_exponential(dtype=np.float32, out=part)
            np.divide(part, weights[at : at + CHUNK], out=part)
    return keys.view(np.uint32)


def _smallest(keys: NDArray[np.uint32], count: int) -> Indices:
    """Where the ``count`` smallest keys are, in no order: counted by their upper halves, of which one is then split."""
    parts = [slice(at, min(at + CHUNK, len(keys))) for at in range(0, len(keys), CHUNK)]
    counts = np.zeros(1 << 16, np.int64)
    for part in parts:
        counts += np.bincount(keys[part] >> 16, minlength=1 << 16)
    ends = np.cumsum(counts)
    edge = int(np.searchsorted(ends, count))
    below = int(ends[edge] - counts[edge])
    chosen = np.empty(count, index_type(len(keys)))
    at, at_edge = 0, []
    for part in parts:
        halves = (keys[part] >> 16).astype(np.uint16)
        found = np.flatnonzero(halves < edge)
        np.add(found, part.start, out=chosen[at : at + len(found)], casting="same_kind")
        at += len(found)
        at_edge.append(np.flatnonzero(halves == edge) + part.start)
    among = np.concatenate(at_edge)
    chosen[below:] = among[np.argpartition(keys[among], count - below - 1)[: count - below]]
    return chosen


def alias_table(weights: NDArray[Any], total: float) -> tuple[NDArray[np.float32], Indices]:
    """Walker's table: keep a uniform index i if a uniform number is below ``kept[i]``, else take ``alias[i]``.

    Samples below the mean weight have a deficit, the others a surplus. Laid end to end, deficits and surpluses are
    two partitions of one interval; each deficit is filled by the surplus that covers its beginning, and a surplus
    that ends within a deficit is itself topped up by the next. One merge of both finds all of this, piece by piece.
    """
    n = len(weights)
    kept, alias = np.empty(n, np.float32), np.empty(n, index_type(n))
    small, large, deficits, surpluses = _partitions(weights, n / total, kept)
    if not len(small) or not len(large):
        return np.ones(n, np.float32), np.arange(n, dtype=alias.dtype)
    alias[large[:-1]] = large[1:]
    alias[large[-1]] = large[-1]
    alias[small[0]] = large[0]
    last = len(large) - 1
    for light, heavy, filled, met in _merge(deficits, surpluses):
        following = small[light.start + 1 : light.stop + 1]  # a deficit begins where the one before it ends
        alias[following] = large[np.minimum(filled[: len(following)], last)]
        rest = surpluses[heavy] - deficits[np.minimum(met, len(small) - 1)]
        rest += 1.0
        kept[large[heavy]] = np.clip(rest, 0.0, 1.0, out=rest)
    kept[large[last]] = 1.0  # rounding alone is left there
    return kept, alias


def _partitions(
    weights: NDArray[Any], scale: float, kept: NDArray[np.float32]
) -> tuple[Indices, Indices, Floats, Floats]:
    """The samples with a deficit, those with a surplus, and where deficits and surpluses end; fills ``kept``.

    Positive floats are ordered as their bits are; the lowest is set of a deficit alone, which tells them apart if merged.
    """
    n = len(weights)
    chunks = [slice(at, min(at + PIECE, n)) for at in range(0, n, PIECE)]
    few = sum(int(np.count_nonzero(np.multiply(weights[c], scale, dtype=np.float64) < 1.0)) for c in chunks)
    samples = [np.empty(few, index_type(n)), np.empty(n - few, index_type(n))]
    ends = [np.empty(few), np.empty(n - few)]
    at, carried = [0, 0], [0.0, 0.0]
    for c in chunks:
        scaled = np.multiply(weights[c], scale, dtype=np.float64)
        np.minimum(scaled, 1.0, out=kept[c], casting="same_kind")
        light = scaled < 1.0
        for i, chosen in enumerate((np.flatnonzero(light), np.flatnonzero(~light))):
            if len(chosen):
                to = slice(at[i], at[i] + len(chosen))
                np.add(chosen, c.start, out=samples[i][to], casting="same_kind")
                np.cumsum(np.abs(scaled[chosen] - 1.0), out=ends[i][to])
                ends[i][to] += carried[i]
                at[i], carried[i] = to.stop, float(ends[i][to.stop - 1])
    deficits, surpluses = ends
    np.bitwise_or(deficits.view(np.int64), 1, out=deficits.view(np.int64))
    np.bitwise_and(surpluses.view(np.int64), ~1, out=surpluses.view(np.int64))
    return samples[0], samples[1], deficits, surpluses


def _merge(deficits: Floats, surpluses: Floats) -> Iterator[tuple[slice, slice, Indices, Indices]]:
    """The deficits and the surpluses of a piece that stays in the cache, and how many of the others end before each does."""
    cuts = np.sort(np.concatenate([deficits[PIECE - 1 :: PIECE], surpluses[PIECE - 1 :: PIECE]]))
    lights = [0, *np.searchsorted(deficits, cuts, side="right").tolist(), len(deficits)]
    heavies = [0, *np.searchsorted(surpluses, cuts, side="right").tolist(), len(surpluses)]
    for light, heavy in zip(starmap(slice, pairwise(lights)), starmap(slice, pairwise(heavies)), strict=True):
        bits = np.concatenate([deficits[light], surpluses[heavy]]).view(np.int64)
        bits.sort(kind="stable")  # two ascending runs, which it merges
        deficit = (bits & 1).astype(bool)
        filled, met = np.flatnonzero(deficit), np.flatnonzero(~deficit)
        filled += heavy.start - np.arange(len(filled))
        met += light.start - np.arange(len(met))
        yield light, heavy, filled, met
