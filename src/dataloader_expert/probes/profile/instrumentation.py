"""Instruments real DataLoaders from inside: timers around fetch and collate in their processes, and process counters.

torch's fetchers are wrapped; workers forked meanwhile inherit that. Each process appends a line of JSON per batch to an
unnamed file (for cheap batches only for some), occasionally with the kernel's counters of the process.

A worker of another start method imports torch anew and writes no lines: the caller then has nothing to read.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import mmap
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from dataloader_expert.probes.clocks import Laps
from dataloader_expert.probes.delivery import LEAVE_S, gone, unwatched
from dataloader_expert.probes.fetchers import Fetch, wrapped
from dataloader_expert.probes.profile.pixels import Pixels, count_pixels
from dataloader_expert.probes.profile.sampling_profiler import Ticker
from dataloader_expert.probes.system.malloc import PAGE, free_bytes

PULSE_S, SOON_S = 0.5, 0.05
"""The most and the least seconds between two readings of a process's counters; in between, half of the time so far."""
LAP_S, LINE_S = 8e-6, 150e-6
"""The cost of timing a sample, and of writing a batch's line, with code that samples have evicted from the caches:
three times the cost in a loop."""
FIRST = 4
"""The first batches of a process, which are always timed."""
COUNTED = 2
"""After this many batches a process's counters are always read: growth is seen between two readings."""
SLOW_TIMES, SLOW_LEAST_S = 10, 0.01
"""A sample, or a batch whose samples are not timed, is slow if it takes this many times the usual and at least this
long."""
LEAVE_LEAST_S, HANGING = 0.1, 5
"""Seconds that workers have at least to leave, and for how many times the usual seconds of a sample they are waited for."""
WORTH = 0.0025
"""The share of the time that timing may cost: of cheap batches only some are timed."""


@dataclass
class Watch:
    """``rest``: the name for time that no stage of a fetch claims; ``at``: called with each sample before it is read;
    ``count``: how many samples a batch holds that torch does not make of single ones; ``ticker``: samples stacks, if given; ``maps``:
    read the memory map with each reading, which costs milliseconds; ``calls``: count the files that a worker opens and the pixels
    of images that it shrinks."""

    rest: str
    at: Callable[[int], None]
    count: Callable[[Any], int]
    ticker: Ticker | None = None
    maps: bool = False
    calls: bool = False
    begun: float = field(default_factory=time.monotonic)
    file: int = field(default_factory=lambda: unnamed())
    leaving: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 1))
    """Shared with the workers: 1 if they are to end."""
    owner: int = field(default_factory=os.getpid)
    """The process that never leaves: the user's code may read samples in a thread of it."""

    def before(self, sample: int) -> None:
        """A sample is to be read; a worker that is to end does so here."""
        self.let_leave()
        self.at(sample)

    def let_leave(self) -> None:
        if self.leaving[0] and os.getpid() != self.owner:
            os._exit(0)

    def ends(self, iterator: Any, sample_s: float) -> None:
        """Has the workers of an iterator end before their next sample: killed within one, they might leave a lock held, as that of a
        store of so many connections, for which all that is measured later would wait. Workers that take many times as long as a sample
        (``sample_s``, in seconds) hang."""
        self.leaving[0] = 1
        unwatched(iterator)
        gone(iterator, time.monotonic() + min(LEAVE_S, LEAVE_LEAST_S + HANGING * sample_s))
        self.leaving[0] = 0

    def lines(self) -> Iterator[dict[str, Any]]:
        """All lines so far, in the order in which they were written."""
        size = os.fstat(self.file).st_size
        for line in os.pread(self.file, size, 0).splitlines():
            yield json.loads(line)

    def close(self) -> None:
        os.close(self.file)


def unnamed() -> int:
    """An unnamed file to which several processes can append whole lines."""
    fd = os.memfd_create("watch") if hasattr(os, "memfd_create") else os.open("/tmp", os.O_TMPFILE | os.O_RDWR)
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_APPEND)
    return fd


