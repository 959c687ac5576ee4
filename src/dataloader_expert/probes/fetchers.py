"""Temporarily wraps torch's fetchers, which read and collate a batch in the loading process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Fetch = Callable[[Any, Any], Any]
"""``(fetcher, index) -> batch``."""

_WITHIN: list[Any] = []
"""The fetcher at work in this process, or in the one that forked it."""
_FIRST: list[Callable[[], None]] = []
"""What a worker does before its first batch."""


class _Start:
    """What a worker does before all else, even its own initialiser."""

    work: Callable[[], None] | None = None

    def begin(self) -> None:
        if self.work is not None:
            self.work()


_START = _Start()


def at_start_of_workers(work: Callable[[], None]) -> None:
    """Has each worker that is forked from now on do this before its initialiser runs."""
    from multiprocessing.util import register_after_fork

    if _START.work is None:
        register_after_fork(_START, _Start.begin)
    _START.work = work


def first_in_workers(*work: Callable[[], None]) -> None:
    """Has each worker that is forked from now on, while fetchers are wrapped, do this before its first batch."""
    _FIRST[:] = work


@contextmanager
def wrapped(wrap: Callable[[Fetch], Fetch]) -> Iterator[None]:
    """Replaces ``fetch`` with ``wrap(fetch)`` in this process, and permanently in workers forked meanwhile.

    A loader that the user's code runs to read one sample is left alone. The measuring process ends with its request, so the
    user's own processes are not affected.
    """
    from torch.utils.data._utils import fetch

    kinds: tuple[Any, ...] = (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher)
    plain = [kind.fetch for kind in kinds]
    for kind, own in zip(kinds, plain, strict=True):
        kind.fetch = _outermost(wrap(own), own)
    try:
        yield
    finally:
        for kind, own in zip(kinds, plain, strict=True):
            kind.fetch = own


def _outermost(fetch: Fetch, plain: Fetch) -> Fetch:
    from torch.utils.data import get_worker_info

    def fetched(self: Any, index: Any) -> Any:
        if _WITHIN:
            return plain(self, index)
        _WITHIN.append(self)
        if _FIRST and get_worker_info() is not None:
            for work in _FIRST:
                work()
            _FIRST.clear()
        try:
            return fetch(self, index)
        finally:
            _WITHIN.clear()

    return fetched
