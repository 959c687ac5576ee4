"""Throughput of real DataLoaders: settings chosen by a cost model and timed in alternating blocks.

Method: a few samples and a batch are timed, which predicts what each setting would deliver (``belief``). After every
block the setting with the largest expected gain per second is tried next, until no expected gain is worth a change or
time is up (``exploring``). Each setting keeps its loader alive, paused at a gate while another runs. Blocks alternate,
so that a slow phase of the machine affects all equally; a setting that is clearly slower gets no more. The winner is
checked against the present setting in pairs (``proving``).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import SLOWEST, Bench, Observation, Probe, TooDear, evidence
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.model.step_time import STEP
from dataloader_expert.probes.search.belief import Belief
from dataloader_expert.probes.search.costs import measured
from dataloader_expert.probes.search.exploring import Explorer
from dataloader_expert.probes.search.ledger import Ledger
from dataloader_expert.probes.search.ordering import without_order
from dataloader_expert.probes.search.proving import Proof, drop, prove, settle
from dataloader_expert.probes.search.setting import Setting, label
from dataloader_expert.probes.search.settings import Raises, Settings
from dataloader_expert.probes.search.sparing import told
from dataloader_expert.probes.search.starting import start_of
from dataloader_expert.probes.search.stuck import STUCK
from dataloader_expert.probes.search.tap import tapped
from dataloader_expert.probes.search.thresholds import MOST_PAIRS, PAIRS, ROUNDS, SEARCH_SHARE, WORTH
from dataloader_expert.probes.search.trials import (
    EPOCH_START,
    IDLE,
    STARTING,
    STARTUP,
    THROUGHPUT,
    TRIALS,
    point,
    throughput_fact,
    trial,
)
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.sharding import SHARDING, copied

SPEEDUP = Quantity(
    "speedup",
    "x",
    "samples/s with the recommended settings over the present ones, at the pace of the training step if known, in pairs",
)
RECOMMENDED = Quantity("recommended_settings", "", "the cheapest settings that no other setting tried beats")
CURRENT = Quantity("current_settings", "", "the settings in use, or torch's defaults")
UNPROVED = Quantity("unproved_gain", "x", "settings that looked faster without proof, and how many times as fast")
PREDICTED = Quantity(
    "predicted_gain", "x", "predicted throughput of a setting not tried for lack of time, over the best tried"
)
CURVE = Quantity(
    "predicted_throughput", "samples/s", "what the cost model predicts by number of workers, with 90 % bounds"
)
SEARCHED = Quantity("searched", "s", "time from the start of the request until the recommendation was checked")
ENDED = Quantity("search_ended", "", "why the search ended: converged, or out of time")

REMADE = Quantity(
    "made_by_reading", "", "attributes that reading the first sample fills: each worker makes them for itself"
)

RAN_OUT = "the budget ran out before the present settings could be timed"
COUNTABLE = 4
"""Samples are counted one by one only if reading a batch takes so many times as long as collating it, which no count sees."""
SLOWEST_MOST = 64
"""The most samples of all trials that may be read again."""


@dataclass(frozen=True)
class Loading(Probe):
    """``batch_size``, ``num_workers`` None: the user's loader's, else torch's defaults; ``search`` False: no other
    setting is tried."""

    name: ClassVar[str] = "loading"
    doing: ClassVar[str] = "timing DataLoader settings"
    batch_size: int | None = None
    num_workers: int | None = None
    max_workers: int | None = None
    search: bool = True
    share: float = SEARCH_SHARE
    most_s: float = 300.0
    block_s: float = 0.25
    pairs: int = PAIRS
    local_world_size: int = 1
    step_ms: float | None = None
    also: tuple[int, ...] = ()
    """Numbers of workers to try in any case: the forecast is fitted to them."""

    def measure(self, bench: Bench) -> Iterable[Observation]:
        served = serving(bench, self.batch_size, self.num_workers)
        served.cpus = max(1.0, bench.cpus / self.local_world_size)
        current = served.current
        yield Fact(CURRENT, {**current.keywords(), "made_by": served.made_by}, evidence("declared", "loading"))
        if not bench.source.iterable:
            served.hung = frozenset(bench.hung)
            served.spares = bool(bench.raised or bench.hung)
        try:
            yield from self._searched(bench, served, current)
        except Raises as e:  # perhaps a few samples of many: the others are timed
            served.spares = True
            try:
                yield from self._searched(bench, served, current)
            except TooDear:
                raise e.__cause__ or e from None

    def _searched(self, bench: Bench, served: Serving, current: LoaderPlan) -> Iterator[Observation]:
        settings = Settings(
            bench, served, Ledger(bench, bench.until(self.share, self.most_s), self.block_s), self.pairs
        )
        explorer = Explorer(settings, self.max_workers)
        with contextlib.ExitStack() as ending:
            ending.enter_context(tapped())
            ending.callback(settings.close)
            ending.enter_context(settings.guard.watching())
            learn(settings, self._step_s(bench))
            try:
                searching = yield from self._present(settings)
            except TooDear:
                if not settings.broken:
                    yield from untimed(settings, explorer, current)
                raise
            if searching and self.search:
                for workers in self.also:
                    if label(settings.with_workers(workers)) not in settings.runners:
                        settings.run(settings.with_workers(workers))
                yield from explorer.explore()
                yield from without_order(settings)
            yield from settings.told_broken()
            drop(settings)
            yield from settle(settings)
            if not settings.runners:
                raise TooDear(f"{RAN_OUT}: raise budget_s")
            for said in prove(settings):
                yield from concluded(settings, explorer, said, current) if isinstance(said, Proof) else (said,)
            read = sum(
                count.samples or runner.delivered[0] for runner in settings.every() for count in runner.counts()[:1]
            )
            yield from told(bench, settings.raised(), min(len(served.dataset), read) if served.spares else 0)
            slowest = settings.slowest()[:SLOWEST_MOST]
            if slowest:
                yield Fact(SLOWEST, [[*took] for took in slowest], evidence("timed", "loading", seen=len(slowest)))

    def _present(self, settings: Settings) -> Generator[Observation, None, bool]:
        """A block at the present settings, or in the main process if these do not run; returns whether to search on."""
        settings.bench.progress("timing the present settings", None)
        ledger = settings.ledger
        two_s = 0.0 if ledger.fine else 2 * ledger.first_s  # one to start with, and one that is timed
        if ledger.room <= 0:
            raise TooDear(f"{RAN_OUT}: raise budget_s")
        if two_s > ledger.room:
            raise TooDear(f"two batches at the present settings take about {two_s:.2g} s: raise budget_s")
        workers = settings.served.current.workers
        starts_s = ledger.belief.start.seconds(workers, ledger.belief.cpus)
        if starts_s > ledger.room:  # nothing ends a start that takes longer
            why = f"starting {workers} workers takes about {starts_s:.0f} s: raise budget_s"
            settings.failed[settings.words(settings.now)], settings.most = why, workers
            yield Fact(STARTING, round(starts_s, 1), evidence("derived", "loading"), point(settings.now))
        elif settings.run(settings.served.current) is not None:
            return True
        yield from settings.told_broken()
        if not settings.broken and two_s > 0.5 * ledger.room:
            raise TooDear(f"{RAN_OUT}, and two batches in this process would take {two_s:.2g} s more: raise budget_s")
        settings.now = Setting(0, 0)
        if settings.run(settings.with_workers(0)) is None or (settings.broken and not self.search):
            raise (
                settings.broken[-1][0]
                if settings.broken
                else TooDear("no batch arrived within the budget: raise budget_s")
            )
        return not settings.broken

    def _step_s(self, bench: Bench) -> float:
        """Seconds of the consumer's step; 0 if unknown."""
        step: float = self.step_ms if self.step_ms is not None else bench.facts.value(STEP, 0.0)
        return step / 1e3


