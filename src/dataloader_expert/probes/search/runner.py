"""One setting's living DataLoader, timed in blocks and held between them.

A held loader's workers wait at a gate: they neither fill their queues while another setting is timed nor have a stock of
batches when it is their turn again, so that a block goes on in the steady state in which the last ended. (A signal would
stop them anywhere, also with a lock in hand that other workers want.)

A block is short whatever a batch takes. Where a batch takes long its samples are counted in the processes that read
them; else delivered batches are, in whole rounds of one a worker; where an epoch is shorter than a block, whole epochs.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.profile.instrumentation import task_times
from dataloader_expert.probes.search.tap import Count, Tap, TimeUp, use
from dataloader_expert.probes.serving import Serving

LONG_S, LONG_ROUNDS, EVEN = 0.6, 2, 0.1
"""Seconds from which on a block of so many rounds is long enough: where they end bears the less on its rate the more
batches a round has; unless the stock changed by more than this share, as then the samples in hand have, too."""
POLL_S, LOOK_S = 0.05, 0.5
"""Seconds for which a batch is waited for at a time, and after which one that does not come is asked about."""
LOCKED_S = 4.0
"""Seconds without progress after which workers that all wait for a lock hang; others may be starting, or waiting for
something outside, and get the runner's patience."""
COUNTED = 16
"""Samples that a block of counted samples holds where its time allows."""
FUTEX = ("202", "98")
"""Numbers of the system call futex, on x86-64 and on arm64."""


def cycle(load_s: float, step_s: float, workers: int) -> float:
    """Seconds from batch to batch: loading and step one after the other without workers, else the longer of the two."""
    return max(load_s, step_s) if workers else load_s + step_s


