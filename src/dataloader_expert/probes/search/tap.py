"""Counts the samples that a loader's processes read, as they read them, and pauses the processes at a gate.

There is no need to wait for a batch that takes seconds: its samples are counted where they are read, in memory shared
with the workers. There too workers are paused while another setting is timed: before a sample if samples are slow,
before a batch if counting samples would cost too much. Forked workers inherit the tap; others receive it through their
initialiser.
"""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
import operator
import os
import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from dataloader_expert.probes.fetchers import Fetch, wrapped
from dataloader_expert.probes.search.sparing import Spared

SLOT = struct.Struct("qdqdd")
SLOW, KEPT = struct.Struct("dq"), 8
"""Seconds of a sample, and which; so many of a process's slowest are kept."""
LOOK_S = 0.2
"""Seconds after which a paused worker checks the gate by itself."""
FLAG = 8
"""Bytes before the slots: the first is 1 if the gate is open, the second 1 if workers must end."""
MOST_WORKERS = 1024
RAISED, RAISED_KEPT, ERROR_BYTES = struct.Struct("q"), 16, 1000
"""Samples that raised, so many of a process are kept; and the text of the first error."""


class Count(NamedTuple):
    """Of one process: samples read, when the last was read, and batches collated; when its first batch began (0: it has
    not), and the CPU seconds that it had used by then."""

    samples: int
    at: float
    batches: int
    began: float
    began_cpu_s: float


class Took(NamedTuple):
    """Seconds that a sample took, and its index."""

    seconds: float
    sample: int


class TimeUp(Exception):
    """The block's time is up before the batch is complete."""


