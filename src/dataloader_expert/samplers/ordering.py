"""Shuffling, sorting and grouping of large arrays of indices, in pieces that stay in the processor's cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dataloader_expert.samplers.rules import per_sample

Indices = NDArray[np.signedinteger[Any]]
Keys = NDArray[np.unsignedinteger[Any]]
CHUNK = 1 << 19
"""Keys that are sorted into bins at a time: few enough for the cache, many enough that 256 bins are no cost."""
BINNED = 1 << 18
"""Indices from which on a shuffle goes by bins: fewer are in the cache anyhow."""
TOGETHER = 1 << 16
"""Samples of small segments that are shuffled together, and samples of the batches that are made together."""
ALONE = 1 << 12
"""A segment of so many samples is shuffled by itself: a call of its own is then no cost."""


def index_type(count: int) -> type[np.signedinteger[Any]]:
    """int32 where indices below ``count`` fit: half the memory traffic."""
    return np.int32 if count < 1 << 31 else np.int64


def shuffled(rng: np.random.Generator, count: int, values: Indices | None = None) -> Indices:
    """``values`` [count], or the indices below ``count``, in random order: all of :func:`shuffled_blocks`."""
    order, ends = _dealt_out(rng, count, values)
    for start, end in pairwise(ends):
        _shuffle(rng, order[start:end])
    return order


def shuffled_blocks(rng: np.random.Generator, count: int, values: Indices | None = None) -> Iterator[Indices]:
    """``values`` [count], or the indices below ``count``, in random order, block by block.

    What is too large for the cache goes to 256 random bins, each of which is shuffled. Exact: with a random bin for
    every index and a random order in every bin, all orders are equally likely.
    """
    order, ends = _dealt_out(rng, count, values)
    for start, end in pairwise(ends):
        _shuffle(rng, order[start:end])
        yield order[start:end]


def _dealt_out(rng: np.random.Generator, count: int, values: Indices | None) -> tuple[Indices, list[int]]:
    """A copy of ``values`` in random bins, and where bins begin and end; few stay in one bin."""
    if count < BINNED:
        kept = np.arange(count, dtype=index_type(count)) if values is None else values.copy()
        return kept, [0, count]
    bins = np.frombuffer(rng.bytes(count), np.uint8)
    return binned(count, lambda start, end: bins[start:end], values)


def _shuffle(rng: np.random.Generator, part: Indices) -> None:
    """Shuffles in place: numpy swaps 8 bytes at a time nearly twice as fast as 4."""
    wide = part.astype(np.int64)
    rng.shuffle(wide)
    part[:] = wide


def after(blocks: Iterable[Indices], start: int) -> Iterator[Indices]:
    """``blocks`` without the first ``start`` of their values."""
    for block in blocks:
        yield block[start:]
        start = max(0, start - len(block))


def shuffled_segments(
    rng: np.random.Generator, values: Indices, starts: NDArray[Any], counts: NDArray[Any]
) -> Iterator[tuple[int, int, Indices]]:
    """Shuffled segments of ``values``, as (first, last, the values of segments first to last - 1).

    ``starts`` and ``counts`` [segments] are their positions, which may overlap, and sizes. Small segments are shuffled
    together and then grouped, stably, which is as random; large ones are shuffled alone.
    """
    ends = np.cumsum(counts)
    large = np.append(np.flatnonzero(counts >= ALONE), len(counts))
    first, following = 0, 0
    while first < len(counts):
        if first == large[following]:
            start, count = int(starts[first]), int(counts[first])
            yield first, first + 1, shuffled(rng, count, values[start : start + count])
            first, following = first + 1, following + 1
            continue
        before = int(ends[first - 1]) if first else 0
        fitting = int(np.searchsorted(ends, before + TOGETHER, side="right"))
        last = min(max(fitting, first + 1), int(large[following]))
        sizes = counts[first:last]
        order = rng.permutation(int(ends[last - 1]) - before)
        segments = np.repeat(np.arange(last - first, dtype=key_type(last - first)), sizes)
        order = order[np.argsort(segments[order], kind="stable")]
        order += np.repeat(starts[first:last] - (ends[first:last] - sizes - before), sizes)
        yield first, last, values[order]
        first = last


def binned(count: int, bins: Callable[[int, int], Keys], values: Indices | None) -> tuple[Indices, list[int]]:
    """``values`` [count], or the indices below ``count``, stably sorted by bin, and where the bins begin and end.

    ``bins`` returns the bins (uint8) of the values from its first argument up to its second. A counting sort, chunk by
    chunk: each chunk is sorted in the cache, and its bins are added to those before.
    """
    step = min(CHUNK, max(TOGETHER, count // 32))  # of few keys the first index is to come as soon
    chunks = [(start, min(start + step, count)) for start in range(0, count, step)]
    sizes = [np.bincount(bins(start, end), minlength=256) for start, end in chunks]
    ends = [0, *np.cumsum(np.sum(sizes, axis=0)).tolist()] if sizes else [0] * 257
    places = ends[:-1]
    out = np.empty(count, index_type(count) if values is None else values.dtype)
    for (start, end), filled in zip(chunks, sizes, strict=True):
        order = np.argsort(bins(start, end), kind="stable")
        if values is None:
            order += start
        chunk = order if values is None else values[start:end][order]
        at = 0
        for i in np.flatnonzero(filled).tolist():
            size = int(filled[i])
            out[places[i] : places[i] + size] = chunk[at : at + size]
            places[i] += size
            at += size
    return out, ends


def grouped_by(keys: Keys) -> Indices:
    """A stable argsort of whole numbers of at most 32 bits, byte by byte, so that each step is in the cache."""
    return _grouped(keys, None, int(keys.max()).bit_length() if len(keys) else 0)


def _grouped(keys: Keys, values: Indices | None, bits: int) -> Indices:
    """``values``, or all indices, sorted by the lowest ``bits`` of their keys; they are equal in the others."""
    count = len(keys) if values is None else len(values)
    if count <= CHUNK:
        order = few_sorted(keys if values is None else keys[values])
        return order.astype(index_type(count)) if values is None else values[order]
    shift = max(0, bits - 8)

    def bins(start: int, end: int) -> Keys:
        chunk = keys[start:end] if values is None else keys[values[start:end]]
        return (chunk >> shift).astype(np.uint8)

    out, ends = binned(count, bins, values)
    if shift:
        for start, end in pairwise(ends):
            out[start:end] = _grouped(keys, out[start:end], shift)
    return out


def few_sorted(keys: Keys) -> NDArray[np.intp]:
    """A stable argsort of few keys: two passes over 16 bits, each of them numpy's radix sort."""
    if keys.dtype.itemsize <= 2:
        return np.argsort(keys, kind="stable")
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    high = (keys >> 16).astype(np.uint16)
    if len(keys) and int(high.max()) > int(high.min()):
        order = order[np.argsort(high[order], kind="stable")]
    return order