@dataclass
class Runner:
    """``blocks`` are its throughputs in samples/s, ``cost`` what one more takes in s, ``gaps`` the seconds from batch to
    batch, ``overtaken_s`` of ``waited_s`` those in which the order kept a worker idle, ``idle_s`` the same by the share of the
    workers that were, ``rounds`` the least of a block; ``fine``: samples are counted as they are read; ``copies``: so many
    workers deliver the same samples, of which one copy counts; ``patience`` seconds without progress are a hang."""

    plan: LoaderPlan
    serving: Serving
    blocks: list[float] = field(default_factory=list)
    startup: float | None = None
    cost: float = 0.0
    step_s: float = 0.0
    rounds: int = 1
    fine: bool = False
    collate_s: float = 0.0
    copies: int = 1
    patience: float = 10.0
    gaps: list[float] = field(default_factory=list)
    waited_s: float = 0.0
    overtaken_s: float = 0.0
    idle_s: float = 0.0
    main_s: float = 0.0
    """CPU seconds of this thread over all gaps."""
    epochs: int = 0
    tap: Tap = field(init=False)
    _begun: float = 0.0
    _iterator: Any = None
    _loader: Any = None

    def __post_init__(self) -> None:
        self.tap = Tap(self.fine)

    def _next(self, until: float = math.inf) -> int:
        """Samples in the next batch; a new epoch begins where one ends.

        Raises:
            TimeUp: if it has not come by ``until`` (monotonic), where samples are counted.
            RuntimeError: if its workers make no progress.
        """
        use(self.tap)
        if self._iterator is None:
            self._loader = self.serving.loader(self.plan)
            self._begun = time.perf_counter()
            self._iterator = iter(self._loader)
        batch = self._await(until)
        if batch is None:
            if self.startup is None and not self.tap.count(0).samples:
                self._iterator = None
                raise RuntimeError("the loader delivers no batch (fewer samples than batch_size with drop_last?)")
            self._renew()
            batch = self._await(until)
            if batch is None:
                raise RuntimeError("the loader's second epoch is empty")
        if self.startup is None:
            self.startup = time.perf_counter() - self._begun
        return self.serving.count(batch)

    def _renew(self) -> None:
        """A new epoch."""
        if hasattr(self._iterator, "_timeout"):
            self._iterator._timeout = self.patience  # workers that are kept are asked to begin again
        self._iterator = iter(self._loader)
        self.epochs += 1

    def _await(self, until: float) -> Any:
        """The next batch, or None at an epoch's end. No progress is no CPU used, nothing read and nothing delivered."""
        iterator = self._iterator
        if not self.plan.workers:
            self.tap.deadline = time.perf_counter() + until - time.monotonic()
            return next(iterator, None)
        if not hasattr(iterator, "_timeout"):
            return next(iterator, None)  # an iterator of the user's own
        begun = moved = looked = time.monotonic()
        seen = self._progress()
        while True:
            iterator._timeout = POLL_S
            try:
                return next(iterator, None)
            except RuntimeError as e:
                if str(e) != f"DataLoader timed out after {POLL_S} seconds":
                    raise
            now = time.monotonic()
            if self.plan.timeout and now - begun > self.plan.timeout:
                raise RuntimeError(f"DataLoader timed out after {self.plan.timeout:g} seconds, as it is set to")
            if now > until and self.fine:
                raise TimeUp
            if now - looked < LOOK_S:
                continue
            looked, last, seen = now, seen, self._progress()
            if seen[0] - last[0] > 1e-3 or seen[1] != last[1]:
                moved = now
            still = now - moved
            if still > self.patience or (still > LOCKED_S and self.waiting_for() == "a lock"):
                raise RuntimeError(f"DataLoader timed out after {still:.0f} seconds in which its workers did nothing")

    def _progress(self) -> tuple[float, int]:
        """CPU seconds of the workers, and samples that they have read."""
        cpu = sum(task_times(f"/proc/{pid}/schedstat")[0] for pid in self.pids)
        return cpu, sum(c.samples for c in self._counts()) if self.fine else 0

    def _counts(self) -> list[Count]:
        return [self.tap.count(worker) for worker in range(max(1, self.plan.workers))]

    def block(self, seconds: float, until: float | None) -> float:
        """Times at least ``seconds``; keeps and gives samples/s. Ends early at ``until`` (monotonic).

        Dropped first: a round in which the workers fall into step again, at the start also what they made ready.
        """
        begun = time.monotonic()
        try:
            self.tap.open()
            rate, begun = self._counted(seconds, until) if self.fine else self._delivered(seconds, until)
        finally:
            self.tap.shut()
        self.blocks.append(rate / self.copies)
        # a block that starts an epoch takes longer: what follows must hold the dearest
        self.cost = max(self.cost, time.monotonic() - begun)
        return self.blocks[-1]

    def _counted(self, seconds: float, until: float | None) -> tuple[float, float]:
        """Samples/s as they are read, from one that is to another: those of all workers, so that it does not matter which
        of them a store serves; and when the block began. Dropped first: one of each worker, where they come in time."""
        begun, before, n = time.monotonic(), self._counts(), max(1, self.plan.workers)
        cold = not any(c.samples for c in before)
        start: list[Count] | None = None
        cpu, first, epoch, again = time.thread_time(), math.inf, self.epochs, False
        while True:
            with contextlib.suppress(TimeUp):
                self._next(time.monotonic() + (POLL_S if self.plan.workers else seconds))
            now, counts = time.monotonic(), self._counts()
            if self.epochs > epoch and not again:  # the start of an epoch is counted apart, unless each block holds one
                before, start, first, again = counts, None, math.inf, True
            fresh = sum(c.samples > b.samples for c, b in zip(counts, before, strict=True))
            if fresh and start is None:
                first = min(first, now)
                start = counts if fresh == n or now - first >= seconds else None
                continue
            read = 0 if start is None else sum(c.samples - b.samples for c, b in zip(counts, start, strict=True))
            spent = 0.0 if start is None else _last(counts) - _last(start)
            if spent >= seconds and (read >= COUNTED or spent >= 4 * seconds):
                break
            if until is not None and now > until and read:
                break
        assert start is not None
        self.main_s += time.thread_time() - cpu
        if self.startup is None:
            self.startup = max(0.0, _last(start) - self._begun)
        collated = sum(c.batches - b.batches for c, b in zip(counts, start, strict=True))
        # a block shorter than a batch sees collating too often or not at all: it counts as often as it is due
        due = (read / self.plan.batch_size - collated) * self.collate_s / n
        rate = read / max(1e-9, spent + due)
        rate = rate if self.epochs > epoch + again else self._with_starts(rate)
        return rate, begun if not cold else first

    def _delivered(self, seconds: float, until: float | None) -> tuple[float, float]:
        """Samples/s in whole rounds. Where samples wait in a queue, batches are kept back for the order and come in bursts:
        there those count that were loaded meanwhile, not those that were delivered."""
        begun, n = time.monotonic(), max(1, self.plan.workers)
        if self._iterator is None:
            ready = self.plan.workers * (self.plan.prefetch or 2)
        else:
            ready = in_stock(self._iterator) if self.rounds > 1 else 0
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
        epoch = self.epochs
        samples, start, cpu = 0, time.perf_counter(), time.thread_time()
        last, stock, gaps, done, again = start, in_stock(self._iterator), len(self.gaps), 0, False
        while True:
            done += 1
            for _ in range(n):
                samples += self._next()
                last = self._gap(last)
            if self.epochs > epoch:
                each = (last - start) / (len(self.gaps) - gaps)
                if each * self.length() <= max(LONG_S, 2 * seconds) or again:
                    self.main_s += time.thread_time() - cpu
                    return self._epochs(seconds, until), begun
                for _ in range(n):  # the start of an epoch is counted apart
                    self._next()
                epoch, samples, start, gaps = self.epochs, 0, time.perf_counter(), len(self.gaps)
                last, stock, done, again = start, in_stock(self._iterator), 0, True
                continue
            spent, grown = last - start, in_stock(self._iterator) - stock
            enough = spent >= LONG_S and abs(grown) <= EVEN * done * n
            rounds = min(self.rounds, LONG_ROUNDS) if enough else self.rounds
            if (spent >= seconds and done >= rounds) or (until is not None and time.monotonic() > until):
                break
        self.main_s += time.thread_time() - cpu
        loaded = max(1, done * n + grown) if self.rounds > 1 else done * n
        return self._with_starts(samples / spent * loaded / (done * n)), begun

    def _with_starts(self, rate: float) -> float:
        """The rate over whole epochs: where workers are not kept, each begins with their start, as long as the first."""
        n = self.length() * self.plan.batch_size
        if not self.plan.workers or self.plan.persistent or math.isinf(n) or self.startup is None:
            return rate
        return n / (n / rate + self.startup)

    def length(self) -> float:
        """Batches of an epoch; infinite where that is not known."""
        try:
            return float(len(self._loader))
        except Exception:  # a stream has none, or the user's raises
            return math.inf

    def _epochs(self, seconds: float, until: float | None) -> float:
        """Samples/s over whole epochs, the start of each one's workers with it where they are not kept."""
        while self._await(math.inf) is not None:
            pass
        samples, start, count = 0, time.perf_counter(), 0
        while True:
            self._renew()
            while (batch := self._await(math.inf)) is not None:
                samples += self.serving.count(batch)
            count += 1
            spent = time.perf_counter() - start
            if (spent >= seconds and count >= 2) or (until is not None and time.monotonic() > until):
                self._renew()
                return samples / spent

    def _gap(self, last: float) -> float:
        now = time.perf_counter()
        self.gaps.append(now - last)
        self.waited_s += now - last
        held = held_back(self._iterator) / self.plan.workers if self.plan.workers else 0.0
        self.overtaken_s += (now - last) * (held > 0)
        self.idle_s += (now - last) * held
        return now

    def waiting_for(self) -> str:
        """``a lock`` where every thread of every worker is blocked on one and none uses CPU."""
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
    def overtaken(self) -> float:
        """The share of waiting during which a worker had nothing to do, its batches all kept back for the order."""
        return self.overtaken_s / self.waited_s if self.waited_s else 0.0

    @property
    def idle(self) -> float:
        """The share of the workers that the order kept idle, over time: at the most, as each gap counts whole as what it
        ended with."""
        return self.idle_s / self.waited_s if self.waited_s else 0.0

    @property
    def at_work(self) -> float:
        """How many workers the order lets work, on average."""
        return self.plan.workers * (1 - self.idle) if self.waited_s else 0.0

    def close(self) -> None:
        from dataloader_expert.loaders.building import release

        iterator, self._iterator = self._iterator, None
        self.tap.open()
        if self.fine:
            _kill(iterator)  # it would finish its batch first
        release(self._loader, iterator)
        self._loader = None


