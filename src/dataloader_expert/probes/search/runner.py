"""One setting's living DataLoader, run in blocks and held between them.

A paused loader's workers wait at a gate before their next batch: they neither fill their queues while another setting is
timed nor have a stock of batches when it is their turn again, so that a block goes on in the steady state in which the
last ended. (A signal would stop them anywhere, also with a lock in hand that other workers want.)
"""

from __future__ import annotations

import contextlib
import itertools
import math
import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.profile.fetchers import Fetch, wrapped
from dataloader_expert.probes.profile.instrumentation import task_times
from dataloader_expert.probes.serving import Serving

LONG_S, LONG_ROUNDS, EVEN = 0.6, 2, 0.1
"""Seconds from which on a block of so many rounds is long enough: where they end bears the less on its rate the more
batches a round has; unless the stock changed by more than this share, as then the samples in hand have, too."""
FUTEX = ("202", "98")
"""Numbers of the system call futex, on x86-64 and on arm64."""
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 11: 2.20, 12: 2.18}
T99 = {1: 63.66, 2: 9.92, 3: 5.84, 4: 4.60, 5: 4.03, 6: 3.71, 7: 3.50, 8: 3.36, 9: 3.25, 10: 3.17, 11: 3.11, 12: 3.05}


def cycle(load_s: float, step_s: float, workers: int) -> float:
    """Seconds from batch to batch: loading and step one after the other without workers, else the longer of the two."""
    return max(load_s, step_s) if workers else load_s + step_s


def interval(values: list[float], table: dict[int, float] = T95, further: bool = False) -> tuple[float, float, float]:
    """Mean and t interval of the logarithms, given back as ratios: value, low, high.

    ``further``: where one more value of the same kind falls, rather than where the mean lies.
    """
    logs = [math.log(v) for v in values]
    n = len(logs)
    mean = sum(logs) / n
    if n < 2:
        return math.exp(mean), 0.0, math.inf
    sd = math.sqrt(sum((x - mean) ** 2 for x in logs) / (n - 1))
    half = table.get(n - 1, table[12]) * sd * math.sqrt((1 + 1 / n) if further else 1 / n)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


