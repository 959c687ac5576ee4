"""Discrete-event simulation of a DataLoader: what it would deliver with other workers, cores, steps and storage.

Workers get index batches in turn (or, without the order, as they become free), read samples one after another and hand
over the batch; the main process receives it, feeds the step and sends out the next indices. CPU work shares the cores;
waiting goes through a store of given latency, bandwidth and depth. Work is in seconds of an otherwise idle core.

Method: event-driven simulation with processor sharing; its bounds are those of operational analysis (Denning and Buzen,
"The Operational Analysis of Queueing Network Models", Computing Surveys 10, 1978).
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

Pair = tuple[float, float]
"""CPU and waiting seconds of one sample, measured together."""
LEAST_BATCHES, MOST_SAMPLES = 240, 40_000
BY_CHANCE = 0.01
"""The share by which chance may move a rate; the more uneven samples are, the more batches are run."""


@dataclass(frozen=True)
class Costs:
    """The costs of a loader's parts, fitted to runs.

    Attributes:
        samples: CPU and blocked seconds of single samples.
        collate_s: CPU seconds of collating a batch.
        send_s: CPU seconds that a worker takes to prepare a batch for sending.
        receive_s: CPU seconds of the main process for a batch from a worker; ``own_s`` for one that it loads itself.
        trip_s: seconds that a batch and the request for the next are in transit; a worker without another batch idles.
        slowdown: how many times longer work takes when all cores are busy.
    """

    samples: tuple[Pair, ...]
    collate_s: float = 0.0
    send_s: float = 0.0
    receive_s: float = 0.0
    own_s: float = 0.0
    trip_s: float = 0.0
    slowdown: float = 1.0


@dataclass(frozen=True)
class Setup:
    """A loader, its consumer and its machine. ``storage``: if given, it determines waiting instead of what was
    measured."""

    batch_size: int
    workers: int
    prefetch: int = 2
    in_order: bool = True
    cpus: float = 1.0
    step_s: float = 0.0
    storage: Store | None = None
    loaders: int = 1


@dataclass(frozen=True)
class Store:
    """``bytes_s``: bandwidth shared by all loaders; ``latency_s``: of a request; ``bytes_per_sample``: bytes read."""

    bytes_per_sample: float = 0.0
    latency_s: float | None = None
    bytes_s: float | None = None


@dataclass(frozen=True)
class Outcome:
    """``throughput``: samples/s of one loader; ``waits``: the share of time that the consumer waits; ``busy``: the
    share that cores are busy; ``limit``: what limits it: cpu, waiting, main or step."""

    throughput: float
    waits: float
    busy: float
    limit: str


def law(costs: Costs, setup: Setup) -> float:
    """Samples/s by the bottleneck law: the least of what workers, cores, main process and step allow."""
    b = setup.batch_size
    if not setup.workers:
        cpu, waits = means(costs, setup)
        return b / (b * (cpu + waits) + costs.collate_s + costs.own_s + setup.step_s)
    rates = list(bounds(costs, setup).values())
    store = setup.storage
    if store is not None and store.bytes_s and store.bytes_per_sample:
        rates.append(store.bytes_s / setup.loaders / (store.bytes_per_sample * b))
    return b * min(rates)


def bounds(costs: Costs, setup: Setup) -> dict[str, float]:
    """Batches per second that each part alone would allow, with workers."""
    cpu, waits = means(costs, setup)
    made = setup.batch_size * cpu + costs.collate_s + costs.send_s
    return {
        "waiting": _over(setup.workers, made + setup.batch_size * waits),
        "cpu": _over(setup.cpus, made + costs.receive_s),
        "main": _over(1, costs.receive_s),
        "step": _over(1, setup.step_s + costs.receive_s) if setup.step_s else math.inf,
    }


def _over(servers: float, seconds: float) -> float:
    return servers / seconds if seconds > 0 else math.inf


def means(costs: Costs, setup: Setup) -> Pair:
    """A sample's mean CPU and waiting seconds; waiting follows from the store if one is given."""
    n = max(1, len(costs.samples))
    cpu = sum(c for c, _ in costs.samples) / n
    return cpu, sum(_waiting(w, setup) for _, w in costs.samples) / n


def _waiting(measured: float, setup: Setup) -> float:
    store = setup.storage
    if store is None:
        return measured
    waits = measured if store.latency_s is None else store.latency_s
    if store.bytes_s and store.bytes_per_sample:
        waits = max(waits, 0.0) + store.bytes_per_sample * setup.loaders / store.bytes_s / max(1, setup.workers)
    return waits