class Tap:
    """One loader's counters and gate; ``fine``: samples are counted and gated one by one; ``workers``: their number;
    ``method``: how they are started (``fork``, ``spawn``, ``forkserver``).

    The gate is a flag in shared memory; the semaphore only wakes workers to check it. A worker may therefore be killed
    while it waits (``multiprocessing.Event.set`` would wait for it forever).
    """

    def __init__(self, fine: bool, workers: int = 0, method: str = "fork") -> None:
        self.fine, self.workers = fine, workers
        self.wake = multiprocessing.get_context(method).Semaphore(0)
        self.spares, self.hung = False, frozenset[int]()
        """Whether samples that raise are replaced by others; and those which never come."""
        size = FLAG + (SLOT.size + KEPT * SLOW.size + RAISED_KEPT * RAISED.size) * MOST_WORKERS + ERROR_BYTES
        self.file = -1 if method == "fork" else os.memfd_create("tap")
        if self.file >= 0:
            os.ftruncate(self.file, size)
        self.memory = mmap.mmap(self.file, size)
        self.deadline, self.longest_s = float("inf"), 0.0
        """When the main process must stop loading by itself, and how long its longest batch took so far."""

    def __getstate__(self) -> dict[str, Any]:
        """What a worker that is not forked receives: the same memory and gate."""
        from multiprocessing.reduction import DupFd

        return {
            "fine": self.fine,
            "wake": self.wake,
            "workers": self.workers,
            "spares": (self.spares, self.hung),
            "file": DupFd(self.file),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fine, self.wake, self.workers = state["fine"], state["wake"], state["workers"]
        (self.spares, self.hung), self.file = state["spares"], state["file"].detach()
        self.memory = mmap.mmap(self.file, 0)
        self.deadline, self.longest_s = float("inf"), 0.0

    def open(self) -> None:
        self.memory[0] = 1
        for _ in range(self.workers):
            self.wake.release()

    def shut(self) -> None:
        self.memory[0] = 0
        while self.wake.acquire(block=False):
            pass

    def quit(self) -> None:
        """Workers end before their next sample or batch: killed within one, they might leave a lock held."""
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
        self._note(worker, before._replace(samples=before.samples + samples, at=now, batches=before.batches + batches))

    def begin(self, worker: int) -> None:
        """Notes the worker's first batch."""
        before = self.count(worker)
        if not before.began:
            self._note(worker, before._replace(began=time.perf_counter(), began_cpu_s=time.process_time()))

    def slowest(self, worker: int) -> list[Took]:
        """The samples that took this process longest, if samples are counted; not of a stream."""
        at = self._slow_at(worker)
        return [
            took
            for took in (Took(*one) for one in SLOW.iter_unpack(self.memory[at : at + KEPT * SLOW.size]))
            if took.seconds
        ]

    def keep(self, worker: int, slowest: list[Took]) -> None:
        for k, took in enumerate(slowest):
            SLOW.pack_into(self.memory, self._slow_at(worker) + k * SLOW.size, *took)

    def raised(self) -> dict[int, str]:
        """The samples that raised and were replaced, with the first error."""
        at, end = self._raised_at(0), self._raised_at(MOST_WORKERS)
        found = {i - 1 for (i,) in RAISED.iter_unpack(self.memory[at:end]) if i}  # 0: none
        text = self.memory[end : end + ERROR_BYTES].rstrip(b"\0").decode("utf-8", "replace")
        return dict.fromkeys(sorted(found), text)

    def note_raised(self, worker: int, sample: int, error: str) -> None:
        known = self._raised_at(worker)
        for at in range(known, known + RAISED_KEPT * RAISED.size, RAISED.size):
            [kept] = RAISED.unpack_from(self.memory, at)
            if kept == sample + 1:
                return
            if not kept:
                RAISED.pack_into(self.memory, at, sample + 1)
                break
        end = self._raised_at(MOST_WORKERS)
        if not self.memory[end]:
            text = error.encode()[:ERROR_BYTES]
            self.memory[end : end + len(text)] = text

    def _raised_at(self, worker: int) -> int:
        return FLAG + (SLOT.size + KEPT * SLOW.size) * MOST_WORKERS + worker * RAISED_KEPT * RAISED.size

    def _slow_at(self, worker: int) -> int:
        return FLAG + SLOT.size * MOST_WORKERS + worker * KEPT * SLOW.size

    def _note(self, worker: int, count: Count) -> None:
        SLOT.pack_into(self.memory, FLAG + worker * SLOT.size, *count)


_TAP: list[Tap] = []
"""The tap of the loader active in this process; workers inherit that of the loader that starts them."""


_INSTALLED: list[contextlib.AbstractContextManager[None]] = []


def use(tap: Tap) -> None:
    """Workers started from now on belong to this loader."""
    _TAP[:] = [tap]


class Installing:
    """A worker initialiser that first installs the tap, for workers that inherit nothing; it wraps and is pickled with
    the user's own initialiser."""

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
    """Within this context loaders are counted and gated; workers forked in it are for as long as they live."""
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
            tap.begin(worker)
            tap.hold()
        if tap.spares and not hasattr(self, "dataset_iter") and not isinstance(self.dataset, Counted | Spared):
            self.dataset = Spared(self.dataset, partial(tap.note_raised, worker), tap.hung)
        if tap.fine:
            _adopt(self, tap, worker, info is not None)
        begun = time.perf_counter()
        if info is None and not tap.fine and begun + tap.longest_s > tap.deadline:
            raise TimeUp  # nothing ends a batch once it has begun
        batch = fetch(self, index)
        tap.longest_s = max(tap.longest_s, time.perf_counter() - begun)
        if tap.fine or info is not None:
            tap.read(worker, 0, 1)
        return batch

    return tapped_fetch


def _adopt(fetcher: Any, tap: Tap, worker: int, held: bool) -> None:
    """Wraps the dataset of a fetcher that reads samples one by one, to count them."""
    if isinstance(fetcher.dataset, Counted):
        fetcher.dataset.tap = tap
    elif hasattr(fetcher, "dataset_iter"):
        if not isinstance(fetcher.dataset_iter, Counted):
            fetcher.dataset_iter = Counted(fetcher.dataset_iter, tap, worker, held)
    else:
        fetcher.dataset = Counted(fetcher.dataset, tap, worker, held)


class Counted:
    """A dataset, or its iterator, whose samples are counted and gated."""

    def __init__(self, of: Any, tap: Tap, worker: int, held: bool) -> None:
        self.of, self.tap, self.worker, self.held = of, tap, worker, held
        self.slowest = tap.slowest(worker)

    def _before(self) -> None:
        if self.held:
            self.tap.hold()
        elif time.perf_counter() > self.tap.deadline:
            raise TimeUp

    def __getitem__(self, index: Any) -> Any:
        self._before()
        begun = time.perf_counter()
        sample = self.of[index]
        self._took(time.perf_counter() - begun, index)
        self.tap.read(self.worker, 1, 0)
        return sample

    def _took(self, seconds: float, index: Any) -> None:
        if (len(self.slowest) == KEPT and seconds <= self.slowest[0].seconds) or not hasattr(index, "__index__"):
            return  # other keys cannot be kept in numbers
        self.slowest = sorted([*self.slowest[len(self.slowest) == KEPT :], Took(seconds, operator.index(index))])
        self.tap.keep(self.worker, self.slowest)

    def __len__(self) -> int:
        return len(self.of)

    def __iter__(self) -> Counted:
        return self

    def __next__(self) -> Any:
        self._before()
        sample = next(self.of)
        self.tap.read(self.worker, 1, 0)
        return sample