@dataclass
class Runner:
    """``blocks`` are its throughputs in samples/s, ``cost`` what one more takes in s, ``gaps`` the seconds from batch to
    batch, ``overtaken_s`` of ``waited_s`` those in which the order kept a worker idle, ``idle_s`` the same by the share of the
    workers that were, ``rounds`` the least of a block."""

    plan: LoaderPlan
    serving: Serving
    blocks: list[float] = field(default_factory=list)
    startup: float | None = None
    cost: float = 0.0
    step_s: float = 0.0
    rounds: int = 1
    gaps: list[float] = field(default_factory=list)
    waited_s: float = 0.0
    overtaken_s: float = 0.0
    idle_s: float = 0.0
    main_s: float = 0.0
    """CPU seconds of this thread over all gaps."""
    gate: Any = field(default_factory=multiprocessing.Event)
    _iterator: Iterator[Any] | None = None
    _loader: Any = None

    def _next(self) -> int:
        """Samples in the next batch; a new epoch begins where one ends."""
        _GATE[:] = [self.gate]  # workers that are made from here on are this loader's
        if self._iterator is None:
            self._loader = self.serving.loader(self.plan)
            begun = time.perf_counter()
            self._iterator = iter(self._loader)
            batch = next(self._iterator, None)
            if self.startup is None:
                self.startup = time.perf_counter() - begun
            if batch is None:
                self._iterator = None
                raise RuntimeError("the loader delivers no batch (fewer samples than batch_size with drop_last?)")
            return self.serving.count(batch)
        batch = next(self._iterator, None)
        if batch is None:
            self._iterator = iter(self._loader)
            batch = next(self._iterator, None)
            if batch is None:
                raise RuntimeError("the loader's second epoch is empty")
        return self.serving.count(batch)

    def block(self, seconds: float, until: float | None) -> float:
        """Times at least ``seconds`` of whole rounds (a batch of every worker); keeps and gives samples/s.

        Dropped first: a round in which the workers fall into step again, at the start also what they made ready. Where
        samples wait in a queue, batches are kept back for the order and come in bursts: there those count that were loaded
        meanwhile, not those that were delivered.
        """
        begun = time.monotonic()
        n = max(1, self.plan.workers)
        if self._iterator is None:
            ready = self.plan.workers * (self.plan.prefetch or 2)
        else:
            ready = in_stock(self._iterator) if self.rounds > 1 else 0
        try:
            self.gate.set()
            if ready:
                self._next()
                first = time.monotonic()
                for _ in range(ready - 1):
                    self._next()
                    if time.monotonic() - first > LONG_S:
                        break  # what comes so slowly is no stock
                begun = time.monotonic()  # a later block neither starts workers nor has a stock to use up
            for _ in range(n):
                self._next()
                if until is not None and time.monotonic() > until:
                    break
            samples, start, cpu = 0, time.perf_counter(), time.thread_time()
            last, stock = start, in_stock(self._iterator)
            for done in itertools.count(1):
                for _ in range(n):
                    samples += self._next()
                    last = self._gap(last)
                spent, grown = last - start, in_stock(self._iterator) - stock
                enough = spent >= LONG_S and abs(grown) <= EVEN * done * n
                rounds = min(self.rounds, LONG_ROUNDS) if enough else self.rounds
                if (spent >= seconds and done >= rounds) or (until is not None and time.monotonic() > until):
                    break
        finally:
            self.gate.clear()
        self.main_s += time.thread_time() - cpu
        loaded = max(1, done * n + grown) if self.rounds > 1 else done * n
        self.blocks.append(samples / spent * loaded / (done * n))
        self.cost = time.monotonic() - begun
        return self.blocks[-1]

    def _gap(self, last: float) -> float:
        now = time.perf_counter()
        self.gaps.append(now - last)
        self.waited_s += now - last
        held = held_back(self._iterator) / self.plan.workers if self.plan.workers else 0.0
        self.overtaken_s += (now - last) * (held > 0)
        self.idle_s += (now - last) * held
        return now

    def waiting_for(self) -> str:
        """``a lock`` where every worker is blocked on one and uses no CPU."""
        before = [task_times(f"/proc/{p}/schedstat")[0] for p in self.pids]
        time.sleep(0.2)  # long enough for whoever computes to be seen computing
        after = [task_times(f"/proc/{p}/schedstat")[0] for p in self.pids]
        still = bool(before) and all(b - a < 1e-3 for a, b in zip(before, after, strict=True))
        return "a lock" if still and all(map(_in_futex, self.pids)) else ""

    @property
    def pids(self) -> list[int]:
        return [w.pid for w in getattr(self._iterator, "_workers", ()) if w.pid is not None]

    @property
    def paced(self) -> list[float]:
        """Samples/s that a consumer with this step gets, block by block."""
        b = self.plan.batch_size
        return [b / cycle(b / rate, self.step_s, self.plan.workers) for rate in self.blocks]

    @property
    def bursty(self) -> bool:
        """Whether batches come in bursts: long gaps beside short ones."""
        gaps = sorted(self.gaps)
        return len(gaps) >= 8 and gaps[int(0.9 * len(gaps))] >= 1.5 * gaps[len(gaps) // 2]

    @property
    def overtaken(self) -> float:
        """The share of waiting during which a worker had nothing to do, its batches all kept back for the order."""
        return self.overtaken_s / self.waited_s if self.waited_s else 0.0

    @property
    def at_work(self) -> float:
        """How many workers the order lets work, on average: at the least, as each gap counts whole as what it ended with."""
        return self.plan.workers * (1 - self.idle_s / self.waited_s) if self.waited_s else 0.0

    def close(self) -> None:
        from dataloader_expert.loaders.building import release

        iterator, self._iterator = self._iterator, None
        self.gate.set()
        release(self._loader, iterator)
        self._loader = None


def _in_futex(pid: int) -> bool:
    """Whether a process's first thread waits for a lock: by its system call, or where that is hidden, what it sleeps in."""
    for name, known in (("syscall", FUTEX), ("wchan", ("futex",))):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}") as f:
            text = f.read().strip()
            if text not in ("", "0", "running"):
                return text.split()[0].startswith(known)
    return False


_GATE: list[Any] = []
"""The gate of the runner that makes its workers now: they inherit it."""


def gated() -> contextlib.AbstractContextManager[None]:
    """Workers that are forked meanwhile wait at their runner's gate before each batch; others are not held."""
    from torch.utils.data import get_worker_info

    def held(fetch: Fetch) -> Fetch:
        def gated_fetch(self: Any, index: Any) -> Any:
            if get_worker_info() is not None and _GATE and not _GATE[0].is_set():
                _GATE[0].wait()
            return fetch(self, index)

        return gated_fetch

    return wrapped(held)


def in_stock(iterator: Any) -> int:
    """Batches that are loaded and not yet delivered: on their way, or kept back for the order."""
    tasks, queue = getattr(iterator, "_task_info", {}), getattr(iterator, "_data_queue", None)
    return sum(len(delivered) > 0 for _, *delivered in tasks.values()) + (queue.qsize() if queue is not None else 0)


def held_back(iterator: Any) -> int:
    """How many workers have delivered all they were given, which torch keeps back for the order."""
    ready: dict[int, bool] = {}
    for worker, *delivered in getattr(iterator, "_task_info", {}).values():
        ready[worker] = ready.get(worker, True) and bool(delivered)
    return sum(ready.values())
