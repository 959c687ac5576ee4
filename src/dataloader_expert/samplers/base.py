"""What every sampler is: an order drawn from seed and epoch alone, sharded across ranks, resumable within an epoch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from itertools import count as counter
from operator import length_hint
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DistributedSampler, Sampler

from dataloader_expert.samplers.draws import placed
from dataloader_expert.samplers.ranks import asked_by_wrapper, own_share, process_group, share_asked

Indices = NDArray[np.signedinteger[Any]]
Keys = NDArray[np.unsignedinteger[Any]]
T = TypeVar("T", int, list[int])
State: TypeAlias = int | float | str | None
"""Values of a state, ready for JSON."""
LISTED = 1 << 12
"""Indices that are turned into Python integers at a time: their memory stays in the cache, and is used again."""
CHUNK = 1 << 19
"""Keys that are sorted into bins at a time: few enough for the cache, many enough that 256 bins are no cost."""
BINNED = 1 << 18
"""Indices from which on a shuffle goes by bins: fewer are in the cache anyhow."""
TOGETHER = 1 << 16
"""Samples of small segments that are shuffled together, and samples of the batches that are made together."""
ALONE = 1 << 12
"""A segment of so many samples is shuffled by itself: a call of its own is then no cost."""


class EpochSampler(Sampler[T]):
    """Seeded, epoch-aware, sharded across ranks, resumable.

    The order of an epoch is a pure function of ``seed`` and epoch. In a single process each pass after the first
    moves on to the next epoch by itself; :meth:`set_epoch` names it. With several ranks only :meth:`set_epoch`
    moves on, because ranks that counted for themselves could disagree.

    A ``DistributedSampler`` to those who ask, unless it is for one process alone: trainers that shard other samplers
    leave it alone.

    Args:
        seed: of every random choice; at least 0.
        num_replicas, rank: processes that share an epoch, and which of them this is; None: those of the default
            process group at the time of a pass, or one, where there is none or a wrapper (accelerate's ``prepare``)
            shards the batches itself. Every rank gets as many items: the last ones repeat the epoch's first, or with
            ``drop_last`` are left out.

    Attributes:
        repeats: whether an index may come several times in an epoch.
        draws_named: indices are given as :class:`~dataloader_expert.samplers.draws.Draw`, for datasets whose random
            choices follow from the draw.

    Raises:
        ValueError: if ``seed`` is negative or ``rank`` is not below ``num_replicas``.
    """

    repeats = False

    def __init__(self, seed: int, num_replicas: int | None, rank: int | None, drop_last: bool = False) -> None:
        self._ranks: tuple[int, int] | None = None
        if num_replicas is not None or rank is not None:
            self._ranks = share_asked(num_replicas, rank)
        if seed < 0:
            raise ValueError(f"seed is {seed}; it must be at least 0")
        self.seed, self.epoch, self.drop_last = seed, 0, drop_last
        self.draws_named = False
        self._start = self._taken = 0
        self._begun = False

    @property  # type: ignore[misc]  # what isinstance asks, after the type
    def __class__(self) -> Any:
        """Also a ``DistributedSampler``, unless it is for one process alone."""
        ranks = vars(self).get("_ranks", (1, 0))  # not there yet in __init__
        return _sharded(type(self)) if ranks is None or ranks[0] > 1 else type(self)

    def __reduce_ex__(self, _: Any) -> Any:
        return _unpickled, (type(self), vars(self))

    @property
    def num_replicas(self) -> int:
        """Processes that share an epoch."""
        return (self._ranks or own_share())[0]

    @property
    def rank(self) -> int:
        """Which of them this is."""
        return (self._ranks or own_share())[1]

    @property
    def _world(self) -> int:
        """Processes that train in step, whoever deals the batches to them."""
        return (self._ranks or process_group())[0]

    def set_epoch(self, epoch: int) -> None:
        """The next pass is of ``epoch`` (at least 0), from its beginning; or from where a state of it was just loaded."""
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}; it must be at least 0")
        if self._start and int(epoch) == self.epoch:
            return  # training loops name each epoch, the one that they resume in too
        self.epoch, self._start, self._begun = int(epoch), 0, False
        self._move(0)

    def state_dict(self, taken: int | None = None) -> dict[str, State]:
        """Where this rank stands in its epoch.

        Args:
            taken: items (indices, or batches of a batch sampler) that training has consumed. None: those that were
                handed out, which with DataLoader workers runs ahead of training by what they prefetch.
        """
        return {**self._identity(), "epoch": self.epoch, "taken": self._taken if taken is None else taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next pass goes on where ``state`` stands.

        Raises:
            ValueError: if ``state`` is of another sampler, seed, number of samples or number of ranks.
        """
        for name, value in self._identity().items():
            if state.get(name, value) != value:
                raise ValueError(f"the state is of {name} {state[name]}, this sampler has {value}: not the same order")
        self.restart()
        self.set_epoch(int(state["epoch"]))
        self._start = int(state["taken"])
        self._move(self._start)

    def restart(self) -> None:
        """The next pass is of this epoch from its beginning, whatever state was loaded."""
        self._start, self._begun = 0, False
        self._move(0)

    def move_on(self) -> None:
        """Goes to the next epoch if a pass of this one was begun in a single process; a new pass does it by itself."""
        if self._begun and self.num_replicas == 1:
            self.set_epoch(self.epoch + 1)

    def _identity(self) -> dict[str, State]:
        """What the order follows from; a state is only for a sampler that is equal in all of it."""
        return {"sampler": type(self).__name__, "seed": self.seed, "num_replicas": self.num_replicas}

    def _begin(self) -> int:
        """Where the pass that begins now starts.

        Called with the first item, not by ``iter``: a DataLoader with workers asks for an iterator twice and uses one.
        """
        self.move_on()
        start, self._start, self._begun = self._start, 0, True
        self._move(start)
        return start

    def _move(self, taken: int) -> None:
        self._taken = taken

    def _share(self, total: int) -> int:
        """Items of each rank out of ``total`` of an epoch."""
        whole, rest = divmod(total, self.num_replicas)
        return whole + bool(rest and not self.drop_last)

    def _rng(self, *more: int) -> np.random.Generator:
        """The generator of this epoch (and of the part ``more`` of it)."""
        return np.random.Generator(np.random.SFC64([self.seed, self.epoch, *more]))


_kinds: dict[Any, Any] = {}


def _sharded(kind: Any) -> Any:
    """A class of ``kind`` and ``DistributedSampler``."""
    if kind not in _kinds:
        both = kind if issubclass(kind, DistributedSampler) else type(kind.__name__, (kind, DistributedSampler), {})
        _kinds[kind] = both
    return _kinds[kind]


def _unpickled(kind: type[Any], state: dict[str, Any]) -> Any:
    made = object.__new__(kind)
    vars(made).update(state)
    return made


class IndexSampler(EpochSampler[int]):
    """An epoch is a sequence of indices, drawn in blocks: the first comes long before the last."""

    _ahead: Iterator[int] = iter(())

    @property
    @abstractmethod
    def draws(self) -> int:
        """Indices in an epoch, of all ranks."""

    @abstractmethod
    def _blocks(self, start: int) -> Iterator[Indices]:
        """This epoch's indices from ``start`` on."""

    def __len__(self) -> int:
        return self._share(self.draws)

    def blocks(self) -> Iterator[Indices]:
        """This rank's epoch, array by array; moves on as a pass does."""
        return self._of_rank(self._begin())

    def epoch_indices(self) -> Indices:
        """This rank's whole epoch as one array, int32 where indices fit, [len(self)]; moves on as a pass does."""
        start = self._begin()
        wanted, at = len(self) - start, 0
        whole = np.zeros(0, index_type(0))
        for part in self._of_rank(start):
            if len(part) == wanted:
                return np.ascontiguousarray(part)
            if not at:  # the parts never wait side by side: they go straight to where they belong
                whole = np.empty(wanted, part.dtype)
            whole[at : at + len(part)] = part
            at += len(part)
        return whole

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._listed())  # without a step of ours per index

    def _listed(self) -> Iterator[Iterator[int]]:
        start, world, rank = self._begin(), self.num_replicas, self.rank
        for block in self._of_rank(start):
            for at in range(0, len(block), LISTED):
                listed = block[at : at + LISTED].tolist()
                if self.draws_named:
                    places = counter(1 + self._taken * world + rank, world) if self.repeats else repeat(0)
                    listed = list(placed(listed, self.epoch, places))
                self._taken += len(listed)
                self._ahead = iter(listed)
                yield self._ahead

    def _move(self, taken: int) -> None:
        self._taken, self._ahead = taken, iter(())

    def state_dict(self, taken: int | None = None) -> dict[str, State]:
        """Where this rank stands in its epoch; ``taken`` as of :class:`EpochSampler`."""
        handed_out = self._taken - length_hint(self._ahead)
        return super().state_dict(handed_out if taken is None else taken)

    def _of_rank(self, start: int) -> Iterator[Indices]:
        """Every ``num_replicas``-th index from this rank's ``start``-th on; what is short wraps around."""
        world, wanted = self.num_replicas, len(self) - start
        at = start * world + self.rank
        position = start * world
        head = np.zeros(0, index_type(0))
        for block in self._blocks(position) if self.draws else ():
            if position == len(head) < world:  # kept for the last round, if the pass began at the epoch's first
                head = np.append(head, block[: world - position])
            part = block[at - position :: world][:wanted] if world > 1 else block[:wanted]
            position += len(block)
            at += len(part) * world
            wanted -= len(part)
            if len(part):
                yield part
            if wanted <= 0:
                return
        if wanted > 0 and self.draws:  # the last round is short: the epoch's first indices come again
            for block in self._blocks(0) if start else ():
                head = np.append(head, block[: world - len(head)])
                if len(head) == world:
                    break
            places = at + np.arange(wanted) * world - self.draws
            yield head[places % len(head)]


