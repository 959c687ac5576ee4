"""What every sampler is: an order drawn from seed and epoch alone, shared out to ranks, resumable in its midst."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from operator import length_hint
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch.distributed
from numpy.typing import NDArray
from torch.utils.data import Sampler

Indices = NDArray[np.signedinteger[Any]]
T = TypeVar("T", int, list[int])
State: TypeAlias = int | float | str | None
"""Values of a state, ready for JSON."""
LISTED = 1 << 16
"""Indices that are turned into Python integers at a time: enough to be fast, few enough to be small."""


class EpochSampler(Sampler[T]):
    """Seeded, epoch-aware, shared out to ranks, resumable.

    The order of an epoch is a pure function of ``seed`` and epoch. In a single process each pass after the first
    moves on to the next epoch by itself; :meth:`set_epoch` names it. With several ranks only :meth:`set_epoch`
    moves on, because ranks that counted for themselves could disagree.

    Args:
        seed: of every random choice; at least 0.
        num_replicas, rank: processes that share an epoch, and which of them this is; None: those of the default
            process group, or one. Every rank gets as many items: the last ones repeat the epoch's first, or with
            ``drop_last`` are left out.

    Raises:
        ValueError: if ``seed`` is negative or ``rank`` is not below ``num_replicas``.
    """

    def __init__(self, seed: int, num_replicas: int | None, rank: int | None, drop_last: bool = False) -> None:
        world, own = _process_group()
        self.num_replicas = world if num_replicas is None else num_replicas
        self.rank = (own if num_replicas is None else 0) if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(f"rank is {self.rank} of {self.num_replicas} replicas; it is in [0, {self.num_replicas})")
        if seed < 0:
            raise ValueError(f"seed is {seed}; it must be at least 0")
        self.seed, self.epoch, self.drop_last = seed, 0, drop_last
        self._start = self._taken = 0
        self._begun = False

    def set_epoch(self, epoch: int) -> None:
        """The next pass is of ``epoch`` (at least 0), from its beginning."""
        if epoch < 0:
            raise ValueError(f"epoch is {epoch}; it must be at least 0")
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
        self.set_epoch(int(state["epoch"]))
        self._start = int(state["taken"])
        self._move(self._start)

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

    def epoch_indices(self) -> Indices:
        """This rank's whole epoch as one array, int32 where indices fit, [len(self)]; moves on as a pass does."""
        parts = list(self._of_rank(self._begin()))
        if not parts:
            return np.zeros(0, index_type(0))
        return np.concatenate(parts) if len(parts) != 1 else parts[0]

    def __iter__(self) -> Iterator[int]:
        for block in self._of_rank(self._begin()):
            for at in range(0, len(block), LISTED):
                listed = block[at : at + LISTED].tolist()
                self._taken += len(listed)
                self._ahead = iter(listed)
                yield from self._ahead  # without a step of ours per index

    def _move(self, taken: int) -> None:
        self._taken, self._ahead = taken, iter(())

    def state_dict(self, taken: int | None = None) -> dict[str, State]:
        handed_out = self._taken - length_hint(self._ahead)
        return super().state_dict(handed_out if taken is None else taken)

    def _of_rank(self, start: int) -> Iterator[Indices]:
        """Every ``num_replicas``-th index from this rank's ``start``-th on; what is short wraps around."""
        world, wanted = self.num_replicas, len(self) - start
        at = start * world + self.rank
        position = start * world
        for block in self._blocks(position) if self.draws else ():
            part = block[at - position :: world][:wanted] if world > 1 else block[:wanted]
            position += len(block)
            at += len(part) * world
            wanted -= len(part)
            if len(part):
                yield part
            if wanted <= 0:
                return
        if wanted > 0 and self.draws:  # the last round is short: the epoch's first indices come again
            head = next(iter(self._blocks(0)))
            places = at + np.arange(wanted) * world - self.draws
            yield head[places % min(self.draws, len(head))]


@dataclass(frozen=True)
class Plan:
    """An epoch's batches: ``flat`` indices, cut at ``ends`` [batches], or in equal parts of ``size`` where None."""

    flat: Indices
    ends: Indices | None = None
    size: int = 1

    def __len__(self) -> int:
        return len(self.flat) // self.size if self.ends is None else len(self.ends)

    def batch(self, i: int) -> list[int]:
        if self.ends is None:
            return list(self.flat[i * self.size : (i + 1) * self.size].tolist())
        return list(self.flat[self.ends[i - 1] if i else 0 : self.ends[i]].tolist())


class EpochBatchSampler(EpochSampler[list[int]]):
    """An epoch is a sequence of batches, for ``DataLoader(dataset, batch_sampler=…)``. Ranks get whole batches."""

    @property
    @abstractmethod
    def batches(self) -> int:
        """Batches in this epoch, of all ranks."""

    @abstractmethod
    def _plan(self) -> Plan:
        """This epoch's batches."""

    def __len__(self) -> int:
        return self._share(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        start = self._begin()
        plan = self._plan()
        for i in range(start, self._share(len(plan)) if len(plan) else 0):
            self._taken += 1
            yield plan.batch((self.rank + i * self.num_replicas) % len(plan))


def index_type(count: int) -> type[np.signedinteger[Any]]:
    """int32 where indices below ``count`` fit: half the memory traffic."""
    return np.int32 if count < 1 << 31 else np.int64


def shuffled(rng: np.random.Generator, count: int) -> Indices:
    """A random permutation of ``count`` indices."""
    parts = list(shuffled_blocks(rng, count))
    return np.concatenate(parts) if len(parts) != 1 else parts[0]


def shuffled_blocks(rng: np.random.Generator, count: int) -> Iterator[Indices]:
    """A random permutation, block by block: what is too large for the cache goes to 256 random bins, each shuffled.

    Exact: with a random bin for every index and a random order in every bin, all orders are equally likely.
    """
    if count < 1 << 20:
        order = np.arange(count, dtype=index_type(count))
        rng.shuffle(order)
        yield order
        return
    bins = np.frombuffer(rng.bytes(count), np.uint8)
    order = np.argsort(bins, kind="stable").astype(index_type(count))
    at = 0
    for end in np.cumsum(np.bincount(bins, minlength=256)).tolist():
        rng.shuffle(order[at:end])
        yield order[at:end]
        at = end


def grouped_by(keys: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.intp]:
    """A stable argsort of uint32 ``keys``: two passes over 16 bits, each of them numpy's radix sort."""
    low = (keys & 0xFFFF).astype(np.uint16)
    order = np.argsort(low, kind="stable")
    if len(keys) and int(keys.max()) > 0xFFFF:
        high = (keys >> 16).astype(np.uint16)
        order = order[np.argsort(high[order], kind="stable")]
    return order


def class_codes(labels: Any) -> tuple[NDArray[np.uint32], NDArray[np.intp]]:
    """Codes 0, 1, … of ``labels`` (sequence, array or tensor) in sorted order, and how many samples each has."""
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"labels have {values.ndim} dimensions; one label per sample is needed")
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values) + 1024:  # small integers: counted, not sorted
            wide = values if values.dtype.kind == "u" else values.astype(np.int64, copy=False)  # 127 - -128 is no int8
            above = (wide - low).astype(np.int64, copy=False)
            counts = np.bincount(above)
            present = counts > 0
            codes = (np.cumsum(present) - 1).astype(np.uint32)
            return codes[above], counts[present]
    names, places = np.unique(values, return_inverse=True)
    return places.astype(np.uint32), np.bincount(places, minlength=len(names))


def _process_group() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_world_size(), torch.distributed.get_rank()
    return 1, 0