def learn(settings: Settings, step_s: float) -> None:
    """Measures what samples and a batch cost here, which decides how blocks are counted."""
    bench, served, ledger = settings.bench, settings.served, settings.ledger
    bench.progress("timing single samples", None)
    seen, plan = measured(served, bench), served.current
    settings.step_s, settings.collate_s = step_s, seen.collate_s
    read_s = plan.batch_size * seen.sample_s
    whole = read_s + seen.collate_s
    ledger.belief = Belief(
        seen.samples, plan.batch_size, served.cpus, seen.collate_s, step_s=step_s, epoch=epoch_of(bench, served),
        stream=bench.source.iterable, copied=copied(bench),
        start=start_of(bench, served, seen.sample_s), queue_s=seen.queue_s,
    )  # fmt: skip
    # if a process makes fewer batches than this in a block, samples are counted
    ledger.fine = (
        seen.singly and served.batched and ROUNDS * read_s > ledger.least_s and read_s > COUNTABLE * seen.collate_s
    )
    ledger.first_s, served.patience = whole, ledger.patience


def epoch_of(bench: Bench, served: Serving) -> float:
    """Samples of an epoch; infinite for a stream whose end was not seen yet."""
    known = _of_stream(bench) if bench.source.iterable else len(served.dataset)
    loader: Any = served.user_loader
    if loader is not None and loader.batch_size is not None and not bench.source.iterable:
        with contextlib.suppress(Exception):  # the user's sampler may have no length
            known = len(loader.sampler)
    return float(known) if known else math.inf