@dataclass(frozen=True)
class Plan:
    """Batches of ``flat`` indices: from ``starts`` to ``ends`` [batches], or equal parts of ``size`` where None.

    Without ``starts`` each batch begins where the one before it ends.
    """

    flat: Indices
    ends: Indices | None = None
    size: int = 1
    starts: Indices | None = None

    def __len__(self) -> int:
        return len(self.flat) // self.size if self.ends is None else len(self.ends)

    def batch(self, i: int) -> list[int]:
        """The indices of batch ``i``."""
        if self.ends is None:
            return list(self.flat[i * self.size : (i + 1) * self.size].tolist())
        start = self.starts[i] if self.starts is not None else self.ends[i - 1] if i else 0
        return list(self.flat[start : self.ends[i]].tolist())


class BlockPlan:
    """Batches that are made block by block, when they are asked for: an epoch is never there as a whole.

    Args:
        count: batches.
        per_block: batches that are made together.
        made: the plan of the batches from its first argument up to its second; the same whenever it is asked.
    """

    def __init__(self, count: int, per_block: int, made: Callable[[int, int], Plan]) -> None:
        self._count, self._per_block, self._made = count, max(1, per_block), made
        self._block, self._held = -1, Plan(np.zeros(0, np.int32))

    def __len__(self) -> int:
        return self._count

    def batch(self, i: int) -> list[int]:
        """The indices of batch ``i``."""
        block, place = divmod(i, self._per_block)
        if block != self._block:
            first = block * self._per_block
            self._held, self._block = self._made(first, min(first + self._per_block, self._count)), block
        return self._held.batch(place)