@contextlib.contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Loaders whose iterators are created in this context are watched."""
    try:
        with wrapped(lambda fetch: _watched(watch, fetch)):
            yield
    finally:
        for eye in _EYE:
            eye.rest()
        _EYE.clear()
        _PULSED.clear()


_EYE: list[Eye] = []
"""This process's eye, once it has fetched; a worker inherits its parent's and replaces it with its own."""
_PULSED: dict[int, float] = {}
"""When this process's counters were last read, by worker."""


def _watched(watch: Watch, fetch: Fetch) -> Fetch:
    def watched_fetch(self: Any, index: Any) -> Any:
        if not _EYE or _EYE[0].pid != os.getpid():
            _EYE[:] = [Eye(watch)]
        eye = _EYE[0]
        if eye.fetcher is not self:
            eye.adopt(self)
        eye.begin(index)
        batch = fetch(self, index)
        eye.end(index, batch)
        return batch

    return watched_fetch


class Eye:
    """Watches one process's fetcher; in the main process a new one for each epoch."""

    fetcher: Any = None

    def __init__(self, watch: Watch) -> None:
        import torch

        info = torch.utils.data.get_worker_info()
        self.watch, self.worker, self.pid = watch, -1 if info is None else info.id, os.getpid()
        self.laps = Laps(watch.rest)
        self.collated = 0
        self.each, self.every, self.batches, self.samples = True, 1, 0, 0
        self.begun, self.typical = 0.0, float("inf")
        self.pauses = 0.0
        self._pause_begun = 0.0
        self.cost = 0.0
        self.own_bytes = 0
        self.opened: Counter[str] = Counter()
        gc.callbacks.append(self._collecting)
        self.pixels = Pixels()
        if watch.calls and self.worker >= 0:  # hooks cannot be removed: only in a worker, which ends with its loader
            sys.addaudithook(self._audit)
            self.pixels = count_pixels()
        if watch.ticker is not None:
            watch.ticker.start(self.worker)

    def adopt(self, fetcher: Any) -> None:
        """Puts timers before the user's collate function and, if samples are read one by one, around each."""
        self.fetcher = fetcher
        self.dataset = fetcher.dataset
        self.clocked = hasattr(self.dataset, "clock")
        inner, streamed = fetcher.collate_fn, hasattr(fetcher, "dataset_iter") and fetcher.auto_collation

        def collate(samples: Any) -> Any:
            self.collated = len(samples) if streamed else 1
            if not self.each:
                return inner(samples)
            self.laps.lap(self.watch.rest)
            batch = inner(samples)
            self.laps.lap("collate")
            return batch

        fetcher.collate_fn = collate
        one_by_one = fetcher.auto_collation and not hasattr(self.dataset, "__getitems__")
        if not self.clocked and one_by_one and hasattr(self.dataset, "__getitem__"):
            fetcher.dataset = _Timed(self)
        if streamed:
            fetcher.dataset_iter = self._streamed(fetcher.dataset_iter)

    def _streamed(self, stream: Iterator[Any]) -> Iterator[Any]:
        for i, sample in enumerate(stream):
            if self.each:
                self.laps.sample(i)
            yield sample
            self.watch.before(i + 1)

    def begin(self, index: Any) -> None:
        self.watch.let_leave()
        self.collated = 0
        self.each = self.batches < FIRST or self.batches % self.every == 0
        if self.clocked:
            self.dataset.clock = self.laps if self.each else None
        if self.each:
            self.laps.begin()
        self.begun = time.perf_counter()

    def end(self, index: Any, batch: Any) -> None:
        wall = time.perf_counter() - self.begun
        n = self._samples(index, batch)
        self.samples += n
        self.batches += 1
        if self.each:
            self._timed(wall, n)
            return
        slow = index if wall > SLOW_TIMES * self.typical and wall > SLOW_LEAST_S and isinstance(index, list) else []
        pulse = self._pulse()
        if slow or pulse:
            line = {"worker": self.worker, "batch": self.batches - 1, "n": n, "timed": False, "slow": slow}
            self._write({**line, "pulse": pulse} if pulse else line)

    def _samples(self, index: Any, batch: Any) -> int:
        """Samples of a batch: as many as torch asked for, but a stream may end before, and of what it did not batch only the batch tells."""
        if not self.fetcher.auto_collation:
            return self.watch.count(batch)
        return self.collated if self.collated and hasattr(self.fetcher, "dataset_iter") else len(index)

    def _timed(self, wall: float, n: int) -> None:
        """Records a batch's stages; its cost decides how many of the next batches are skipped."""
        laps, begun = self.laps, time.thread_time()
        laps.lap(self.watch.rest if self.collated == 0 else "collate")
        if self.clocked:
            self.dataset.clock = None
        self.typical = min(self.typical, wall)
        line: dict[str, Any] = {
            "worker": self.worker,
            "batch": self.batches - 1,
            "n": n,
            "timed": True,
            "spent": {k: [round(x, 9) for x in v] for k, v in laps.spent.items()},
        }
        cost = LINE_S
        if laps.each:
            line["each"] = [[i, round(w, 9), round(c, 9), round(q, 9)] for i, w, c, q in laps.each]
            cost += LAP_S * (3 if self.clocked else 1) * len(laps.each)
        self.every = 1 + int(cost / max(1e-9, WORTH * wall))
        pulse = self._pulse()
        if pulse:
            line["pulse"] = pulse
        self._write(line)
        self.cost += time.thread_time() - begun + LAP_S * len(laps.each)

    def _pulse(self) -> dict[str, Any]:
        """This process's counters, if it is time for them; else nothing."""
        now = time.monotonic()
        pause = max(SOON_S, min(PULSE_S, (now - self.watch.begun) / 2))
        soon = now - _PULSED.get(self.worker, 0.0) <= pause
        if soon and self.batches > COUNTED:
            return {}
        _PULSED[self.worker] = now
        pulse = {"t": now, "samples": self.samples, "pauses": self.pauses, **counters(self.watch.maps)}
        own = pulse["own_bytes"]
        pulse |= {"cost": self.cost, "own_bytes": self.own_bytes}
        if self.opened:
            pulse["opens"] = dict(self.opened.most_common(16))
        pulse["pixels"] = asdict(self.pixels)
        self.own_bytes += own
        return pulse

    def _write(self, line: dict[str, Any]) -> None:
        os.write(self.watch.file, json.dumps(line).encode() + b"\n")

    def rest(self) -> None:
        """Reads the counters a last time, and stops everything that runs by itself in this process."""
        _PULSED.clear()
        line = {"worker": self.worker, "batch": self.batches, "n": 0, "timed": False, "slow": []}
        self._write({**line, "pulse": self._pulse()})
        with contextlib.suppress(ValueError):
            gc.callbacks.remove(self._collecting)

    def _audit(self, event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(given[0], str) and not given[0].startswith(("/proc/", "/dev/")):
            self.opened[given[0]] += 1

    def _collecting(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._pause_begun = time.perf_counter()
        else:
            self.pauses += time.perf_counter() - self._pause_begun


class _Timed:
    """The user's dataset as a fetcher sees it: each sample is timed.

    A sample that raises is replaced by the last one that did not: the scan reports errors; here only time is measured.
    """

    def __init__(self, eye: Eye) -> None:
        self.eye, self.dataset = eye, eye.dataset
        self.last: Any = None

    def __getitem__(self, index: Any) -> Any:
        self.eye.watch.before(index if isinstance(index, int) else -1)
        try:
            sample = self.last = self.dataset[index]
        except Exception:
            if self.last is None:
                raise
            return self.last
        if self.eye.each:
            self.eye.laps.sample(index if isinstance(index, int) else -1)
        return sample

    def __len__(self) -> int:
        return len(self.dataset)


def counters(maps: bool) -> dict[str, Any]:
    """The kernel's counters of this process: bytes and calls of I/O, descriptors, CPU and waiting of its threads;
    ``own_bytes``: bytes read to obtain them."""
    read: list[int] = []

    def text(path: str) -> bytes:
        found = contents(path)
        read.append(len(found))
        return found

    found: dict[str, Any] = {"io": io_counts(text("/proc/self/io"))}
    names: dict[int | None, str] = {os.getpid(): "cpu", **dict.fromkeys(sending_threads(), "feeder")}
    for thread in names:  # what sending a batch writes is no doing of the user's code
        if thread != os.getpid() and found["io"]:
            found["io"]["syscw"] -= io_counts(text(f"/proc/self/task/{thread}/io")).get("syscw", 0)
    found |= {"cpu": 0.0, "feeder": 0.0, "queue": 0.0, "threads": 0}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/task"):
            cpu, queue = times_in(text(f"/proc/self/task/{name}/schedstat"))
            part = names.get(int(name))
            if part is not None:
                found[part] += cpu
            found["queue"] += queue
            found["threads"] += 1
    # threads that have ended count in the process alone; without schedstat nothing is known of threads
    found["others"] = max(0.0, time.process_time() - found["cpu"] - found["feeder"]) if found["cpu"] else 0.0
    with contextlib.suppress(OSError):
        found["files"] = len(os.listdir("/proc/self/fd"))
    found["anon"] = anonymous_bytes(text("/proc/self/statm"))
    if maps:
        found["map"] = rollup(text("/proc/self/smaps_rollup"))
        found["free"] = free_bytes()
    found["own_bytes"] = sum(read)
    return found


def sending_threads() -> list[int]:
    """The threads that send this process's batches: that of the queue, and the one that hands over the descriptors of tensors in
    shared memory, of which each takes a connection."""
    found = [t.native_id for t in threading.enumerate() if t.name == "QueueFeederThread"]
    module = sys.modules.get("multiprocessing.resource_sharer")
    sharer = getattr(getattr(module, "_resource_sharer", None), "_thread", None)
    found.append(getattr(sharer, "native_id", None))
    return [thread for thread in found if thread is not None]


def contents(path: str) -> bytes:
    """The contents of a kernel file, which one call reads whole; empty if it does not exist."""
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY)
        try:
            return os.read(fd, 1 << 14)
        finally:
            os.close(fd)
    return b""


def task_times(path: str) -> tuple[float, float]:
    """A thread's seconds on a CPU and waiting for a CPU, from its ``schedstat``."""
    return times_in(contents(path))


def times_in(schedstat: bytes) -> tuple[float, float]:
    parts = schedstat.split()
    return (int(parts[0]) / 1e9, int(parts[1]) / 1e9) if len(parts) > 1 else (0.0, 0.0)


def io_counts(io: bytes) -> dict[str, int]:
    """rchar, wchar, syscr, syscw, read_bytes…: bytes through read calls, calls, bytes from a device."""
    return {k: int(v) for k, v in (line.split(": ") for line in io.decode().splitlines())}


def anonymous_bytes(statm: bytes) -> int:
    """Resident memory not backed by a file, which the kernel calls RssAnon."""
    parts = statm.split()
    return (int(parts[1]) - int(parts[2])) * PAGE if len(parts) > 2 else 0


def rollup(smaps: bytes) -> dict[str, int]:
    """Bytes of this process's memory that are private dirty, and that are shared."""
    found = {"private": 0, "shared": 0}
    for line in smaps.decode().splitlines():
        name, _, rest = line.partition(":")
        if name in ("Private_Dirty", "Shared_Clean", "Shared_Dirty"):
            found["private" if name[0] == "P" else "shared"] += int(rest.split()[0]) * 1024
    return found
