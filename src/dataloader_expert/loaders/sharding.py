"""Iterable datasets sharded across ranks and workers, so that each element is read once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch.utils.data._utils.worker as torch_worker
from torch.utils.data import IterableDataset, get_worker_info

from dataloader_expert.loaders.seeding import FollowsEpoch, kept_states, mixed, put_back, set_states, states_kept
from dataloader_expert.loaders.stream_state import StreamRanks
from dataloader_expert.loaders.streaming import StreamingDataset
from dataloader_expert.samplers.base import portions
from dataloader_expert.sources.code_inspection import knows_rank, may_draw

logger = logging.getLogger(__name__)


class ShardedStream(FollowsEpoch, IterableDataset[Any]):
    """An iterable dataset that is sharded element by element across the workers of all ranks.

    A dataset that has ``shards_itself`` is unchanged. One that asks for its worker (``get_worker_info().id``), or has
    ``shards_to_workers``, shards itself across workers; one that asks for its rank or was given it (:func:`knows_rank`)
    shards itself across ranks, and across workers if it asks for them. Random choices depend on seed
    and epoch; those of a stream that all processes share are the same in each, so that the shards fit together. Without
    ``across_workers``, a ``worker_init_fn`` shards it across workers, and seeds them.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = 1,
        rank: int | None = 0,
        seed: int = 0,
        across_workers: bool = True,
    ) -> None:
        known = getattr(dataset, "epoch", 0)
        super().__init__(dataset, seed, known if isinstance(known, int) else 0)
        self.across_workers, self.ranks = across_workers, StreamRanks(num_replicas, rank)
        self.own_ranks = getattr(dataset, "shards_itself", False) or knows_rank(dataset)

    @property
    def num_replicas(self) -> int:
        """World size."""
        return self.ranks.pair[0]

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        if hasattr(self.dataset, "set_epoch"):
            self.dataset.set_epoch(epoch)

    def __len__(self) -> int:
        """Elements of this rank."""
        count, (world, rank) = len(self.dataset), self.ranks.pair
        sharded = world > 1 and not self.own_ranks
        return len(range(rank, count, world)) if sharded else count

    def batches(self, size: int, workers: int, drop_last: bool) -> int:
        """Batches of this rank if each of so many workers makes batches of its own share."""
        shares = [len(range(worker, len(self), workers)) for worker in range(workers)]
        return sum(portions(share, size, drop_last) for share in shares)

    def __iter__(self) -> Iterator[Any]:
        if get_worker_info() is not None:
            return self._share()
        # of streams of files parse alone may use the global random states: they have their own for the order
        own = self.dataset.parse if type(self.dataset) is StreamingDataset else self.dataset
        return _seeded(self._share(), mixed(self.seed, self.epoch)) if may_draw(own) else self._share()

    def _share(self) -> Iterator[Any]:
        info, (world, rank) = get_worker_info(), self.ranks.pair
        workers, own = (1, 0) if info is None else (info.num_workers, info.id)
        if info is not None and self.across_workers:
            set_states(mixed(self.seed, self.epoch, *((1 + rank,) if self.own_ranks else ())))
        if self.own_ranks:  # what each rank reads is its own already
            world, rank = 1, 0
        if getattr(self.dataset, "shards_itself", False):
            if info is not None and self.across_workers:
                set_states(self._own_seed(own))
            yield from self.dataset
            return
        if getattr(self.dataset, "shards_to_workers", False) or not self.across_workers:
            yield from islice(self.dataset, rank, None, world)
            return
        shares, share = world * workers, own * world + rank  # neighbours go to different ranks
        asked = _Asked(info)
        for at, element in enumerate(self._watched(asked, own)):
            if (at % world == rank) if asked.seen else (at % shares == share):
                yield element

    def _own_seed(self, worker: int) -> int:
        """Of a worker that shards: its own in all ranks if each rank reads its own, else shared by those that split its elements."""
        world, rank = self.ranks.pair
        return mixed(self.seed, self.epoch, 1 + (worker * world + rank if self.own_ranks else worker))

    def _watched(self, asked: _Asked, worker: int) -> Iterator[Any]:
        """The elements of the dataset; until the first, it is observed whether it asks for its worker.

        If it does, it shards itself, and each process gets a random state of its own, else all have the same.
        """
        if get_worker_info() is None:  # in the main process there is no worker to ask for
            yield from self.dataset
            return
        with _stands_in(asked):
            iterator = iter(self.dataset)
            first = next(iterator, _NOTHING)
        if asked.seen:
            set_states(self._own_seed(worker))
            if self.num_replicas > 1 and not self.own_ranks:
                text = (
                    "%s shards itself across workers, and its code does not ask for its rank: what each worker reads is sharded across "
                    "the ranks. If it shards itself across ranks too, set shards_itself = True on it"
                )
                logger.warning(text, type(self.dataset).__name__)
        if first is not _NOTHING:
            yield first
            yield from iterator


def _seeded(elements: Iterator[Any], seed: int) -> Iterator[Any]:
    """``elements``, read with random states of their own, apart from the rest of the process."""
    with states_kept():
        set_states(seed)
        inside = kept_states()
    while True:
        with states_kept():
            put_back(inside)
            element = next(elements, _NOTHING)
            inside = kept_states()
        if element is _NOTHING:
            return
        yield element


def whole(dataset: Any) -> Iterator[Any]:
    """All elements of a stream; in a worker it cannot see that it is in one."""
    with _stands_in(None):
        iterator = iter(dataset)
    while True:
        with _stands_in(None):
            element = next(iterator, _NOTHING)
        if element is _NOTHING:
            return
        yield element


@contextmanager
def _stands_in(info: Any) -> Iterator[None]:
    """Replaces what ``get_worker_info`` returns."""
    kept = torch_worker._worker_info
    torch_worker._worker_info = info
    try:
        yield
    finally:
        torch_worker._worker_info = kept


_NOTHING: Any = object()


class _Asked:
    """A worker's info that remembers whether it was asked which worker it is."""

    def __init__(self, info: Any) -> None:
        self._info, self.seen = info, False

    def __getattr__(self, name: str) -> Any:
        if name in ("id", "num_workers"):
            self.seen = True
        return getattr(self._info, name)
