"""A posterior over a loader's throughput at settings not yet tried, updated after each timed block.

Method: a few quantities decide how a loader scales, and none of them can be read off single samples: the cost of a
sample in a worker relative to the main process, how many cores the work really gets, how many samples the storage
serves in parallel and whether it gets slower where more are asked for, how much of a batch's work only one worker can do at a time. Each combination is a hypothesis;
blocks update its weight (Bayes' rule with normal errors of the logarithm). A hypothesis predicts a rate by the
bottleneck law of ``simulation``, smoothed at the knee; for uneven samples the cost of in-order delivery is simulated. A
rate covers whole epochs: workers that are not persistent are restarted in each, and at its end they run out of batches.
Trials are chosen by expected improvement per second (Jones, Schonlau and Welch, "Efficient Global Optimization of
Expensive Black-Box Functions", J. Global Optimization 13, 1998).
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dataloader_expert.probes.search.setting import Setting
from dataloader_expert.probes.search.simulation import Costs, Pair, Setup, bounds, simulate

SCALES = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0)
"""Cost of a sample in a worker over its cost in this process."""
CORES = (0.5, 0.75, 1.0, 1.3)
"""Cores that the work gets, over those available."""
SLOTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, math.inf)
"""Samples that the storage or service waited for serves in parallel."""
CROWDING = (1.0, 2.0)
"""How steeply a store falls off that is asked for more samples than it serves at once: connections that are refused and tried again,
or a disk that seeks. Its rate is that of what it serves, divided by this power of how many times as many are asked for."""
SERIAL = (0.0, 0.5, 1.0)
"""The share of a sample's CPU work that only one process can do at a time."""
UNSURE = 0.1
"""Standard deviation of a rate's logarithm around the true hypothesis's prediction, and between blocks."""
Z90 = 1.645
"""Standard deviations within which nine of ten values of a normal distribution lie."""
KNEE = 6.0
"""Exponent of the smooth minimum of the bounds: two equal ones give 89 % of either."""
CHUNKS, SIMULATED = 4, 60
"""Parts of a batch, and batches, that are simulated: enough to see what in-order delivery costs."""
SPREAD = ((-1.35, 0.2), (-0.53, 0.2), (0.0, 0.2), (0.53, 0.2), (1.35, 0.2))
"""A normal distribution in five equal parts: mean and weight of each."""


FORK_S = 0.012
"""Seconds that the main process takes to fork a worker."""


@dataclass(frozen=True)
class Start:
    """The cost of starting workers: a constant time, CPU seconds per worker, which share the cores, and seconds for which the main
    process starts each, one after another."""

    waits_s: float = 0.0
    cpu_s: float = 0.0
    each_s: float = FORK_S

    def seconds(self, workers: int, cpus: float) -> float:
        return (
            self.waits_s + self.each_s * workers + self.cpu_s * max(1.0, workers / max(1.0, cpus)) if workers else 0.0
        )


@dataclass(frozen=True)
class Hypothesis:
    scale: float
    cores: float
    slots: float
    serial: float
    crowding: float = 0.0

    @property
    def prior(self) -> float:
        """How likely it is before any block: plain loaders are the most common."""
        plain = math.exp(-0.5 * (math.log(self.scale) / 0.35) ** 2) * math.exp(-0.5 * ((self.cores - 1) / 0.4) ** 2)
        stores = (1.0 if math.isinf(self.slots) else 0.06) * (0.25 if self.crowding else 1.0)
        return plain * stores * (1.0 if self.serial == 0 else 0.05)


