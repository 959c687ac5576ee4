"""Streams shared out to ranks and workers, so that each element comes once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import torch.utils.data._utils.worker as torch_worker
from torch.utils.data import IterableDataset, get_worker_info

from dataloader_expert.loaders.seeding import kept_states, put_back, set_states

logger = logging.getLogger(__name__)


class SharedOut(IterableDataset[Any]):
    """An iterable dataset of which every worker of every rank takes its own share, element by element.

    A dataset that asks for its worker (``get_worker_info().id``), or says so by ``shards_itself``, shares itself out
    already and is left as it is; then sharing it out to ranks is its own affair too. By ``shards_to_workers`` it says
    that ranks are left to this class.

    Args:
        dataset: iterable. Every worker reads the whole of it: shards are better, where there are any.
        num_replicas, rank: processes that share it, and which of them this is.
    """

    def __init__(self, dataset: Any, num_replicas: int = 1, rank: int = 0) -> None:
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank

    def __len__(self) -> int:
        """Elements of this rank's share."""
        count = len(self.dataset)
        shared = self.num_replicas > 1 and not getattr(self.dataset, "shards_itself", False)
        return len(range(self.rank, count, self.num_replicas)) if shared else count

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "dataset":
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        workers, own = (1, 0) if info is None else (info.num_workers, info.id)
        shares, share = self.num_replicas * workers, self.rank * workers + own
        if shares == 1 or getattr(self.dataset, "shards_itself", False):
            yield from self.dataset
            return
        if getattr(self.dataset, "shards_to_workers", False):
            yield from islice(self.dataset, self.rank, None, self.num_replicas)
            return
        asked = _Asked(info)
        iterator = self._first_of(asked)
        first = next(iterator, _NOTHING)
        if asked.seen:
            if self.num_replicas > 1:
                logger.warning(
                    "%s shares itself out to its workers: whether it does so to ranks too, it must know",
                    type(self.dataset).__name__,
                )
            if first is not _NOTHING:
                yield first
            yield from iterator
            return
        at = 0
        while first is not _NOTHING:
            if at % shares == share:
                yield first
            at += 1
            first = next(iterator, _NOTHING)

    def _first_of(self, asked: _Asked) -> Iterator[Any]:
        """The dataset's iterator; until its first element it is watched whether it asks for its worker.

        All workers begin with one random state: a stream that shuffles itself by it is then one stream for all.
        """
        info = get_worker_info()
        if info is None:  # in the main process there is no worker to ask for
            yield from self.dataset
            return
        own = kept_states()
        set_states(info.seed - info.id)
        with _stands_in(asked):
            iterator = iter(self.dataset)
            first = next(iterator, _NOTHING)
        if asked.seen:
            put_back(own)
        if first is not _NOTHING:
            yield first
            yield from iterator


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