class EpochBatchSampler(EpochSampler[list[int]]):
    """An epoch is a sequence of batches, for ``DataLoader(dataset, batch_sampler=…)``. Ranks get whole batches."""

    _batch_size: int

    @property
    def batch_size(self) -> int | None:
        """Samples of a full batch; None where batches have no size.

        For a wrapper that deals batches to ranks None too: accelerate's keeps a round back whose last batch is smaller.
        """
        return None if asked_by_wrapper() else getattr(self, "_batch_size", None)

    @property
    @abstractmethod
    def batches(self) -> int:
        """Batches in this epoch, of all ranks."""

    @abstractmethod
    def _plan(self) -> Plan | BlockPlan:
        """This epoch's batches."""

    def __len__(self) -> int:
        return self._share(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        start, world, rank = self._begin(), self.num_replicas, self.rank
        plan = self._plan()
        for i in range(start, self._share(len(plan)) if len(plan) else 0):
            self._taken += 1
            at = rank + i * world
            batch = plan.batch(at % len(plan))
            if self.draws_named:
                places = counter(1 + (at << 32)) if self.repeats else repeat(0)
                batch = list(placed(batch, self.epoch, places))
            yield batch


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


def shuffled_segments(
    rng: np.random.Generator, values: Indices, starts: NDArray[Any], counts: NDArray[Any]
) -> Iterator[tuple[int, int, Indices]]:
    """Segments of ``values``, each in random order, as (first, last, the values of segments first to last - 1).

    Small segments come together: in one random order of all of them that is then grouped by segment, stably, each
    segment's own order is as random. Large ones come alone.

    Args:
        values: what segments are of; unchanged.
        starts, counts: where segments begin in ``values``, and their sizes, [segments]; they may overlap.
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

    A counting sort, chunk by chunk: each chunk is sorted in the cache, and its bins are added to those before.

    Args:
        bins: the bins (uint8) of the values from its first argument up to its second.
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


def class_codes(labels: Any) -> tuple[Keys, NDArray[np.intp]]:
    """Codes 0, 1, … of ``labels`` (sequence, array or tensor) in sorted order, and how many samples each has."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"labels have {values.ndim} dimensions; one label per sample is needed")
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values) + 1024:  # small integers: counted, not sorted
            return _counted(values, low, high - low + 1)
    names, places = np.unique(values, return_inverse=True)
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
