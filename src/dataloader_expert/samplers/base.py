"""The base of all samplers: an order that depends on seed and epoch only, sharded across ranks, resumable."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from itertools import count as counter
from operator import length_hint
from typing import Any, TypeAlias, TypeVar

import numpy as np
from torch.utils.data import DistributedSampler, Sampler

from dataloader_expert.samplers.ordering import Indices, index_type
from dataloader_expert.samplers.ranks import asked_by_wrapper, own_share, process_group, share_asked
from dataloader_expert.samplers.rules import integers

T = TypeVar("T", int, list[int])
State: TypeAlias = int | float | str | None
"""Values of a state, ready for JSON."""
CURES = {
    "num_replicas": "resume on as many ranks",
    "sampler": "resume with the same sampler, or the same shuffle= where the loader made it",
}
"""What to do where a state differs in one of these."""
LISTED = 1 << 12
"""Indices that are turned into Python integers at a time: their memory stays in the cache, and is used again."""


class EpochSampler(Sampler[T]):
    """Seeded, epoch-aware, sharded across ranks, resumable.

    The order of an epoch is a pure function of ``seed`` and epoch. In a single process each pass starts the next epoch;
    :meth:`set_epoch` chooses one. With several ranks only :meth:`set_epoch` starts a new epoch, because ranks that
    count for themselves could disagree. Unless it is for a single process, ``isinstance`` takes it for a
    ``DistributedSampler``, so that trainers that shard other samplers leave it alone.

    Args:
        seed: of all random choices; at least 0.
        num_replicas, rank: world size and rank; None: those of the default process group when a pass begins, or one
            process without a group, or if a wrapper (accelerate's ``prepare``) shards the batches. All ranks get
            equally many items: the last ones repeat the epoch's first, or are left out with ``drop_last``.

    Attributes:
        repeats: whether an index may occur several times in an epoch.
        draws_named: yield each index as a :class:`Draw`, for datasets whose random choices depend on it.

    Like all samplers, it raises a ``ValueError`` that names an invalid argument, such as a ``rank`` that is not below
    ``num_replicas``.
    """

    repeats = False

    def __init__(
        self, seed: int, num_replicas: int | None = None, rank: int | None = None, drop_last: bool = False
    ) -> None:
        self._ranks = share_asked(num_replicas, rank)
        integers(0, seed=seed)
        self.seed, self.epoch, self.drop_last = seed, 0, drop_last
        self.draws_named = False
        self._start = self._taken = 0
        self._begun = False
        self._shape: dict[str, State] = {}  # sizes and settings that the order follows from

    @property  # type: ignore[misc]  # what isinstance asks, after the type
    def __class__(self) -> Any:
        """Also a ``DistributedSampler``, unless it is for one process alone."""
        kind: Any = type(self)
        ranks = vars(self).get("_ranks", (1, 0))  # not there yet in __init__
        return _sharded(kind) if ranks is None or ranks[0] > 1 else kind

    def __reduce_ex__(self, _: Any) -> Any:
        return object.__new__, (type(self),), vars(self)  # as __class__ may be another

    def made_for(self) -> int | None:
        """Samples of the dataset that it was made for; None if they are not known."""
        found = self._identity().get("samples")
        return found if isinstance(found, int) else None

    @property
    def num_replicas(self) -> int:
        """World size."""
        return (self._ranks or own_share())[0]

    @property
    def rank(self) -> int:
        """Rank of this process."""
        return (self._ranks or own_share())[1]

    @property
    def _world(self) -> int:
        """World size, whoever shards the batches."""
        return (self._ranks or process_group())[0]

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next pass, at least 0; it starts at its beginning, or resumes a state of it just loaded."""
        integers(0, epoch=epoch)
        if self._start and int(epoch) == self.epoch:
            return  # training loops name each epoch, the one that they resume in too
        self.epoch, self._start, self._begun = int(epoch), 0, False
        self._move(0)

    def state_dict(self, taken: int | None = None) -> dict[str, State]:
        """The position of this rank in its epoch, behind ``taken`` items (indices; batches of a batch sampler).

        None: behind those yielded, which include what DataLoader workers have prefetched and training not yet consumed.
        """
        return {**self._identity(), "epoch": self.epoch, "taken": self._taken if taken is None else taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next pass resumes at ``state``; a ``ValueError`` if it is of another sampler, seed, data or world size, or no state."""
        if not {"epoch", "taken"} <= state.keys() or int(state["taken"]) < 0:
            raise ValueError(f"this is not a sampler state, which has an epoch and a position: {state}")
        for name, value in self._identity().items():
            if state.get(name, value) != value:
                cure = CURES.get(
                    name, "resume with the arguments of the run that saved it, such as the same seed or generator"
                )
                text = f"the state has {name} {state[name]}, but this sampler has {value}: the orders differ; {cure}"
                raise ValueError(text)
        self._start = 0  # a state loaded before no longer counts
        self.set_epoch(int(state["epoch"]))
        self._start = int(state["taken"])
        self._move(self._start)

    def move_on(self) -> None:
        """Advances the epoch if a pass of it was begun in a single process; each pass does so when it begins."""
        if self._begun and self.num_replicas == 1:
            self.set_epoch(self.epoch + 1)

    def _identity(self) -> dict[str, State]:
        """Everything that the order depends on, ``_shape`` included; a loaded state must agree in all of it."""
        return {"sampler": type(self).__name__, "seed": self.seed, "num_replicas": self.num_replicas, **self._shape}

    def _begin(self) -> int:
        """The start of the pass that begins now; called for the first item, as a DataLoader makes an iterator it never uses."""
        self.move_on()
        start, self._start, self._begun = self._start, 0, True
        self._move(start)
        return start

    def _move(self, taken: int) -> None:
        self._taken = taken

    def _share(self, total: int) -> int:
        """Items per rank if an epoch has ``total``."""
        return portions(total, self.num_replicas, self.drop_last)

    def _rng(self, *more: int) -> np.random.Generator:
        """The generator of this epoch, or of its part ``more``."""
        return np.random.Generator(np.random.SFC64([self.seed, self.epoch, *more]))


def portions(total: int, size: int, drop_last: bool) -> int:
    """Of ``total`` items the portions of ``size``, with the smaller last one unless it is dropped."""
    return total // size if drop_last else -(-total // size)


@functools.cache
def _sharded(kind: Any) -> Any:
    """A class of ``kind`` and ``DistributedSampler``."""
    return kind if issubclass(kind, DistributedSampler) else type(kind.__name__, (kind, DistributedSampler), {})


class Draw(int):
    """An index with its epoch and, if indices may repeat, its place in the epoch's order, from 1.

    An ``int``, so that batch samplers, wrappers of other libraries and worker queues pass it on unchanged.
    """

    epoch: int
    place: int

    def __new__(cls, index: int, epoch: int, place: int = 0) -> Draw:
        made = super().__new__(cls, index)
        made.epoch, made.place = epoch, place
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Draw, (int(self), self.epoch, self.place)


def placed(indices: Iterable[Any], epoch: int, places: Iterable[int]) -> Iterator[Any]:
    """``indices`` as draws of ``epoch``; what is not an integer is unchanged."""
    for index, place in zip(indices, places, strict=False):
        yield Draw(index, epoch, place) if hasattr(index, "__index__") else index


class IndexSampler(EpochSampler[int]):
    """An epoch is a sequence of indices, drawn block by block so that the first comes early."""

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
        """This rank's epoch, array by array; counts as a pass."""
        return self._of_rank(self._begin())

    def epoch_indices(self) -> Indices:
        """This rank's whole epoch as one array, int32 where indices fit, [len(self)]; counts as a pass."""
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
        """The position of this rank in its epoch; ``taken`` as of :class:`EpochSampler`."""
        handed_out = self._taken - length_hint(self._ahead)
        return super().state_dict(handed_out if taken is None else taken)

    def _of_rank(self, start: int) -> Iterator[Indices]:
        """This rank's share, every ``num_replicas``-th index, from its ``start``-th on; the last round wraps around."""
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


class Plan:
    """``count`` batches, of which ``per_block`` are made when they are asked for: an epoch is never in memory.

    ``made`` returns the batches from its first argument up to its second, the same whenever it is called.
    """

    def __init__(self, count: int, per_block: int, made: Callable[[int, int], list[list[int]]]) -> None:
        self._count, self._per_block, self._made = count, max(1, per_block), made
        self._block, self._held = -1, list[list[int]]()

    def __len__(self) -> int:
        return self._count

    def batch(self, i: int) -> list[int]:
        """The indices of batch ``i``."""
        block, place = divmod(i, self._per_block)
        if block != self._block:
            first = block * self._per_block
            self._held, self._block = self._made(first, min(first + self._per_block, self._count)), block
        return list(self._held[place])


class EpochBatchSampler(EpochSampler[list[int]]):
    """An epoch is a sequence of batches, for ``DataLoader(dataset, batch_sampler=…)``. Ranks get whole batches."""

    _batch_size: int

    @property
    def batch_size(self) -> int | None:
        """Samples of a full batch; None if it varies, and for accelerate's wrapper, which drops a round with a smaller one."""
        return None if asked_by_wrapper() else getattr(self, "_batch_size", None)

    @property
    def batches(self) -> int:
        """Batches in this epoch, of all ranks: by default, of all samples."""
        return portions(self.made_for() or 0, self._batch_size, self.drop_last)

    @abstractmethod
    def _plan(self) -> Plan:
        """This epoch's batches."""

    def __len__(self) -> int:
        return self._share(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        start, world, rank = self._begin(), self.num_replicas, self.rank
        plan = self._plan()
        for i in range(start, self._share(len(plan))):
            self._taken += 1
            at = rank + i * world
            batch = plan.batch(at % len(plan))
            if self.draws_named:
                places = counter(1 + (at << 32)) if self.repeats else repeat(0)
                batch = list(placed(batch, self.epoch, places))
            yield batch


class PackedBatchSampler(EpochBatchSampler):
    """The number of batches is known from the epoch's plan only, which is therefore kept for the epoch."""

    _kept: tuple[tuple[int, int], Plan] | None = None

    @property
    def batches(self) -> int:
        return len(self._plan())

    @abstractmethod
    def _packed(self) -> Plan:
        """This epoch's batches, made anew."""

    def _plan(self) -> Plan:
        asked = self.epoch, self._world
        if self._kept is None or self._kept[0] != asked:
            self._kept = None  # two epochs never wait side by side
            self._kept = asked, self._packed()
        return self._kept[1]
