"""What a loader's processes have read, counted sample by sample while they read it, and a gate that holds them.

A batch that takes seconds need not be waited for: the samples of which it is made are counted where they are read, in
memory shared with the workers. The same place holds them while another setting is timed: at a sample where samples are
slow, at a batch where counting would cost more than it tells. Workers that are forked inherit it; others are given it
with their initialiser.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import os
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dataloader_expert.probes.profile.fetchers import Fetch, wrapped

SLOT = struct.Struct("qdq")
LOOK_S = 0.2
"""Seconds after which a held worker looks at the gate by itself."""
FLAG = 8
"""Bytes before the slots: the first says whether the gate is open, the second whether workers are to end."""
MOST_WORKERS = 1024


class Count(NamedTuple):
    """Of one process: samples read, when the last of them was, and batches collated."""

    samples: int
    at: float
    batches: int


class TimeUp(Exception):
    """The block's time ended in the middle of a batch that the main process loads."""


class Tap:
    """One loader's counters and gate; ``fine``: samples are counted and held one by one; ``workers``: how many are held;
    ``method``: how they are started (``fork``, ``spawn``, ``forkserver``).

    The gate is a flag in shared memory and a semaphore that only wakes those who look at it: a worker that is killed while
    it waits leaves nothing undone (``multiprocessing.Event.set`` would wait for it forever).
    """

    def __init__(self, fine: bool, workers: int = 0, method: str = "fork") -> None:
        self.fine, self.workers = fine, workers
        self.wake = multiprocessing.get_context(method).Semaphore(0)
        size = FLAG + SLOT.size * MOST_WORKERS
        self.file = -1 if method == "fork" else os.memfd_create("tap")
        if self.file >= 0:
            os.ftruncate(self.file, size)
        self.memory = mmap.mmap(self.file, size)
        self.deadline = float("inf")
        """Until when the main process may go on within a batch of its own."""

    def __getstate__(self) -> dict[str, Any]:
        """What a worker that is not forked is given: the same memory and gate."""
        from multiprocessing.reduction import DupFd

        return {"fine": self.fine, "wake": self.wake, "workers": self.workers, "file": DupFd(self.file)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fine, self.wake, self.workers = state["fine"], state["wake"], state["workers"]
        self.file = state["file"].detach()
        self.memory = mmap.mmap(self.file, 0)
        self.deadline = float("inf")

    def open(self) -> None:
        self.memory[0] = 1
        for _ in range(self.workers):
            self.wake.release()

    def shut(self) -> None:
        self.memory[0] = 0
        while self.wake.acquire(block=False):
            pass

    def quit(self) -> None:
        """Workers end before their next sample or batch: killed in the midst of one, they might leave a lock held."""
        self.memory[1] = 1
        self.open()

    def hold(self) -> None:
        while not self.memory[0]:
            self.wake.acquire(timeout=LOOK_S)
        if self.memory[1]:
            os._exit(0)

    def count(self, worker: int) -> Count:
        return Count(*SLOT.unpack_from(self.memory, FLAG + worker * SLOT.size))

    def read(self, worker: int, samples: int, batches: int) -> None:
        before = self.count(worker)
        now = time.perf_counter()  # the system's monotonic clock: the same in every process
        SLOT.pack_into(self.memory, FLAG + worker * SLOT.size, before.samples + samples, now, before.batches + batches)


_TAP: list[Tap] = []
"""The tap of the loader that is at work in this process; workers inherit that of the loader that starts them."""


_INSTALLED: list[contextlib.AbstractContextManager[None]] = []


def use(tap: Tap) -> None:
    """Workers that are started from here on are this loader's."""
    _TAP[:] = [tap]


class Installing:
    """A worker initialiser that first installs the tap, for workers that inherit nothing; pickled with what the user's own
    initialiser is."""

    def __init__(self, tap: Tap, own: Callable[[int], None] | None) -> None:
        self.tap, self.own = tap, own

    def __call__(self, worker: int) -> None:
        use(self.tap)
        _INSTALLED.append(wrapped(_tapped))  # for as long as the worker lives
        _INSTALLED[-1].__enter__()
        if self.own is not None:
            self.own(worker)


@contextlib.contextmanager
def tapped() -> Iterator[None]:
    """Loaders are counted and held meanwhile; so are workers that are forked meanwhile, as long as they live."""
    try:
        with wrapped(_tapped):
            yield
    finally:
        _TAP.clear()


def _tapped(fetch: Fetch) -> Fetch:
    from torch.utils.data import get_worker_info

    def tapped_fetch(self: Any, index: Any) -> Any:
        if not _TAP:
            return fetch(self, index)
        tap, info = _TAP[0], get_worker_info()
        worker = 0 if info is None else info.id
        if info is not None:
            tap.hold()
        if tap.fine:
            _adopt(self, tap, worker, info is not None)
        batch = fetch(self, index)
        if tap.fine:
            tap.read(worker, 0, 1)
        return batch

    return tapped_fetch


def _adopt(fetcher: Any, tap: Tap, worker: int, held: bool) -> None:
    """Counts the samples of a fetcher that reads them one by one."""
    if isinstance(fetcher.dataset, Counted):
        fetcher.dataset.tap = tap
    elif hasattr(fetcher, "dataset_iter"):
        if not isinstance(fetcher.dataset_iter, Counted):
            fetcher.dataset_iter = Counted(fetcher.dataset_iter, tap, worker, held)
    else:
        fetcher.dataset = Counted(fetcher.dataset, tap, worker, held)


class Counted:
    """A dataset, or its iterator, whose samples are counted and held."""

    def __init__(self, of: Any, tap: Tap, worker: int, held: bool) -> None:
        self.of, self.tap, self.worker, self.held = of, tap, worker, held

    def _before(self) -> None:
        if self.held:
            self.tap.hold()
        elif time.perf_counter() > self.tap.deadline:
            raise TimeUp

    def __getitem__(self, index: Any) -> Any:
        self._before()
        sample = self.of[index]
        self.tap.read(self.worker, 1, 0)
        return sample

    def __len__(self) -> int:
        return len(self.of)

    def __iter__(self) -> Counted:
        return self

    def __next__(self) -> Any:
        self._before()
        sample = next(self.of)
        self.tap.read(self.worker, 1, 0)
        return sample
