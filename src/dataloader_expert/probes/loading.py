"""Throughput of real DataLoaders: settings grown from 0 workers, alternating blocks, the winner checked again.

Method: each setting keeps its loader alive; blocks of the settings alternate, so that a slow spell of the
machine hits all alike. A block drops what was prefetched, then times whole rounds (one batch a worker).
Ratios come from neighbouring blocks; intervals are Student's t on their logarithms.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import Bench, Probe, Said, evidence
from dataloader_expert.probes.serving import Serving, serving

THROUGHPUT = Quantity("throughput", "samples/s", "samples delivered per second by a DataLoader at these settings")
TRIALS = Quantity("trials", "", "every setting tried, with its blocks")
SPEEDUP = Quantity("speedup", "x", "throughput of the recommended settings over the present ones, neighbouring blocks")
RECOMMENDED = Quantity("recommended_settings", "", "the cheapest settings that nothing tried beats")
CURRENT = Quantity("current_settings", "", "the settings in use, or torch's defaults")
STARTUP = Quantity("startup", "s", "from making the iterator to the first batch")
BATCH_SIZES = Quantity("batch_size_throughput", "samples/s", "throughput in the main process by batch size")

WORTH = 1.05
"""The least gain worth more workers: its interval's lower end must exceed this."""
PAIRS = 6
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26, 10: 2.23, 11: 2.20, 12: 2.18}
T99 = {1: 63.66, 2: 9.92, 3: 5.84, 4: 4.60, 5: 4.03, 6: 3.71, 7: 3.50, 8: 3.36, 9: 3.25, 10: 3.17, 11: 3.11, 12: 3.05}


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
    """One setting's living loader. ``blocks`` are its throughputs in samples/s."""

    plan: LoaderPlan
    serving: Serving
    blocks: list[float] = field(default_factory=list)
    startup: float | None = None
    batches: int = 0
    _iterator: Iterator[Any] | None = None
    _delivered: int = 0

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
        self.batches += 1
        return self.serving.count(batch)

    def block(self, seconds: float, until: float | None) -> float:
        """Times at least ``seconds`` of whole rounds in steady state; keeps and gives samples/s."""
        n = max(1, self.plan.workers)
        for _ in range(
            1 + (self.plan.workers * (self.plan.prefetch or 2) + self.plan.workers if self.plan.workers else 0)
        ):
            self._next()
            if until is not None and time.monotonic() > until:
                break
        samples, begun = 0, time.perf_counter()
        while True:
            for _ in range(n):
                samples += self._next()
            spent = time.perf_counter() - begun
            if spent >= seconds or (until is not None and time.monotonic() > until):
                break
        self.blocks.append(samples / spent)
        return self.blocks[-1]

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
    block_s: float = 0.35
    local_world_size: int = 1

    def measure(self, bench: Bench) -> Iterable[Said]:
        served = serving(bench, self.batch_size, self.num_workers)
        deadline = bench.until(self.share, 40.0)
        current = served.current
        yield Fact(CURRENT, {**current.keywords(), "made_by": served.made_by}, evidence("declared", "loading"))
        runners: dict[int, Runner] = {}
        failed: dict[int, str] = {}
        try:
            yield from self._grow(bench, served, runners, failed, deadline)
            best = self._cheapest(runners)
            yield from self._check(bench, runners, best, current, deadline)
        finally:
            for runner in runners.values():
                runner.close()
        for workers, why in failed.items():
            yield Unknown(f"throughput at {workers} workers", why)

    def _try(
        self, served: Serving, workers: int, runners: dict[int, Runner], failed: dict[int, str], deadline: float | None
    ) -> Runner | None:
        """A new setting's first block; None where it does not run."""
        plan = served.current
        if workers != plan.workers:
            plan = plan.but(workers=workers, prefetch=None)
        if served.user_loader is None:  # the user's own loader keeps its own choice
            plan = plan.but(persistent=workers > 0)
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
        self._try(served, now, runners, failed, deadline)
        if self.search:
            if 0 not in runners:
                self._try(served, 0, runners, failed, deadline)
            for workers in self._candidates(bench, served):
                if deadline is not None and time.monotonic() > deadline - 6 * self.block_s * (len(runners) + 1):
                    break
                if workers in runners or workers in failed:
                    continue
                bench.progress(f"trying {workers} workers", None)
                best = max(r.blocks[0] for r in runners.values())
                runner = self._try(served, workers, runners, failed, deadline)
                if runner is None or (runner.blocks[0] < 0.75 * best and workers > 1):
                    break
        for _ in range(2):
            for runner in runners.values():
                if deadline is not None and time.monotonic() > deadline and len(runner.blocks) >= 1:
                    continue
                runner.block(self.block_s, deadline)
        for workers, runner in runners.items():
            yield throughput_fact(runner, workers)
            yield Fact(STARTUP, runner.startup, evidence("timed", "loading", seen=1), {"workers": workers})

    def _candidates(self, bench: Bench, served: Serving) -> list[int]:
        """1, 2, … the CPUs of this process; beyond them only where samples wait rather than compute."""
        cpus = max(1, int(bench.cpus / self.local_world_size))
        most = self.max_workers if self.max_workers is not None else 16
        waiting = served.wait_share(bench) > 0.5
        grown = sorted({1, 2, cpus, *((4, 8, 16, 32, 64) if waiting else ())})
        return [n for n in grown if n <= most and (waiting or n <= max(cpus, 1))]

    def _cheapest(self, runners: dict[int, Runner]) -> int:
        """The fewest workers that no other setting tried beats by more than is worth it."""
        means = {n: interval(r.blocks)[0] for n, r in runners.items()}
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
            for i in range(PAIRS):
                if deadline is not None and time.monotonic() > deadline and i >= 3:
                    break
                pair = (runners[now], runners[best]) if i % 2 == 0 else (runners[best], runners[now])
                for runner in pair:
                    runner.block(self.block_s, None)
                ratios.append(runners[best].blocks[-1] / runners[now].blocks[-1])
            if interval(ratios, T99)[1] <= WORTH:
                best, ratios = now, []
        chosen = runners[best]
        plan = chosen.plan
        value = {
            "settings": {
                **plan.keywords(),
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
                    "batch_size": plan.batch_size,
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


def throughput_fact(runner: Runner, workers: int) -> Fact:
    mean, low, high = interval(runner.blocks)
    bounds = (low, high) if len(runner.blocks) > 1 else None
    seen = evidence(
        "timed", "loading", seen=len(runner.blocks), interval=bounds, spread=(min(runner.blocks), max(runner.blocks))
    )
    return Fact(THROUGHPUT, mean, seen, {"workers": workers, "batch_size": runner.plan.batch_size})


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
        deadline = bench.until(self.share, 6.0)
        total = 1 << 20 if bench.source.iterable else bench.source.samples
        sizes = [b for b in (16, 32, 64, 128, 256) if b <= max(16, total // 4)]
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