def simulate(costs: Costs, setup: Setup, batches: int = 0, seed: int = 0) -> Outcome:
    """Runs ``batches`` batches (0: enough to reach the steady state and even out chance), the first quarter as
    warm-up."""
    if not costs.samples:
        raise ValueError("no sample costs: measure some samples first")
    batches = batches or max(12 * setup.workers, _even(costs, setup))
    return _alone(costs, setup, batches, seed) if not setup.workers else _Run(costs, setup, batches, seed).run()


def _even(costs: Costs, setup: Setup) -> int:
    """Batches over which chance moves the rate by at most ``BY_CHANCE``, as far as affordable."""
    times = [c + _waiting(w, setup) for c, w in costs.samples]
    mean = statistics.fmean(times)
    varies = statistics.pvariance(times, mean) / (setup.batch_size * mean**2) if mean else 0.0
    return max(LEAST_BATCHES, min(math.ceil(varies / BY_CHANCE**2), MOST_SAMPLES // setup.batch_size))


def _drawn(samples: Sequence[Pair], seed: int) -> Iterator[Pair]:
    """Samples in repeated random permutations, so that rare slow ones occur neither too often nor too seldom."""
    draw, order = random.Random(seed), list(samples)
    while True:
        draw.shuffle(order)
        yield from order


def _alone(costs: Costs, setup: Setup, batches: int, seed: int) -> Outcome:
    draw = _drawn(costs.samples, seed)
    load = 0.0
    for _ in range(batches):
        picks = itertools.islice(draw, setup.batch_size)
        load += sum(c + _waiting(w, setup) for c, w in picks) + costs.collate_s + costs.own_s
    total = load + batches * setup.step_s
    cpu = sum(c for c, _ in costs.samples) / len(costs.samples) * setup.batch_size * batches
    limit = "step" if setup.step_s * batches > load else "cpu" if cpu > 0.5 * load else "waiting"
    return Outcome(batches * setup.batch_size / total, load / total, min(1.0, cpu / total / setup.cpus), limit)


class _Run:
    """Jobs are [remaining CPU seconds, what follows]; waiting and steps are timers. Time advances to the next event."""

    def __init__(self, costs: Costs, setup: Setup, batches: int, seed: int) -> None:
        self.costs, self.setup, self.batches = costs, setup, batches
        self.draw = _drawn(costs.samples, seed)
        self.now, self.busy = 0.0, 0.0
        self.jobs: dict[int, float] = {}
        """CPU work left, by process: a worker's number, or -1 for the main process."""
        self.timers: list[tuple[float, int, Callable[[], None]]] = []
        self.queues: list[list[int]] = [[] for _ in range(setup.workers)]
        self.parts: list[list[Pair]] = [[] for _ in range(setup.workers)]
        """What a worker still has to do for its batch: CPU first, then waiting."""
        self.at: list[int | None] = [None] * setup.workers
        self.ready: set[int] = set()
        self.given, self.taken = 0, 0
        self.turn = 0
        self.main: str = "idle"
        self.waited = 0.0
        self.marks: list[float] = []
        self.waits_at: list[float] = []
        self.order = 0

    def run(self) -> Outcome:
        setup = self.setup
        for _ in range(setup.workers * setup.prefetch):
            self._dispatch()
        self._receive()
        while self.taken < self.batches:
            self._advance()
        first = max(1, min(len(self.marks) - 2, max(len(self.marks) // 4, 2 * setup.workers)))
        left = len(self.marks) - 1 - first
        n = left // setup.workers * setup.workers or left  # whole rounds: batches arrive in bursts of one per worker
        span = self.marks[first + n] - self.marks[first]
        rate = n * setup.batch_size / span if span > 0 else math.inf
        waits = (self.waits_at[first + n] - self.waits_at[first]) / span if span > 0 else 0.0
        return Outcome(rate, min(1.0, waits), self.busy / max(1e-12, self.now * setup.cpus), self._limit())

    def _limit(self) -> str:
        cpu, waits = means(self.costs, self.setup)
        allowed = bounds(self.costs, self.setup)
        name = min(allowed, key=lambda k: allowed[k])
        return "cpu" if name == "waiting" and cpu > waits else name

    def _dispatch(self) -> None:
        """Assigns the next batch to a worker: in turn, or to the one with the fewest."""
        if self.given >= self.batches + 4 * self.setup.workers * self.setup.prefetch:
            return
        w = self.turn % self.setup.workers
        if not self.setup.in_order:
            w = min(range(self.setup.workers), key=lambda i: len(self.queues[i]) + (self.at[i] is not None))
        self.turn += 1
        if self.at[w] is None:  # it idles until this request arrives
            self.at[w] = self.given
            self._after(self.costs.trip_s / 2, partial(self._begin, w))
        else:
            self.queues[w].append(self.given)
        self.given += 1

    def _after(self, seconds: float, then: Callable[[], None]) -> None:
        if seconds <= 0:
            then()
            return
        self._at(self.now + seconds, then)

    def _at(self, when: float, then: Callable[[], None]) -> None:
        self.order += 1
        heapq.heappush(self.timers, (when, self.order, then))

    def _begin(self, w: int) -> None:
        picks = list(itertools.islice(self.draw, self.setup.batch_size))
        ending = self.costs.collate_s + self.costs.send_s
        if all(_waiting(x, self.setup) <= 0 for _, x in picks):
            self.parts[w] = [(sum(c for c, _ in picks) + ending, 0.0)]
        else:
            self.parts[w] = [(c, _waiting(x, self.setup)) for c, x in reversed(picks)]
            self.parts[w].insert(0, (ending, 0.0))
        self._work(w)

    def _work(self, w: int) -> None:
        cpu, waits = self.parts[w][-1]
        if cpu > 0:
            self.jobs[w] = cpu
        else:
            self._wait(w, waits)

    def _wait(self, w: int, waits: float) -> None:
        self.parts[w].pop()
        self._after(waits, partial(self._next_part, w))

    def _next_part(self, w: int) -> None:
        if self.parts[w]:
            self._work(w)
            return
        batch = self.at[w]
        assert batch is not None
        self._after(self.costs.trip_s / 2, partial(self._arrived, batch))
        self.at[w] = self.queues[w].pop(0) if self.queues[w] else None
        if self.at[w] is not None:
            self._begin(w)

    def _arrived(self, batch: int) -> None:
        self.ready.add(batch)
        if self.main == "waiting":
            self._receive()

    def _receive(self) -> None:
        """The main process receives the next batch, or waits for it."""
        wanted = self.taken if self.setup.in_order else min(self.ready, default=-1)
        if wanted not in self.ready:
            self.main = "waiting"
            return
        self.ready.discard(wanted)
        self.main = "receiving"
        if self.costs.receive_s > 0:
            self.jobs[-1] = self.costs.receive_s
        else:
            self._received()

    def _received(self) -> None:
        """The batch has arrived: only now does torch request the next, so with little prefetch its worker idles."""
        self._dispatch()
        self.taken += 1
        self.marks.append(self.now)
        self.waits_at.append(self.waited)
        if self.setup.step_s > 0:
            self.main = "step"
        self._at(self.now + self.setup.step_s, self._receive)  # not recursively: a batch of every worker may be ready

    def _advance(self) -> None:
        """Advances to the next end of CPU work or waiting."""
        cpus, n = self.setup.cpus, len(self.jobs)
        rate = min(1.0, cpus / n) if n else 0.0
        if n >= cpus:
            rate /= self.costs.slowdown
        due = min(self.jobs.values()) / rate if n else math.inf
        at = self.timers[0][0] - self.now if self.timers else math.inf
        step = min(due, at)
        if math.isinf(step):
            raise RuntimeError("the simulated loader makes no progress")
        self.now += step
        self.busy += step * min(n, cpus)
        if self.main in ("waiting", "receiving"):
            self.waited += step
        done = []
        for who in self.jobs:
            self.jobs[who] -= step * rate
            if self.jobs[who] <= 1e-12:
                done.append(who)
        for who in done:
            del self.jobs[who]
        for who in done:
            if who >= 0:
                self._wait(who, self.parts[who][-1][1])
            else:
                self._received()
        while self.timers and self.timers[0][0] <= self.now + 1e-12:
            heapq.heappop(self.timers)[2]()


def workers_for(costs: Costs, setup: Setup, most: int = 256, near: float = 0.98) -> tuple[int, float]:
    """The fewest workers that reach the best rate of any number up to ``most``, and that rate, by the law."""
    best = max(law(costs, replace(setup, workers=n)) for n in (1, most))
    low, high = 1, most
    while low < high:
        mid = (low + high) // 2
        if law(costs, replace(setup, workers=mid)) >= near * best:
            high = mid
        else:
            low = mid + 1
    return low, best
