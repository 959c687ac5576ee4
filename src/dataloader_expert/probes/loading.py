"""Throughput of real DataLoaders: settings grown from 0 workers, alternating blocks, the winner checked again.

Method: each setting keeps its loader alive; blocks of the settings alternate, so that a slow spell of the
machine hits all alike. A block drops what was prefetched, then times whole rounds (one batch a worker).
Ratios come from neighbouring blocks; intervals are Student's t on their logarithms.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import Bench, Probe, Said, TooDear, evidence
from dataloader_expert.probes.serving import Serving, serving

THROUGHPUT = Quantity("throughput", "samples/s", "samples delivered per second by a DataLoader at these settings")
TRIALS = Quantity("trials", "", "every setting tried, with its blocks")
SPEEDUP = Quantity(
    "speedup",
    "x",
    "samples/s that the step (if known) gets at the recommended settings over the present ones, by pairs",
)
RECOMMENDED = Quantity("recommended_settings", "", "the cheapest settings that nothing tried beats")
CURRENT = Quantity("current_settings", "", "the settings in use, or torch's defaults")
UNPROVED = Quantity("unproved_gain", "x", "what looked faster, but not surely so: workers, and how many times as fast")
STARTUP = Quantity("startup", "s", "from making the iterator to the first batch")
BATCH_SIZES = Quantity("batch_size_throughput", "samples/s", "throughput in the main process by batch size")

STEP = Quantity("step_ms", "ms", "one training step of the model on a real batch: forward, backward, optimizer")

FIT_OURS, FIT_YOURS = 1 / 100, 1 / 16
"""The share of the probe's time that a batch may take: three blocks of three settings and a check, each of several
batches; of the user's own loader, which is left as it is while that can be, three blocks."""
WORTH = 1.05
"""The least gain worth more workers: its interval's lower end must exceed this."""
PAIRS, LEAST_PAIRS = 8, 3
"""Fresh pairs of blocks in which a winner must show its gain."""
ROUNDS = 3
"""Blocks of every setting tried."""
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 11: 2.20, 12: 2.18}
T99 = {1: 63.66, 2: 9.92, 3: 5.84, 4: 4.60, 5: 4.03, 6: 3.71, 7: 3.50, 8: 3.36, 9: 3.25, 10: 3.17, 11: 3.11, 12: 3.05}


def cycle(load_s: float, step_s: float, workers: int) -> float:
    """Seconds from batch to batch: loading and step one after the other without workers, else the longer of the two."""
    return max(load_s, step_s) if workers else load_s + step_s


def interval(values: list[float], table: dict[int, float] = T95) -> tuple[float, float, float]:
    """Mean and t interval of the logarithms, given back as ratios: value, low, high."""
    logs = [math.log(v) for v in values]
    n = len(logs)
    mean = sum(logs) / n
    if n < 2:
        return math.exp(mean), 0.0, math.inf
    sd = math.sqrt(sum((x - mean) ** 2 for x in logs) / (n - 1))
    half = table.get(n - 1, table[12]) * sd / math.sqrt(n)
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


@dataclass
class Runner:
    """One setting's living loader. ``blocks`` are its throughputs in samples/s, ``cost`` its last block in s."""

    plan: LoaderPlan
    serving: Serving
    blocks: list[float] = field(default_factory=list)
    startup: float | None = None
    cost: float = 0.0
    step_s: float = 0.0
    _iterator: Iterator[Any] | None = None

    def _next(self) -> int:
        """Samples in the next batch; a new epoch begins where one ends."""
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
        """Times at least ``seconds`` of whole rounds in steady state; keeps and gives samples/s.

        Dropped first: the batches that were ready (workers x prefetch), then one round in which all workers fall
        into step again.
        """
        begun = time.monotonic()
        n = max(1, self.plan.workers)
        for _ in range(self.plan.workers * (self.plan.prefetch or 2) + n):
            self._next()
            if until is not None and time.monotonic() > until:
                break
        samples, start = 0, time.perf_counter()
        while True:
            for _ in range(n):
                samples += self._next()
            spent = time.perf_counter() - start
            if spent >= seconds or (until is not None and time.monotonic() > until):
                break
        self.blocks.append(samples / spent)
        self.cost = time.monotonic() - begun
        return self.blocks[-1]

    @property
    def paced(self) -> list[float]:
        """Samples/s that a consumer with this step gets, block by block."""
        b = self.plan.batch_size
        return [b / cycle(b / rate, self.step_s, self.plan.workers) for rate in self.blocks]

    def close(self) -> None:
        iterator, self._iterator = self._iterator, None
        shutdown = getattr(iterator, "_shutdown_workers", None)
        if shutdown is not None:
            shutdown()
        self._loader = None


