"""One setting's running DataLoader: started, asked for batches, paused at a gate, ended.

The workers of a paused loader wait at a gate. They do not fill their queues while another setting is timed, so the next
block starts in the steady state in which the last one ended. (A signal could stop a worker anywhere, even while it
holds a lock that other workers need.)
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.delivery import gone, unwatched, worker_pids
from dataloader_expert.probes.search.belief import FORK_S, Start
from dataloader_expert.probes.search.progress import Watch
from dataloader_expert.probes.search.simulation import Pair
from dataloader_expert.probes.search.tap import Count, Installing, Tap, TimeUp, use
from dataloader_expert.probes.serving import Serving

POLL_S = 0.05
"""Seconds of one wait for a batch."""
LEAVE_S = 3.0
"""Seconds that dismissed workers have to finish their current sample."""


class TooSlow(Exception):
    """Workers had delivered too little when a trial's time was up; ``str()`` gives the time they had."""


@dataclass
class Living:
    """``fine``: samples are counted as they are read; ``sample``: a sample's mean CPU and waiting seconds, if known;
    ``patience``: seconds without progress that count as a hang. ``startup``: seconds from creating the iterator to the
    first batch (if samples are counted, to the first sample of each worker); ``epochs``: how many further ones
    began."""

    plan: LoaderPlan
    serving: Serving
    fine: bool = False
    collate_s: float = 0.0
    sample: Pair = (0.0, 0.0)
    patience: float = 10.0
    startup: float | None = None
    epochs: int = 0
    delivered: tuple[int, int] = (0, 0)
    """Samples and batches."""
    tap: Tap = field(init=False)
    loader: Any = None
    iterator: Any = None
    _begun: float = 0.0
    _own_start: Any = None
    _watch: Watch | None = None

    def __post_init__(self) -> None:
        self.tap = Tap(self.fine, self.plan.workers)

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
                raise RuntimeError(
                    "the loader delivers no batch (are there fewer samples than batch_size, with drop_last=True?)"
                )
            self.renew()
            batch = self.awaited(until)
            if batch is None:
                raise RuntimeError("the loader's second epoch is empty")
        if self.startup is None and not self.fine:
            self.has_started(time.perf_counter())
        samples = self.serving.count(batch)
        self.delivered = self.delivered[0] + samples, self.delivered[1] + 1
        return samples

    def _open(self) -> None:
        use(self.tap)
        self.loader = self.serving.loader(self.plan)
        method = self.serving.start_method(self.loader)
        if self.plan.workers and method != "fork":
            self.tap = Tap(self.fine, self.plan.workers, method)
            given = self.loader.worker_init_fn
            self._own_start = given.own if isinstance(given, Installing) else given  # without another runner's tap
            self.loader.worker_init_fn = Installing(self.tap, self._own_start)
            self.tap.open()
            use(self.tap)
        self._begun = time.perf_counter()
        self.iterator = iter(self.loader)

    def has_started(self, at: float) -> None:
        """The first batch, or each worker's first sample, has arrived."""
        self.startup = max(0.0, at - self._begun)

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

    def renew(self) -> None:
        """Begins a new epoch."""
        use(self.tap)  # another loader's workers may have been started since
        if hasattr(self.iterator, "_timeout"):
            self.iterator._timeout = self.patience  # torch waits for persistent workers to resume
        self.iterator = iter(self.loader)
        self.epochs += 1

    def awaited(self, until: float = math.inf) -> Any:
        """The next batch, or None at an epoch's end.

        Raises:
            TimeUp: if it has not come by ``until`` (monotonic).
            RuntimeError: if its workers make no progress, or the loader's own timeout has passed.
        """
        iterator = self.iterator
        if not self.plan.workers:
            self.tap.deadline = time.perf_counter() + until - time.monotonic()
            return next(iterator, None)
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
        """Batches of an epoch; infinite if unknown."""
        try:
            return float(len(self.loader))
        except Exception:  # a stream has none, or the user's raises
            return math.inf

    @property
    def pids(self) -> list[int]:
        return worker_pids(self.iterator)

    def opened(self) -> None:
        """Opens the gate; what was held meanwhile was no hang."""
        self._watch = None
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
