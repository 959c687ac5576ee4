"""Streams sharded across ranks and workers, so that each element comes once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch.utils.data._utils.worker as torch_worker
from torch.utils.data import IterableDataset, get_worker_info

from dataloader_expert.loaders.drawing import may_draw
from dataloader_expert.loaders.seeding import kept_states, mixed, put_back, set_states, shared, states_kept
from dataloader_expert.loaders.stream_state import StreamRanks
from dataloader_expert.loaders.streaming import StreamingDataset

logger = logging.getLogger(__name__)


class ShardedStream(IterableDataset[Any]):
    """An iterable dataset of which every worker of every rank takes its own share, element by element.

    A dataset that asks for its worker (``get_worker_info().id``), or says so by ``shards_itself``, is sharded already
    and left as it is; then ranks are its own affair too. By ``shards_to_workers`` it says that it leaves ranks to this
    class. Its random choices follow from seed and epoch: those of a dataset that is the same stream for all are the
    same in every process, as they must be for shares to fit together.

    Args:
        dataset: iterable. Every worker reads the whole of it: shards are better, where there are any.
        num_replicas, rank: as of :class:`~dataloader_expert.loaders.stream_state.StreamRanks`.
        seed: of the random states, at least 0.
        across_workers: False: a ``worker_init_fn`` shards it across the workers, and seeds them.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = 1,
        rank: int | None = 0,
        seed: int = 0,
        across_workers: bool = True,
    ) -> None:
        self.dataset, self.seed, self.across_workers = dataset, seed, across_workers
        self.ranks = StreamRanks(num_replicas, rank)
        known = getattr(dataset, "epoch", 0)
        self._epoch = shared(known if isinstance(known, int) else 0)

    @property
    def num_replicas(self) -> int:
        """Processes that share it."""
        return self.ranks.pair[0]

    @property
    def epoch(self) -> int:
        """The epoch of the next pass."""
        return int(self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """The next pass is of ``epoch``, in workers too."""
        self._epoch.fill_(epoch)
        if hasattr(self.dataset, "set_epoch"):
            self.dataset.set_epoch(epoch)

    def __len__(self) -> int:
        """Elements of this rank's share."""
        count, (world, rank) = len(self.dataset), self.ranks.pair
        sharded = world > 1 and not getattr(self.dataset, "shards_itself", False)
        return len(range(rank, count, world)) if sharded else count

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "dataset":
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __iter__(self) -> Iterator[Any]:
        if get_worker_info() is not None:
            return self._share()
        return _seeded(self._share(), mixed(self.seed, self.epoch)) if self._may_draw() else self._share()

    def _may_draw(self) -> bool:
        """Whether the global random states count; streams of files draw from their own."""
        files = type(self.dataset) is StreamingDataset
        return may_draw(self.dataset.parse) if files else may_draw(self.dataset)

    def _share(self) -> Iterator[Any]:
        info, (world, rank) = get_worker_info(), self.ranks.pair
        workers, own = (1, 0) if info is None else (info.num_workers, info.id)
        shares, share = world * workers, own * world + rank  # neighbours go to different ranks
        if info is not None and self.across_workers:
            set_states(mixed(self.seed, self.epoch))
        if getattr(self.dataset, "shards_itself", False):
            if info is not None and self.across_workers:
                set_states(mixed(self.seed, self.epoch, 1 + share))
            yield from self.dataset
            return
        if getattr(self.dataset, "shards_to_workers", False) or not self.across_workers:
            yield from islice(self.dataset, rank, None, world)
            return
        asked = _Asked(info)
        for at, element in enumerate(self._watched(asked, mixed(self.seed, self.epoch, 1 + share))):
            if asked.seen or at % shares == share:
                yield element

    def _watched(self, asked: _Asked, own_seed: int) -> Iterator[Any]:
        """The dataset's iterator; until its first element it is watched whether it asks for its worker.

        All processes begin with one random state, so that a stream which shuffles itself is one stream for all; where
        each has elements of its own, each gets a state of its own.
        """
        if get_worker_info() is None:  # in the main process there is no worker to ask for
            yield from self.dataset
            return
        with _stands_in(asked):
            iterator = iter(self.dataset)
            first = next(iterator, _NOTHING)
        if asked.seen:
            set_states(own_seed)
            if self.num_replicas > 1:
                name = type(self.dataset).__name__
                logger.warning("%s shards itself across workers: it must shard itself across ranks too", name)
        if first is not _NOTHING:
            yield first
            yield from iterator


def _seeded(elements: Iterator[Any], seed: int) -> Iterator[Any]:
    """``elements``, read with random states of their own, which the rest of the process does not see."""
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
    """All elements of a stream, in a worker too: it is not told that it is in one."""
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
    """What ``get_worker_info`` gives for a while."""
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