@dataclass(frozen=True)
class Loading(Probe):
    """``batch_size``, ``num_workers`` None: the user's loader's, else torch's defaults; ``search`` False: as it is."""

    name: ClassVar[str] = "loading"
    batch_size: int | None = None
    num_workers: int | None = None
    max_workers: int | None = None
    search: bool = True
    share: float = 0.9
    block_s: float = 0.25
    local_world_size: int = 1
    step_ms: float | None = None

    def measure(self, bench: Bench) -> Iterable[Said]:
        served = serving(bench, self.batch_size, self.num_workers)
        deadline = bench.until(self.share, 300.0)
        current, fit = served.current, FIT_OURS if served.user_loader is None else FIT_YOURS
        if served.fit(bench, fit * self.share * bench.left()):
            size = served.current.batch_size
            why = f"a batch of {current.batch_size} takes long: throughput was measured with batches of {size}"
            yield Unknown("throughput at the full batch size", why)
        yield Fact(CURRENT, {**current.keywords(), "made_by": served.made_by}, evidence("declared", "loading"))
        runners: dict[int, Runner] = {}
        failed: dict[int, str] = {}
        try:
            yield from self._grow(bench, served, runners, failed, deadline)
            if not runners:
                raise TooDear("the budget ended before three blocks at the present settings: raise budget_s")
            step = self._step_s(bench, served, current)
            for runner in runners.values():
                runner.step_s = step
            best = self._cheapest(runners)
            yield from self._check(bench, runners, best, current, deadline)
        finally:
            for runner in runners.values():
                runner.close()
        for workers, why in failed.items():
            yield Unknown(f"throughput at {workers} workers", why)

    def _step_s(self, bench: Bench, served: Serving, current: LoaderPlan) -> float:
        """The consumer's step, in proportion where the batches measured are smaller; 0 where it is not known."""
        step: float = self.step_ms if self.step_ms is not None else bench.facts.value(STEP, 0.0)
        return step / 1e3 * served.current.batch_size / current.batch_size

    def _try(
        self,
        bench: Bench,
        served: Serving,
        workers: int,
        runners: dict[int, Runner],
        failed: dict[int, str],
        deadline: float | None,
    ) -> Runner | None:
        """A new setting's first block; None where it does not run."""
        plan = served.current
        if workers != plan.workers:
            plan = plan.but(workers=workers, prefetch=None)
        if served.user_loader is None:  # the user's own loader keeps its own choice
            patience = max(5.0, 0.4 * bench.left()) if workers and not math.isinf(bench.left()) else 0.0
            plan = plan.but(persistent=workers > 0, timeout=patience)  # a hung worker is then an outcome, not the end
        runner = Runner(plan, served)
        try:
            runner.block(self.block_s, deadline)
        except Exception as e:  # the user's code, torch or the system may refuse: an outcome, not the end
            runner.close()
            if workers == served.current.workers:
                raise
            failed[workers] = f"{type(e).__name__}: {str(e).strip().splitlines()[-1][:200] if str(e).strip() else ''}"
            return None
        runners[workers] = runner
        return runner

    def _grow(
        self, bench: Bench, served: Serving, runners: dict[int, Runner], failed: dict[int, str], deadline: float | None
    ) -> Iterator[Said]:
        """From the present setting and 0 workers upwards, as long as more still gains; then alternating blocks."""
        now = served.current.workers
        self._try(bench, served, now, runners, failed, deadline)
        for workers in [0, *self._candidates(bench, served)] if self.search else []:
            if workers in runners or workers in failed:
                continue
            mean = sum(r.cost for r in runners.values()) / len(runners)
            if _left(deadline) < mean * ((ROUNDS - 1) * len(runners) + ROUNDS + 2 * LEAST_PAIRS):
                yield Unknown(f"throughput at {workers} workers and more", "the budget does not hold more blocks")
                break
            bench.progress(f"trying {workers} workers", None)
            best = max(r.blocks[0] for r in runners.values())
            runner = self._try(bench, served, workers, runners, failed, deadline)
            if runner is None or (runner.blocks[0] < 0.75 * best and workers > 1):
                break
        for _ in range(ROUNDS - 1):
            for workers, runner in runners.items():
                if workers == now or _left(deadline) > 0:
                    bench.progress(f"timing {workers} workers", None)
                    runner.block(self.block_s, deadline)
        for workers in [w for w, r in runners.items() if len(r.blocks) < ROUNDS]:  # fewer blocks are no measurement
            runners.pop(workers).close()
            yield Unknown(f"throughput at {workers} workers", f"the budget ended before its {ROUNDS} blocks")
        for workers, runner in runners.items():
            yield throughput_fact(runner, workers)
            yield Fact(STARTUP, runner.startup, evidence("timed", "loading", seen=1), {"workers": workers})

    def _candidates(self, bench: Bench, served: Serving) -> list[int]:
        """1, 2, … the CPUs of this process; where samples wait rather than compute, four times as many and the most."""
        cpus = max(1, int(bench.cpus / self.local_world_size))
        most = self.max_workers if self.max_workers is not None else 16
        if served.wait_share(bench) <= 0.5:
            grown = [n for n in sorted({1, 2, cpus}) if n <= min(most, max(cpus, 2))]
            dear = served.batch_s > 0.02 * bench.left()
            return grown[-1:] if dear else grown
        return sorted({min(4 * cpus, most), most} - {0})

    def _cheapest(self, runners: dict[int, Runner]) -> int:
        """The fewest workers that no other setting tried beats by more than is worth it, at the consumer's pace."""
        means = {n: interval(r.paced)[0] for n, r in runners.items()}
        top = max(means.values())
        return min(n for n, mean in means.items() if mean * WORTH >= top)

    def _check(
        self, bench: Bench, runners: dict[int, Runner], best: int, current: LoaderPlan, deadline: float | None
    ) -> Iterator[Said]:
        """Fresh alternating blocks of the winner against the present setting; a gain counts only if these show it."""
        now = current.workers
        ratios: list[float] = []
        if best != now:
            bench.progress("checking the recommended settings", None)
            pair = (runners[now], runners[best])
            pairs = min(PAIRS, int(_left(deadline) / max(1e-3, sum(r.cost for r in pair)))) if deadline else PAIRS
            if pairs < LEAST_PAIRS:
                yield Unknown(
                    "recommended", f"{best} workers looked faster; the budget held no check of it: raise budget_s"
                )
            for i in range(pairs if pairs >= LEAST_PAIRS else 0):
                bench.progress(f"checking the recommended settings, pair {i + 1}", None)
                for runner in pair if i % 2 == 0 else pair[::-1]:
                    runner.block(self.block_s, None)
                ratios.append(runners[best].paced[-1] / runners[now].paced[-1])
            if len(ratios) < LEAST_PAIRS or interval(ratios, T99)[1] <= WORTH:
                looked = ratios or [b / a for a, b in zip(runners[now].paced, runners[best].paced, strict=False)]
                seen = evidence("timed", "loading", seen=len(looked), spread=(min(looked), max(looked)))
                if interval(looked)[0] > 1:
                    yield Fact(UNPROVED, {"workers": best, "ratio": interval(looked)[0]}, seen)
                best, ratios = now, []
        chosen = runners[best]
        plan = chosen.plan.but(batch_size=current.batch_size)
        value = {
            "settings": {
                **{k: v for k, v in plan.keywords().items() if k != "timeout"},
                "prefetch_factor": (plan.prefetch or 2) if plan.workers else None,
                "persistent_workers": plan.persistent,
            },
            "workers": best,
        }
        yield Fact(RECOMMENDED, value, evidence("timed", "loading", seen=len(chosen.blocks)))
        if ratios:
            ratio, low, high = interval(ratios)
            seen = evidence(
                "timed", "loading", seen=len(ratios), interval=(low, high), spread=(min(ratios), max(ratios))
            )
            yield Fact(SPEEDUP, ratio, seen)
        else:
            seen = evidence("derived", "loading", seen=len(chosen.blocks), derived_from=("throughput",))
            yield Fact(SPEEDUP, 1.0, seen, {})
        trials = []
        for n, runner in runners.items():
            mean, low, high = interval(runner.blocks)
            trials.append(
                {
                    "num_workers": n,
                    "batch_size": runner.plan.batch_size,
                    "throughput": {
                        "value": mean,
                        "unit": "samples/s",
                        "low": low,
                        "high": high,
                        "n": len(runner.blocks),
                        "how": "timed",
                    },
                    "blocks": [round(b, 1) for b in runner.blocks],
                    "startup_s": runner.startup,
                }
            )
        yield Fact(TRIALS, trials, evidence("timed", "loading", seen=sum(len(r.blocks) for r in runners.values())))


