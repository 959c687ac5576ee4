"""Watching real DataLoaders from inside: clocks around what their processes fetch and collate, and their counters.

In this process, which ends with its request, torch's fetchers are wrapped; workers forked meanwhile inherit that. Each
process appends a line of JSON for every batch, and ten times a second one for its counters, to an unnamed file.
A worker of another start method imports torch anew and leaves no line: the caller then has nothing to read.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.probes.clock import Laps
from dataloader_expert.probes.ticking import Ticker

PULSE_S = 0.25
"""The most seconds between two readings of a process's counters: at first an eighth of the time so far."""
LAP_S = 4e-6
"""What it costs to close a sample with its clocks."""
WORTH = 0.01
"""The share of a sample's time that closing it may cost: of cheaper samples only some batches are timed one by one."""


@dataclass
class Watch:
    """``rest`` names what no stage of a fetch claims; ``at`` is told each sample before it is read; ``ticker`` samples
    stacks, where it is given; ``maps`` asks for the memory map with each reading, which costs milliseconds;
    ``opens`` counts the files that a worker opens."""

    rest: str
    at: Callable[[int], None]
    ticker: Ticker | None = None
    maps: bool = False
    opens: bool = False
    begun: float = field(default_factory=time.monotonic)
    file: int = field(default_factory=lambda: unnamed())

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every line so far, in the order in which they were written."""
        size = os.fstat(self.file).st_size
        for line in os.pread(self.file, size, 0).splitlines():
            yield json.loads(line)

    def close(self) -> None:
        os.close(self.file)


def unnamed() -> int:
    """A file without a name to which several processes may append whole lines."""
    fd = os.memfd_create("watch") if hasattr(os, "memfd_create") else os.open("/tmp", os.O_TMPFILE | os.O_RDWR)
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_APPEND)
    return fd


@contextlib.contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Loaders whose iterators are made meanwhile are watched."""
    from torch.utils.data._utils import fetch

    kinds: tuple[Any, ...] = (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher)
    plain = [kind.fetch for kind in kinds]
    for kind, own in zip(kinds, plain, strict=True):
        kind.fetch = _watched(watch, own)  # given back below
    try:
        yield
    finally:
        for kind, own in zip(kinds, plain, strict=True):
            kind.fetch = own
        for eye in list(_EYES.values()):
            eye.rest()
        _PULSED.clear()


_EYES: dict[int, Eye] = {}
"""This process's eyes by fetcher."""
_PULSED: dict[int, float] = {}
"""When this process's counters were read last, by worker."""


def _watched(watch: Watch, fetch: Any) -> Any:
    def watched_fetch(self: Any, index: Any) -> Any:
        eye = _EYES.get(id(self))
        if eye is None or eye.pid != os.getpid():
            eye = _EYES[id(self)] = Eye(watch, self)
        eye.begin(index)
        batch = fetch(self, index)
        eye.end(index)
        return batch

    return watched_fetch