def _last(counts: list[Count]) -> float:
    """When the last of these samples was read."""
    return max(c.at for c in counts)


def _kill(iterator: Any) -> None:
    """Ends workers in the midst of a batch; torch is told first that they are not to be watched any more."""
    from torch.utils.data._utils import signal_handling as handling

    if getattr(iterator, "_worker_pids_set", False):
        getattr(handling, "_remove_worker_pids")(id(iterator))  # noqa: B009  # torch's stubs do not have it
        iterator._worker_pids_set = False
        for worker in iterator._workers:
            with contextlib.suppress(ProcessLookupError, AttributeError):
                os.kill(worker.pid, signal.SIGKILL)


def _in_futex(pid: int) -> bool:
    """Whether each thread of a process waits for a lock: by its system call, or where that is hidden, what it sleeps in.
    The thread that feeds torch's queue does so whenever it has nothing to send."""
    tasks: list[str] = []
    with contextlib.suppress(OSError):
        tasks = os.listdir(f"/proc/{pid}/task")
    found = [_thread_in_futex(f"/proc/{pid}/task/{task}") for task in tasks]
    return bool(found) and all(found)


def _thread_in_futex(task: str) -> bool:
    for name, known in (("syscall", FUTEX), ("wchan", ("futex",))):
        with contextlib.suppress(OSError), open(f"{task}/{name}") as f:
            text = f.read().strip()
            if text not in ("", "0", "running"):
                return text.split()[0].startswith(known)
    return False


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