def _left(deadline: float | None) -> float:
    return math.inf if deadline is None else deadline - time.monotonic()


def throughput_fact(runner: Runner, workers: int) -> Fact:
    mean, low, high = interval(runner.blocks)
    bounds = (low, high) if len(runner.blocks) > 1 else None
    seen = evidence(
        "timed", "loading", seen=len(runner.blocks), interval=bounds, spread=(min(runner.blocks), max(runner.blocks))
    )
    return Fact(THROUGHPUT, mean, seen, {"workers": workers, "batch_size": runner.plan.batch_size})


SIZES = (16, 32, 64, 128, 256)


@dataclass(frozen=True)
class BatchSizes(Probe):
    """Throughput in the main process at several batch sizes, three alternating blocks each."""

    name: ClassVar[str] = "batch-sizes"
    block_s: float = 0.1
    share: float = 0.4

    def measure(self, bench: Bench) -> Iterable[Said]:
        served = serving(bench, None, 0)
        if not served.sizable:
            return
        total = 1 << 20 if bench.source.iterable else bench.source.samples
        widest = replace(served, current=served.current.but(batch_size=SIZES[-1]))
        widest.fit(bench, 0.03 * bench.left())
        most = widest.current.batch_size
        if most < SIZES[0]:
            yield Unknown("batch_size", f"a batch of {SIZES[0]} takes too long for sizes to be timed: raise budget_s")
            return
        deadline = bench.until(self.share, 6.0)
        sizes = [b for b in SIZES if b <= max(SIZES[0], min(total // 4, most))]
        runners = {b: Runner(served.current.but(batch_size=min(b, total), workers=0), served) for b in sizes}
        for i in range(3):
            for runner in runners.values():
                if i and deadline is not None and time.monotonic() > deadline:
                    return
                runner.block(self.block_s, deadline)
        for size, runner in runners.items():
            mean, low, high = interval(runner.blocks)
            seen = evidence("timed", "loading", seen=len(runner.blocks), interval=(low, high))
            yield Fact(BATCH_SIZES, mean, seen, {"batch_size": size})


PROBES = (Loading, BatchSizes)