@dataclass
class Belief:
    """``seen``: timed rates in samples/s by setting; ``epoch``: samples of an epoch, infinite if unknown; ``stream``: its
    workers share the samples evenly, not in whole batches; ``copied``: each of them yields all of the stream, and rates
    count every copy; ``queue_s``: seconds for which a sample in this process waits for a core that others use."""

    samples: Sequence[Pair]
    batch_size: int
    cpus: float
    collate_s: float = 0.0
    receive_s: float = 0.0
    step_s: float = 0.0
    epoch: float = math.inf
    stream: bool = False
    copied: bool = False
    start: Start = Start()
    queue_s: float = 0.0
    again_s: float | None = None
    """Seconds that an epoch begins with even where workers persist, or there are none: an order is drawn, a stream connects.
    The least seen, as workers that share cores also take longer; None: not seen."""
    seen: dict[Setting, list[float]] = field(default_factory=dict)
    chance: dict[Setting, list[float]] = field(default_factory=dict)
    """Of each rate seen, the variance of its logarithm that comes from which samples were drawn."""

    def __post_init__(self) -> None:
        n = max(1, len(self.samples))
        self.cpu = sum(c for c, _ in self.samples) / n
        self.waits = sum(w for _, w in self.samples) / n
        times = [c + w for c, w in self.samples]
        self.unevenness = statistics.pstdev(times) / max(1e-9, statistics.fmean(times)) if times else 0.0
        """The coefficient of variation of the samples' times."""
        self._weights: list[float] | None = None
        self._steady: dict[Setting, list[float]] = {}
        self._order: dict[Setting, float] = {}

    @property
    def waiting(self) -> float:
        """The share of a sample's time spent waiting."""
        return self.waits / (self.cpu + self.waits) if self.cpu + self.waits else 0.0

    def observe(self, setting: Setting, rates: list[float], seconds: float = math.inf) -> None:
        """Updates the weights with the samples/s of a setting's blocks, of which the last was timed over ``seconds``."""
        self.chance.setdefault(setting, []).append(self.luck(seconds * rates[-1]) ** 2)
        self.correct(setting, rates)

    def correct(self, setting: Setting, rates: list[float]) -> None:
        """What the blocks of a setting are known to have delivered by now."""
        self.seen[setting], self._weights = rates, None

    def luck(self, samples: float) -> float:
        """Standard deviation of the logarithm of a rate over so many samples, from how uneven they are."""
        return self.unevenness / math.sqrt(max(1.0, samples))

    def _variance(self, setting: Setting) -> float:
        """Of the mean logarithm of a setting's rates, from the luck of the draw alone."""
        found = self.chance[setting]
        return sum(found) / len(found) ** 2

    def started(self, start: Start) -> None:
        """Sets the measured cost of starting workers."""
        self.start, self._weights = start, None

    @cached_property
    def hypotheses(self) -> list[Hypothesis]:
        slots = SLOTS if self.waiting > 0.02 else (math.inf,)
        cores = CORES if self.cpus > 1 else (1.0,)
        found = [Hypothesis(*h) for h in itertools.product(SCALES, cores, slots, SERIAL)]
        few = [n for n in slots if math.isfinite(n)]  # what waits for a store that is crowded has cores enough
        return found + [Hypothesis(*h) for h in itertools.product(SCALES, (1.0,), few, (0.0,), CROWDING)]

    def of_batches(self, size: float) -> None:
        """What was read as a sample is a batch of so many: a dataset that makes its own."""
        self.samples = [(c / size, w / size) for c, w in self.samples]
        self.cpu, self.waits, self.epoch = self.cpu / size, self.waits / size, self.epoch * size
        self.queue_s /= size
        self.batch_size, self._weights = round(size), None
        self._steady.clear()
        self._order.clear()

    def ends_after(self, epoch: float) -> None:
        """Learns how long a stream's epoch is."""
        self.epoch, self._weights = epoch, None

    def begins(self, seconds: float) -> None:
        """Takes into account what the beginning of an epoch was found to take, apart from the start of workers."""
        self.again_s, self._weights = seconds if self.again_s is None else min(seconds, self.again_s), None

    def received(self, seconds: float) -> None:
        """Takes into account what receiving a batch was found to take of the main process."""
        self.receive_s, self._weights = seconds, None
        self._steady.clear()

    def weights(self) -> list[float]:
        """The posterior weights of the hypotheses; they sum to 1."""
        if self._weights is not None:
            return self._weights
        logs = [math.log(h.prior) for h in self.hypotheses]
        for setting, rates in self.seen.items():
            if setting.workers:
                mean = sum(map(math.log, rates)) / len(rates)
                sd = math.sqrt(UNSURE**2 * (0.5 + 0.5 / len(rates)) + self._variance(setting))
                for i, rate in enumerate(self._rates(setting)):
                    logs[i] -= 0.5 * ((mean - math.log(rate)) / sd) ** 2
        top = max(logs)
        raw = [math.exp(x - top) for x in logs]
        total = sum(raw)
        self._weights = [w / total if w > 1e-4 * total else 0.0 for w in raw]
        return self._weights

    def rate(self, setting: Setting) -> float:
        """Expected samples/s over whole epochs: the geometric mean of the blocks, else of the hypotheses."""
        known = self.seen.get(setting)
        if known:
            return math.exp(sum(map(math.log, known)) / len(known))
        return self.predicted(setting)

    def level(self, setting: Setting) -> float:
        """Samples/s of a setting that was timed; the luckier its blocks may have been, the nearer to what is predicted."""
        rates = self.seen[setting]
        timed, variance = sum(map(math.log, rates)) / len(rates), self._variance(setting)
        trust = UNSURE**2 / (UNSURE**2 + variance)
        return math.exp(trust * timed + (1 - trust) * math.log(self.predicted(setting)))

    def predicted(self, setting: Setting) -> float:
        """The same from the hypotheses alone: a single block of the setting itself may have been lucky."""
        return self._mean(self._rates(setting))

    def steady(self, setting: Setting) -> float:
        """Expected samples/s within an epoch, once workers run."""
        return self._mean(self._steady_rates(setting))

    def _mean(self, rates: list[float]) -> float:
        return math.exp(sum(w * math.log(r) for r, w in zip(rates, self.weights(), strict=True) if w))

    def ratio(self, setting: Setting, best: float) -> tuple[float, float, float]:
        """Expected ratio to ``best`` samples/s, with its central 90 % interval."""
        found = sorted((r / best, w) for r, w in self._spread(setting))
        total = sum(w for _, w in found)
        mean = math.exp(sum(w * math.log(r) for r, w in found) / total)
        low = high = found[0][0]
        below = 0.0
        for r, w in found:
            low = r if below <= 0.05 * total else low
            high = r if below <= 0.95 * total else high
            below += w
        return mean, low, high

    def told(self, setting: Setting, best: float) -> tuple[float, float, float]:
        """``ratio`` with an interval that is as wide as the rates seen so far lie off what the model makes of them: on cores that others
        use, or of a loader that scales like none it knows, a prediction is no surer than that."""
        mean, low, high = self.ratio(setting, best)
        wider = math.exp(Z90 * math.sqrt(max(0.0, self.misfit() ** 2 - UNSURE**2)))
        alone = self.cpu + self.waits
        wider *= (
            (alone + self.queue_s) / alone if alone else 1.0
        )  # by so much others slow down what is predicted of idle cores
        return mean, low / wider, high * wider

    def misfit(self) -> float:
        """Root mean square of how far rates seen lie off those predicted, in logarithms, and no less than is always allowed for."""
        off = [math.log(self.rate(s) / self.predicted(s)) ** 2 - self._variance(s) for s in self.seen]
        return math.sqrt(max(UNSURE**2, sum(off) / len(off))) if off else UNSURE

    def gain(self, setting: Setting, best: float) -> float:
        """Expected improvement over ``best`` samples/s, as a share of it."""
        return sum(w * max(0.0, self._paced(r, setting) / best - 1) for r, w in self._spread(setting))

    def _paced(self, rate: float, setting: Setting) -> float:
        """The rate that a consumer with this step gets."""
        if not self.step_s:
            return rate
        load = self.batch_size / rate
        return self.batch_size / (max(load, self.step_s) if setting.workers else load + self.step_s)

    def _spread(self, setting: Setting) -> Iterable[tuple[float, float]]:
        for r, w in zip(self._rates(setting), self.weights(), strict=True):
            if w:
                for z, p in SPREAD:
                    yield r * math.exp(UNSURE * z), w * p

    def ceiling(self) -> float:
        """Samples/s that the cores, and the store that samples wait for, allow however many workers there are."""
        each = self.cpu + self.collate_s / self.batch_size
        waits, total = max(1e-9, self.waits), 0.0
        for h, w in zip(self.hypotheses, self.weights(), strict=True):
            cores = max(1.0, self.cpus * h.cores) / max(1e-9, each * h.scale)
            total += w * min(cores, h.slots / waits, 1 / max(1e-9, self.cpu * h.serial)) if w else 0.0
        return total

    def knee(self) -> int:
        """The number of workers beyond which more are not expected to help."""
        rates = [(n, self.rate(Setting(n))) for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)]
        top = max(r for _, r in rates)
        return next(n for n, r in rates if r >= 0.97 * top)

    def _rates(self, setting: Setting) -> list[float]:
        """Samples/s over whole epochs by each hypothesis."""
        steady = self._steady_rates(setting)
        if math.isinf(self.epoch):
            return steady
        if not setting.workers:
            return [self.epoch / ((self.again_s or 0.0) + self.epoch / r) for r in steady]
        start = (self.again_s or 0.0) if setting.persistent else self.start.seconds(setting.workers, self.cpus)
        epoch = self.epoch * (setting.workers if self.copied else 1)
        rounds = math.ceil(math.ceil(epoch / self.batch_size) / setting.workers)
        each = math.ceil(epoch / setting.workers) if self.stream else rounds * self.batch_size
        worker_s = each * (self.cpu + self.waits) + rounds * self.collate_s
        both = zip(self.hypotheses, steady, strict=True)
        return [epoch / (start + max(epoch / r, worker_s * h.scale)) for h, r in both]

    def _steady_rates(self, setting: Setting) -> list[float]:
        setting = setting._replace(persistent=False)  # persistence matters only between epochs
        known = self._steady.get(setting)
        if known is None:
            known = self._steady[setting] = [self._rate(h, setting) for h in self.hypotheses]
        return known

    def _rate(self, h: Hypothesis, setting: Setting) -> float:
        b = self.batch_size
        if not setting.workers:
            return b / max(1e-9, b * (self.cpu + self.waits) + self.collate_s)
        cpu, waits = self.cpu * h.scale, self.waits * h.scale
        costs = Costs(((cpu, waits),), self.collate_s * h.scale, 0.0, self.receive_s)
        parts = bounds(costs, Setup(b, setting.workers, setting.prefetch, cpus=max(1.0, self.cpus * h.cores)))
        limits = [r for r in parts.values() if not math.isinf(r)]
        if waits and not math.isinf(h.slots):
            beyond = max(1.0, setting.workers / h.slots)
            limits.append(h.slots / (b * waits) / beyond**h.crowding)
        if h.serial and cpu:
            limits.append(1 / (b * cpu * h.serial))
        top = min(limits, default=1e9)
        joined = top * sum((top / r) ** KNEE for r in limits) ** (-1 / KNEE) if limits else top
        return b * joined * self._order_keeps(setting)

    def _order_keeps(self, setting: Setting) -> float:
        """The share of the rate that in-order delivery leaves when batches are uneven, by simulation."""
        if self.waiting < 0.2 or setting.workers < 2 or len(self.samples) < 2:
            return 1.0
        if setting not in self._order:
            draw = random.Random(0)
            size = max(1, self.batch_size // CHUNKS)
            parts = [draw.choices(list(self.samples), k=size) for _ in range(64)]
            chunks = tuple((sum(c for c, _ in p), sum(w for _, w in p)) for p in parts)
            costs = Costs(chunks, self.collate_s)
            batch = max(1, round(self.batch_size / size))
            plain = Setup(batch, setting.workers, setting.prefetch, setting.in_order, cpus=float(setting.workers + 1))
            even = Costs((tuple(sum(x) / len(chunks) for x in zip(*chunks, strict=True)),), self.collate_s)
            n = max(SIMULATED, 4 * setting.workers)
            level = simulate(even, replace(plain, prefetch=4), n).throughput
            self._order[setting] = min(1.0, simulate(costs, plain, n).throughput / level) if level else 1.0
        return self._order[setting]


def numbers(most: int, cpus: float, knee: int, present: int) -> list[int]:
    """Candidate numbers of workers: 0, powers of two, the cores and twice that, the predicted knee, the present."""
    doubled = [2**k for k in range(11)]
    found = {0, present, round(cpus), 2 * round(cpus), knee, most, *doubled}
    return sorted(n for n in found if 0 <= n <= most)