def key_counts(keys: Keys, count: int) -> NDArray[np.int64]:
    """How often each key below ``count`` comes; numpy alone would first make 64 bits of every one."""
    counts, step = np.zeros(count, np.int64), max(CHUNK, count)
    for start in range(0, len(keys), step):
        counts += np.bincount(keys[start : start + step], minlength=count)
    return counts


def key_type(count: int) -> type[np.unsignedinteger[Any]]:
    """The narrowest type of keys below ``count``."""
    return np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32


def class_codes(labels: Any, called: str = "labels") -> tuple[Keys, NDArray[np.intp]]:
    """Codes 0, 1, … of ``labels`` (sequence, array or tensor) in sorted order, and how many samples each has."""
    values = per_sample(called, labels)
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values) + 1024:  # small integers: counted, not sorted
            return _counted(values, low, high - low + 1)
    try:
        names, places = np.unique(values, return_inverse=True)
    except TypeError:  # None among texts, or texts among numbers
        kinds = sorted({type(v).__name__ for v in values.tolist()})
        raise ValueError(
            f"{called} are of several types ({', '.join(kinds)}), which have no order: give a sample without one a value of its own"
        ) from None
    return places.astype(key_type(len(names))), np.bincount(places, minlength=len(names))


def _counted(values: NDArray[Any], low: int, span: int) -> tuple[Keys, NDArray[np.intp]]:
    """:func:`class_codes` of integers from ``low`` to ``low + span - 1``, chunk by chunk."""
    step = max(CHUNK, span)

    def above(start: int) -> NDArray[np.int64]:
        chunk = values[start : start + step]
        if chunk.dtype.kind == "i":
            chunk = chunk.astype(np.int64, copy=False)  # 127 - -128 is no int8
        return (chunk - low).astype(np.int64, copy=False)

    counts = np.zeros(span, np.intp)
    for start in range(0, len(values), step):
        counts += np.bincount(above(start), minlength=span)
    present = counts > 0
    counts = counts[present]
    table = np.cumsum(present, dtype=np.uint32)
    table -= 1  # of what is absent nobody asks
    table = table.astype(key_type(len(counts)), copy=False)
    codes = np.empty(len(values), table.dtype)
    for start in range(0, len(values), step):
        codes[start : start + step] = table[above(start)]
    return codes, counts