def _of_stream(bench: Bench) -> float | None:
    """Samples of a stream: as two workers read to its end, else as declared."""
    found = bench.facts.value(SHARDING, {})
    if not found.get("ended"):
        return cast(float | None, bench.facts.value(SAMPLES))
    return float(max(found["by_worker"]) if found["copied"] else found["total"])


def concluded(settings: Settings, explorer: Explorer, proof: Proof, current: LoaderPlan) -> Iterator[Observation]:
    """The facts of a finished search."""
    runners, chosen = settings.runners, settings.runners[proof.best]
    for key, runner in runners.items():
        if len(runner.blocks) >= ROUNDS or key in (proof.best, proof.now):  # others had too few to be told
            yield throughput_fact(runner)
            at, once = point(label(runner.plan)), evidence("timed", "loading", seen=1)
            yield Fact(STARTUP, runner.startup, once, at)
            if runner.start is not None:
                yield Fact(STARTING, runner.start.seconds(runner.plan.workers, settings.served.cpus), once, at)
    yield from _missed(settings, explorer, proof)
    looked = proof.looked
    if looked is not None and looked.ratios and looked.mean >= WORTH:
        seen = evidence("timed", "loading", seen=len(looked.ratios), spread=looked.spread)
        value = {
            "settings": settings.words(proof.winner),
            "ratio": looked.mean,
            "by_time": len(looked.ratios) < MOST_PAIRS,
        }
        yield Fact(UNPROVED, value, seen)
    seen = evidence("timed", "loading", seen=len(chosen.blocks))
    yield Fact(RECOMMENDED, recommended(chosen.plan.but(batch_size=current.batch_size)), seen)
    yield from _speedup(settings, proof, current)
    tried = [r for _, r in sorted({**runners, **settings.dropped}.items())]
    seen = evidence("timed", "loading", seen=sum(len(r.blocks) for r in tried))
    yield Fact(TRIALS, [trial(r) for r in tried], seen)
    now = runners.get(proof.now)
    if now is not None and now.empty_handed:
        yield Fact(
            IDLE, now.empty_handed, evidence("counted", "loading", seen=now.plan.workers), {"workers": now.plan.workers}
        )
    belief = settings.ledger.belief
    if belief.again_s is not None and math.isfinite(belief.epoch):
        yield Fact(EPOCH_START, belief.again_s, evidence("timed", "loading", seen=1), {"samples": round(belief.epoch)})
    made = sorted(settings.served.made_anew)
    if made:
        yield Fact(REMADE, made, evidence("counted", "loading", seen=len(made)))
    ended = "converged" if explorer.missed is None else "out of time"
    yield Fact(ENDED, ended, evidence("counted", "loading"), {"refused": bool(settings.out)})
    yield from curve(settings, explorer, proof.best.persistent)
    yield Fact(SEARCHED, round(time.monotonic() - settings.bench.begun, 3), evidence("timed", "loading", seen=1))


