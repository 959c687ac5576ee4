"""torch's fetchers, which read and collate a batch in whichever process loads: wrapped for as long as is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Fetch = Callable[[Any, Any], Any]
"""``(fetcher, index) -> batch``."""


@contextmanager
def wrapped(wrap: Callable[[Fetch], Fetch]) -> Iterator[None]:
    """``wrap(fetch)`` stands in for ``fetch`` in this process, and for ever in workers that are forked meanwhile.

    The measuring process ends with its request: nothing of a user's outlives this.
    """
    from torch.utils.data._utils import fetch

    kinds: tuple[Any, ...] = (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher)
    plain = [kind.fetch for kind in kinds]
    for kind, own in zip(kinds, plain, strict=True):
        kind.fetch = wrap(own)
    try:
        yield
    finally:
        for kind, own in zip(kinds, plain, strict=True):
            kind.fetch = own
