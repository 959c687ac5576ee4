"""One setting's running DataLoader: started, asked for batches, paused at a gate, ended.

The workers of a paused loader wait at a gate. They do not fill their queues while another setting is timed, so the next
block starts in the steady state in which the last one ended. (A signal could stop a worker anywhere, even while it
holds a lock that other workers need.)
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.delivery import LEAVE_S, gone, in_stock, unwatched, worker_pids
from dataloader_expert.probes.search.belief import FORK_S, Start
from dataloader_expert.probes.search.progress import Watch
from dataloader_expert.probes.search.simulation import Pair
from dataloader_expert.probes.search.tap import Count, Installing, Tap, TimeUp, use
from dataloader_expert.probes.serving import Serving, no_batch

POLL_S = 0.05
"""Seconds of one wait for a batch."""


class TooSlow(Exception):
    """Workers had delivered too little when a trial's time was up; ``str()`` gives the time they had."""


class Begun(NamedTuple):
    """``samples`` of an epoch were loaded ``seconds`` after it began."""

    seconds: float
    samples: float


@dataclass
class Living:
    """``fine``: samples are counted as they are read; ``sample``: a sample's mean CPU and waiting seconds, if known;
    ``patience``: seconds without progress that count as a hang. ``startup``: seconds from creating the iterator to the
    first batch (if samples are counted, to the first sample of each worker); ``first``: how the first epoch began, until
    there was a batch, or a counted sample, of each worker; ``again``: the same for a further epoch, in the main process or in
    workers that persist; ``epochs``: how many further ones began."""

    plan: LoaderPlan
    serving: Serving
    fine: bool = False
    collate_s: float = 0.0
    sample: Pair = (0.0, 0.0)
    patience: float = 10.0
    copies: int = 1
    """So many workers deliver the same samples, of which one copy counts."""
    stream: bool = False
    whole: float = math.inf
    """Of a stream: samples of an epoch, however many workers yield them, as seen here, else as told; infinite if unknown."""
    usual_s: float | None = None
    """What an epoch begins with, as other settings saw; None: unknown."""
    startup: float | None = None
    first: Begun | None = None
    again: Begun | None = None
    epochs: int = 0
    delivered: tuple[int, int] = (0, 0)
    """Samples and batches."""
    tap: Tap = field(init=False)
    loader: Any = None
    iterator: Any = None
    _length: float = math.inf
    """Batches of an epoch as the loader said while it was open."""
    _before: int = 0
    """Samples delivered, or read if they are counted, before this epoch."""
    renewed: float = 0.0
    """When the last further epoch began (``perf_counter``)."""
    renewing_s: float = 0.0
    """CPU seconds of this thread in which further epochs began."""
    _awaited: int = 0
    """So many batches of an epoch complete its first round, if there is no pause until then."""
    _begun: float = 0.0
    _own_start: Any = None
    _watch: Watch | None = None

    def __post_init__(self) -> None:
        self.tap = Tap(self.fine, self.plan.workers)
        self.tap.spares, self.tap.hung = self.serving.spares, self.serving.hung

    def next_batch(self, until: float = math.inf) -> int:
        """Samples in the next batch; at the end of an epoch the next one begins.

        Raises:
            TimeUp: if it has not come by ``until`` (monotonic).
            RuntimeError: if its workers make no progress, or the loader delivers nothing.
        """
        if self.iterator is None:
            self._open()
        batch = self.awaited(until)
        if batch is None:
            if self.startup is None and not self.tap.count(0).samples:
                self.iterator = None
                raise RuntimeError(no_batch(self.serving))
            self.ended((self._read() if self.fine else self.delivered[0]) - self._before)
            self.renew()
            batch = self.awaited(until)
            if batch is None:
                raise RuntimeError("the loader's second epoch is empty")
        if self.startup is None and not self.fine:
            self.has_started(time.perf_counter())
        samples = self.serving.count(batch)
        self.delivered = self.delivered[0] + samples, self.delivered[1] + 1
        self._awaited -= 1
        if not self._awaited:
            self._has_begun()
        return samples

    def _has_begun(self) -> None:
        """The first round of an epoch has arrived."""
        loaded = self._read() if self.fine else self.delivered[0] + in_stock(self.iterator) * self.batch_samples
        now = time.perf_counter()
        if not self.epochs and not self.fine:
            self.first = Begun(now - self._begun, loaded)
        elif self.epochs and (self.plan.persistent or not self.plan.workers):
            self.again = Begun(now - self.renewed, loaded - self._before)

    def _open(self) -> None:
        use(self.tap)
        self.loader = self.serving.loader(self.plan)
        method = self.serving.start_method(self.loader)
        if self.plan.workers and method != "fork":
            self.tap = Tap(self.fine, self.plan.workers, method)
            self.tap.spares, self.tap.hung = self.serving.spares, self.serving.hung
            given = self.loader.worker_init_fn
            self._own_start = given.own if isinstance(given, Installing) else given  # without another runner's tap
            self.loader.worker_init_fn = Installing(self.tap, self._own_start)
            self.tap.open()
            use(self.tap)
        self.serving.before_workers(self.plan.workers)
        self._begun, self._awaited = time.perf_counter(), self._round
        self.iterator = iter(self.loader)

    def has_started(self, at: float, samples: float = 0.0) -> None:
        """The first batch has arrived; or, if samples are counted, the first of each worker, by which time there were so
        many."""
        self.startup = max(0.0, at - self._begun)
        if samples:
            self.first = Begun(self.startup, samples)

    @property
    def _round(self) -> int:
        """Batches to await until the beginning of an epoch is over; one if what is loaded meanwhile is counted by the sample."""
        return 1 if self.fine else max(1, self.plan.workers)

    @property
    def start(self) -> Start | None:
        """The cost of starting the workers, until each began its first batch; None without workers, or if that was not seen."""
        n, counts = self.plan.workers, self.counts()
        if not n or not all(c.began for c in counts):
            return None
        each = sum(c.began_cpu_s for c in counts) / n
        ready_s = max(c.began for c in counts) - self._begun
        shared = max(1.0, n / max(1.0, self.serving.cpus))
        return Start(max(0.0, ready_s - FORK_S * n - each * shared), each)

    def ended(self, samples: float) -> None:
        """An epoch of so many samples has ended: a stream is as long."""
        if self.stream and samples:
            self.whole = samples / self.copies

    def renew(self) -> None:
        """Begins a new epoch."""
        self._before = self._read() if self.fine else self.delivered[0]
        use(self.tap)  # another loader's workers may have been started since
        if hasattr(self.iterator, "_timeout"):
            self.iterator._timeout = self.patience  # torch waits for persistent workers to resume
        if not self.plan.persistent:
            self.serving.before_workers(self.plan.workers)
        self.renewed, self._awaited = time.perf_counter(), self._round
        cpu = time.thread_time()
        self.iterator = iter(self.loader)
        self.renewing_s += time.thread_time() - cpu
        self.epochs += 1

    def receiving_s(self) -> float:
        """CPU seconds of this thread that began no epoch: starting workers anew is no receiving of batches."""
        return time.thread_time() - self.renewing_s

    def awaited(self, until: float = math.inf) -> Any:
        """The next batch, or None at an epoch's end.

        Raises:
            TimeUp: if it has not come by ``until`` (monotonic).
            RuntimeError: if its workers make no progress, or the loader's own timeout has passed.
        """
        iterator = self.iterator
        if not self.plan.workers:
            self.tap.deadline = time.perf_counter() + until - time.monotonic()
            try:
                return next(iterator, None)
            except TimeUp:
                self._awaited = 0  # the samples read so far are lost: the next batch is not the epoch's first
                raise
        if not hasattr(iterator, "_timeout"):
            return next(iterator, None)  # an iterator of the user's own
        watch = self._watch = self._watch or Watch(self.pids, self._read(), self.patience)
        while True:
            iterator._timeout = POLL_S
            try:
                batch = next(iterator, None)
                self._watch = None
                return batch
            except RuntimeError as e:
                if str(e) != f"DataLoader timed out after {POLL_S} seconds":
                    raise
            now = time.monotonic()
            if self.plan.timeout and now - watch.begun > self.plan.timeout:
                raise RuntimeError(f"DataLoader timed out after {self.plan.timeout:g} seconds, as it is set to")
            still = watch.hangs(self._read())
            if still:
                raise RuntimeError(f"DataLoader timed out after {still:.0f} seconds without progress by its workers")
            if now > until:
                raise TimeUp

    def too_slow(self) -> TooSlow:
        """The error for a trial whose workers have not started in its time."""
        took = time.perf_counter() - self._begun
        many = f"only {self.delivered[1]} batches" if self.delivered[1] else "nothing"
        return TooSlow(f"its workers had delivered {many} after {took:.0f} s: raise budget_s")

    def _read(self) -> int:
        """Samples that the workers have read, if they are counted."""
        return sum(c.samples for c in self.counts()) if self.fine else 0

    def counts(self) -> list[Count]:
        return [self.tap.count(worker) for worker in range(max(1, self.plan.workers))]

    def length(self) -> float:
        """Batches of an epoch; infinite if unknown. Each worker of a stream ends with a smaller one."""
        if self.stream:
            n = max(1, self.plan.workers)
            each = self.copies * self.whole / (n * self.batch_samples)
            return math.inf if math.isinf(each) else n * math.ceil(each)
        if self.loader is not None:
            self._length = math.inf
            with contextlib.suppress(Exception):  # a stream has none, or the user's raises
                self._length = float(len(self.loader))
        return self._length

    @property
    def empty_handed(self) -> int:
        """Workers that yielded nothing although an epoch of the stream has ended."""
        ended = self.stream and self.epochs and self.plan.workers
        return sum(not count.batches for count in self.counts()) if ended else 0

    @property
    def epoch_samples(self) -> float:
        """Samples that an epoch delivers, repeated ones too; infinite if unknown."""
        return self.copies * (self.whole if self.stream else self.length() * self.batch_samples)

    @property
    def pids(self) -> list[int]:
        return worker_pids(self.iterator)

    def opened(self) -> None:
        """Opens the gate; what was held meanwhile was no hang."""
        self._watch, self._awaited = None, 0
        use(self.tap)
        self.tap.open()

    @property
    def batch_samples(self) -> float:
        """Samples of a batch as delivered; as planned before any came."""
        samples, batches = self.delivered
        return samples / batches if batches else float(self.plan.batch_size)

    def dismiss(self) -> None:
        """Lets the workers end as soon as they are between samples; ``close`` handles those that do not."""
        if self.fine and self.startup is not None:
            self.tap.quit()
            unwatched(self.iterator)
        else:
            self.close()

    def close(self, until: float | None = None) -> None:
        """Ends the workers: those in the middle of a sample have until ``until`` (monotonic) to finish it."""
        from dataloader_expert.loaders.building import release

        iterator, self.iterator = self.iterator, None
        if self.fine or self.startup is None:  # otherwise a worker would first finish its batch, or its start
            self.tap.quit()
            unwatched(iterator)
            wait_s = LEAVE_S if self.startup is not None else 0.0
            gone(iterator, time.monotonic() + wait_s if until is None else until)
        self.tap.open()
        release(self.loader, iterator)
        if self.loader is not None and isinstance(self.loader.worker_init_fn, Installing):
            self.loader.worker_init_fn = self._own_start
        self.loader = None