def untimed(settings: Settings, explorer: Explorer, current: LoaderPlan) -> Iterator[Observation]:
    """What a batch read in this process predicts, where time held no block of any setting; nothing of workers that were started and did
    not deliver."""
    belief, now, silent = settings.ledger.belief, label(current), settings.bench.silent
    if current.workers and (settings.in_vain or silent is not None):
        if silent is not None and settings.bench.facts.find(STUCK) is None:
            yield silent
        yield Fact(ENDED, "out of time", evidence("counted", "loading"), {"refused": False})
        return
    rate, low, high = belief.told(now, 1.0)
    seen = evidence("derived", "loading", interval=(low, high), derived_from=("batch_costs",))
    yield Fact(THROUGHPUT, rate, seen, {**point(now), "batch_size": current.batch_size})
    yield Fact(RECOMMENDED, recommended(current), evidence("derived", "loading", derived_from=("batch_costs",)))
    yield Fact(SPEEDUP, 1.0, evidence("derived", "loading", derived_from=("throughput",)))
    yield Fact(ENDED, "out of time", evidence("counted", "loading"), {"refused": False})
    best = max(explorer.counts(), key=lambda s: (belief.predicted(s), -s.workers))
    mean, low, high = belief.told(best, rate)
    if mean >= WORTH and low >= 1 / WORTH:
        seconds = settings.ledger.trial_s(best) + settings.ledger.proof_s(best, now)
        at = {**point(best), "seconds": round(max(1.0, seconds), 1), "settings": settings.words(best)}
        found = evidence("derived", "loading", interval=(low, high), derived_from=("throughput",))
        yield Fact(PREDICTED, mean, found, at)


def curve(settings: Settings, explorer: Explorer, persistent: bool) -> Iterator[Observation]:
    """The model's prediction at each number of workers that was weighed, after all blocks were seen, but for those that were started in
    vain; ``persistent``: of workers that are kept between epochs, as the best setting's are."""
    if not settings.runners:
        return
    missed = [] if explorer.missed is None else [explorer.missed.setting]
    tried = max(setting.workers for setting in (*settings.tried, *missed))
    rows, ran = [], {key.workers for key in (*settings.runners, *settings.dropped)}
    for setting in explorer.counts():
        if setting.workers >= settings.most and setting.workers not in ran:
            continue
        if setting.workers <= max(2 * tried, 2 * round(settings.served.cpus), 4):
            kept = bool(setting.workers) and (persistent or setting.persistent)
            mean, low, high = settings.ledger.belief.told(setting._replace(persistent=kept), 1.0)
            row = {"num_workers": setting.workers, "persistent_workers": kept}
            rows.append({**row, "throughput": mean, "low": low, "high": high})
    yield Fact(CURVE, rows, evidence("derived", "loading", seen=len(settings.tried), derived_from=("throughput",)))


def recommended(plan: LoaderPlan) -> dict[str, Any]:
    keywords = {k: v for k, v in plan.keywords().items() if k != "timeout"}
    more = {"prefetch_factor": (plan.prefetch or 2) if plan.workers else None, "persistent_workers": plan.persistent}
    return {"settings": {**keywords, **more}, "workers": plan.workers}


def _speedup(settings: Settings, proof: Proof, current: LoaderPlan) -> Iterator[Observation]:
    if current.workers and settings.now.workers != current.workers:
        return  # a loader that does not run has no rate to compare with
    if proof.found.ratios:
        ratio, low, high = proof.found.told
        n = len(proof.found.ratios)
        yield Fact(
            SPEEDUP, ratio, evidence("timed", "loading", seen=n, interval=(low, high), spread=proof.found.spread)
        )
        return
    n = len(settings.runners[proof.best].blocks)
    yield Fact(SPEEDUP, 1.0, evidence("derived", "loading", seen=n, derived_from=("throughput",)))


def _missed(settings: Settings, explorer: Explorer, proof: Proof) -> Iterator[Observation]:
    """The setting not tried for lack of time, with its predicted gain and the seconds that it needs."""
    if explorer.missed is None:
        return
    setting, seconds = explorer.missed.setting, explorer.missed.seconds
    mean, low, high = settings.ledger.belief.told(setting, settings.rate(proof.best))
    if mean < WORTH or low < 1 / WORTH:  # what was timed since has taken away its promise
        return
    seen = evidence("derived", "loading", interval=(low, high), derived_from=("throughput",))
    at = {**point(setting), "seconds": round(max(1.0, seconds), 1), "settings": settings.words(setting)}
    yield Fact(PREDICTED, mean, seen, at)
    why = f"not tried for lack of time; predicted throughput {mean:.1f} times that of the best tried"
    yield Unknown(f"throughput at {settings.words(setting)}", f"{why} ({low:.1f} to {high:.1f})")


PROBES = (Loading,)