class Eye:
    """What watches one fetcher in one process."""

    def __init__(self, watch: Watch, fetcher: Any) -> None:
        import torch

        info = torch.utils.data.get_worker_info()
        self.watch, self.worker, self.pid = watch, -1 if info is None else info.id, os.getpid()
        self.laps = Laps(watch.rest)
        self.collated = 0
        self.each, self.every, self.batches, self.samples = True, 1, 0, 0
        self.pauses = 0.0
        self._pause_begun = 0.0
        self.cost = 0.0
        self.own_bytes = 0
        self.stack_s = 0.0
        self.opened: Counter[str] = Counter()
        gc.callbacks.append(self._collecting)
        if watch.opens and self.worker >= 0:  # a hook stays for ever: in a worker that ends with its loader only
            sys.addaudithook(self._audit)
        self._wrap(fetcher)
        if watch.ticker is not None:
            self.stack_s = watch.ticker.start(self.worker)

    def _wrap(self, fetcher: Any) -> None:
        """Puts clocks before the user's collate function and, where samples are read one by one, around each."""
        self.dataset = fetcher.dataset
        self.clocked = hasattr(self.dataset, "clock")
        inner = fetcher.collate_fn

        def collate(samples: Any) -> Any:
            self.collated = len(samples) if hasattr(samples, "__len__") else 1
            self.laps.lap(self.watch.rest)
            batch = inner(samples)
            self.laps.lap("collate")
            return batch

        fetcher.collate_fn = collate
        one_by_one = fetcher.auto_collation and not hasattr(self.dataset, "__getitems__")
        if not self.clocked and one_by_one and hasattr(self.dataset, "__getitem__"):
            fetcher.dataset = _Timed(self)
        if hasattr(fetcher, "dataset_iter") and fetcher.auto_collation:
            fetcher.dataset_iter = self._streamed(fetcher.dataset_iter)

    def _streamed(self, stream: Iterator[Any]) -> Iterator[Any]:
        for i, sample in enumerate(stream):
            if self.each:
                self.laps.sample(i)
            yield sample
            self.watch.at(i + 1)

    def begin(self, index: Any) -> None:
        self.collated = 0
        self.each = self.batches % self.every == 0
        if self.clocked:
            self.dataset.clock = self.laps if self.each else None
        self.laps.begin()

    def end(self, index: Any) -> None:
        self.laps.lap(self.watch.rest if self.collated == 0 else "collate")
        if self.clocked:
            self.dataset.clock = None
        n = self.collated or (len(index) if isinstance(index, list) else 1)
        self.samples += n
        laps, begun = self.laps, time.thread_time()
        line: dict[str, Any] = {
            "worker": self.worker,
            "batch": self.batches,
            "n": n,
            "timed": self.each,
            "spent": {k: [round(x, 9) for x in v] for k, v in laps.spent.items()},
        }
        if self.each and laps.each:
            line["each"] = [[i, round(w, 9), round(c, 9), round(q, 9)] for i, w, c, q in laps.each]
            per = sum(w for _, w, _, _ in laps.each) / len(laps.each)
            self.every = 1 + int(LAP_S * (3 if self.clocked else 1) / max(1e-9, WORTH * per))
        if self.opened:
            line["opens"], self.opened = dict(self.opened.most_common(16)), Counter()
        self.batches += 1
        now = time.monotonic()
        if now - _PULSED.get(self.worker, 0.0) > min(PULSE_S, (now - self.watch.begun) / 8):
            _PULSED[self.worker] = now
            line["pulse"] = {"t": now, "samples": self.samples, "pauses": self.pauses, **counters(self.watch.maps)}
            own = line["pulse"]["own_bytes"]
            line["pulse"] |= {"cost": self.cost, "own_bytes": self.own_bytes, "stack_s": self.stack_s}
            self.own_bytes += own
        os.write(self.watch.file, json.dumps(line).encode() + b"\n")
        self.cost += time.thread_time() - begun + LAP_S * len(laps.each)

    def rest(self) -> None:
        """Stops what goes on by itself in this process."""
        _EYES.clear()
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
    """The user's dataset as a fetcher sees it: each sample closed on the clock.

    A sample that raises is given as the last one that did not: the scan says which raise; here time is measured.
    """

    def __init__(self, eye: Eye) -> None:
        self.eye, self.dataset = eye, eye.dataset
        self.last: Any = None

    def __getitem__(self, index: Any) -> Any:
        self.eye.watch.at(index if isinstance(index, int) else -1)
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
    """What the kernel counts of this process: bytes and calls of I/O, descriptors, CPU and waiting of its threads."""
    found: dict[str, Any] = {"io": io_counts()}
    feeding = next((t.native_id for t in threading.enumerate() if t.name == "QueueFeederThread"), None)
    names = {os.getpid(): "cpu", feeding: "feeder"}
    found |= {"cpu": 0.0, "feeder": 0.0, "others": 0.0, "queue": 0.0, "threads": 0}
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/task"):
            cpu, queue = task_times(f"/proc/self/task/{name}/schedstat")
            found[names.get(int(name), "others")] += cpu
            found["queue"] += queue
            found["threads"] += 1
    with contextlib.suppress(OSError):
        found["files"] = len(os.listdir("/proc/self/fd"))
    found["anon"] = status_bytes("RssAnon:")
    if maps:
        found["map"] = rollup()
    found["own_bytes"] = io_counts().get("rchar", 0) - found["io"].get("rchar", 0)
    return found


def task_times(path: str) -> tuple[float, float]:
    """A thread's seconds on a CPU and waiting for one."""
    try:
        with open(path, "rb") as f:
            parts = f.read().split()
        return int(parts[0]) / 1e9, int(parts[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0, 0.0


def io_counts(pid: int | str = "self") -> dict[str, int]:
    """rchar, wchar, syscr, syscw, read_bytes…: bytes through read calls, calls, bytes from a device."""
    try:
        with open(f"/proc/{pid}/io") as f:
            return {k: int(v) for k, v in (line.split(": ") for line in f)}
    except (OSError, ValueError):
        return {}


def status_bytes(name: str) -> int:
    try:
        with open("/proc/self/status") as f:
            for line in f:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def rollup() -> dict[str, int]:
    """Bytes of this process's memory that it alone holds, written to, and that it shares."""
    found = {"private": 0, "shared": 0}
    try:
        with open("/proc/self/smaps_rollup") as f:
            for line in f:
                name, _, rest = line.partition(":")
                if name in ("Private_Dirty", "Shared_Clean", "Shared_Dirty"):
                    found["private" if name[0] == "P" else "shared"] += int(rest.split()[0]) * 1024
    except OSError:
        pass
    return found
