"""Throughput of real DataLoaders: settings that a model of the costs calls for, timed in alternating blocks.

Method: a few samples tell CPU and waiting, hence how many workers can pay (``candidates``); the settings are grown from the
present one and 0 workers upwards. Each keeps its loader alive, held at a gate while another runs; blocks alternate, so
that a slow spell of the machine hits all alike, and what is clearly slower gets no more of them. The winner is checked
against the present setting in fresh pairs. Ratios come from neighbouring blocks; intervals are Student's t on their logarithms,
those of a throughput say where a further run falls.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from dataloader_expert.conclusions import finding
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import OVERFULL, Bench, Observation, Probe, TooDear, evidence, loader_failed
from dataloader_expert.probes.model.batch import STEP
from dataloader_expert.probes.search.candidates import (
    HIDES,
    SHARED,
    SIDE_BY_SIDE,
    WAITS,
    Costs,
    candidates,
    fewer,
    first_step,
)
from dataloader_expert.probes.search.costs import sample_costs
from dataloader_expert.probes.search.limits import bound
from dataloader_expert.probes.search.memory_guard import Guard
from dataloader_expert.probes.search.runner import T99, Runner, gated, interval
from dataloader_expert.probes.search.trials import STARTUP, TRIALS, in_words, label, throughput_fact, trial
from dataloader_expert.probes.serving import Serving, serving

SPEEDUP = Quantity(
    "speedup",
    "x",
    "samples/s that the step (if known) gets at the recommended settings over the present ones, by pairs",
)
RECOMMENDED = Quantity("recommended_settings", "", "the cheapest settings that nothing tried beats")
CURRENT = Quantity("current_settings", "", "the settings in use, or torch's defaults")
UNPROVED = Quantity("unproved_gain", "x", "what looked faster, but not surely so: workers, and how many times as fast")
SEARCHED = Quantity("searched", "s", "time from the start of the request until the recommendation was checked")
ORDERING = Quantity(
    "ordering",
    "",
    "share of waiting in which the order kept a worker idle, and what giving it up gains there, by pairs",
)

FIT_OURS, FIT_YOURS = 1 / 25, 1 / 16
"""The share of the probe's time that a batch may take: three blocks of three settings and a check, each of several
batches; of the user's own loader, which is left as it is while that can be, three blocks."""
WORTH = 1.05
"""The least gain worth a change: its interval's lower end must exceed this."""
ALIKE = 1.03
"""Settings whose means differ by less cannot be told apart: the cheaper is taken."""
CLEAR = 1.1
"""From here on the means decide, unless one round alone made them differ; nearer to one every round must say the same."""
BEHIND = 0.8
"""A setting whose first block is slower than this share of the best gets no more blocks."""
DOUBTFUL = 0.6
"""One that is behind by less than this is heard a second time: the first block of a new loader may be a cold one."""
PAIRS, LEAST_PAIRS = 8, 3
"""Fresh pairs of blocks in which a winner must show its gain."""
LEAST_BATCHES = 6
"""Batches in three blocks, with those that are dropped."""
CHECK_S = 5.0
"""Seconds that a check may take though the search's own are spent, where the budget holds them."""
SURE = 1.25
"""A gain whose lower end is beyond this needs no further pair."""
DOUBT_S, DOUBT_SHARE = 12.0, 0.3
"""Seconds from the start of the request until which a gain that is seen but not sure gets more pairs, and the share of what
is left of the budget that these may take."""
ROUNDS = 3
"""Blocks of every setting that is in the running after its first."""
OVERTAKEN, HELD = 0.3, 0.1
"""The shares of waiting with a worker idle for the order from which on giving it up, and a deeper prefetch, are tried."""
AT_EASE = 0.8
"""The share of what a worker delivers at the best from which on it is not slowed by the others."""
ORDER_S = 4.0
"""Seconds after which no further pair shows what giving up the order gains."""
WAITING_ROUNDS = 4
"""Rounds of a block where samples wait: workers that were let go together deliver together, so fewer rounds end anywhere."""


@dataclass(frozen=True)
class Loading(Probe):
    """``batch_size``, ``num_workers`` None: the user's loader's, else torch's defaults; ``search`` False: as it is."""

    name: ClassVar[str] = "loading"
    batch_size: int | None = None
    num_workers: int | None = None
    max_workers: int | None = None
    search: bool = True
    share: float = 0.9
    most_s: float = 300.0
    block_s: float = 0.25
    pairs: int = PAIRS
    local_world_size: int = 1
    step_ms: float | None = None
    also: tuple[int, ...] = ()
    """Numbers of workers to try whether or not they promise anything: a forecast is fitted on them."""

    def measure(self, bench: Bench) -> Iterable[Observation]:
        served = serving(bench, self.batch_size, self.num_workers)
        deadline = bench.until(self.share, self.most_s)
        current, fit = served.current, FIT_OURS if served.user_loader is None else FIT_YOURS
        room = min(bench.left(), self.most_s)
        if served.fit(bench, fit * self.share * room):
            size = served.current.batch_size
            why = f"a batch of {current.batch_size} takes long: throughput was measured with batches of {size}"
            yield Unknown("throughput at the full batch size", why)
        if LEAST_BATCHES * served.batch_s > self.share * bench.left():
            raise TooDear(
                f"three blocks at the present settings take {LEAST_BATCHES * served.batch_s:.0f} s: raise budget_s"
            )
        yield Fact(CURRENT, {**current.keywords(), "made_by": served.made_by}, evidence("declared", "loading"))
        search = Search(self, bench, served, deadline)
        with contextlib.ExitStack() as ending:
            ending.enter_context(gated())
            ending.callback(search.close)
            ending.enter_context(search.guard.watching())
            search.step_s = self._step_s(bench, served, current)
            yield from search.grow()
            if self.search:
                search.refine()
            yield from search.settle()
            if not search.runners:
                raise TooDear("the budget ended before three blocks at the present settings: raise budget_s")
            yield from search.check(current)

    def _step_s(self, bench: Bench, served: Serving, current: LoaderPlan) -> float:
        """The consumer's step, in proportion where the batches measured are smaller; 0 where it is not known."""
        step: float = self.step_ms if self.step_ms is not None else bench.facts.value(STEP, 0.0)
        return step / 1e3 * served.current.batch_size / current.batch_size


def enough(ratios: list[float], pairs: int, room: bool) -> bool:
    """Whether no further pair is called for: the gain is beyond doubt, or there are as many as planned and nothing that
    is seen is left unproved, or no room. The level of 99 % leaves these looks at what came so far their reserve."""
    if len(ratios) < LEAST_PAIRS:
        return False
    mean, low, _ = interval(ratios, T99)
    if low > SURE:
        return True
    return len(ratios) >= pairs and (not room or low > WORTH or mean <= WORTH)


def surpasses(top: list[float], other: list[float]) -> bool:
    """Whether the faster of two settings can be told from the other, by their rates round by round."""
    gain = interval(top)[0] / interval(other)[0]
    ratios = [a / b for a, b in zip(top, other, strict=False)]
    return (gain > CLEAR and statistics.median(ratios) > ALIKE) or (gain > ALIKE and min(ratios) > 1)


class Search:
    """Settings tried so far, by label; ``failed`` those that did not run, with the reason."""

    def __init__(self, asked: Loading, bench: Bench, served: Serving, deadline: float | None) -> None:
        self.asked, self.bench, self.served, self.deadline = asked, bench, served, deadline
        self.now = label(served.current)
        self.runners: dict[tuple[int, int, bool], Runner] = {}
        self.dropped: dict[tuple[int, int, bool], Runner] = {}
        self.failed: dict[str, str] = {}
        self.step_s = 0.0
        self.costs = Costs()
        self.cpus = max(1, int(bench.cpus / asked.local_world_size))
        self.trying: Runner | None = None
        self.guard = Guard(bench.limit_bytes, self._pids)
        self.most: float = math.inf
        """The number of workers that were ended for their memory: so many are not tried again."""
        self.overfull = ""
        self.broken: list[tuple[Exception, int, str, str]] = []
        """What was raised at how many workers, what these then waited for, and where."""
        self.told_why = False

    def _pids(self) -> tuple[list[int], list[int]]:
        """The workers at work, and those that are held meanwhile."""
        working = self.trying
        return (
            [] if working is None else working.pids,
            [pid for runner in list(self.runners.values()) if runner is not working for pid in runner.pids],
        )

    def close(self) -> None:
        for runner in [*self.runners.values(), *self.dropped.values()]:
            runner.close()

    @property
    def left(self) -> float:
        return math.inf if self.deadline is None else self.deadline - time.monotonic()

    def grow(self) -> Iterator[Observation]:
        """From the present setting and 0 workers upwards, as long as more still gains; then alternating blocks."""
        self.served.patience = max(4.0, min(20 * self.served.batch_s, 0.3 * self.bench.left()))
        self.costs = sample_costs(self.served, self.bench)
        self.bench.progress("timing the present settings", None)
        if self._try(self.served.current) is None:
            yield from self._told_broken()
            self.now = (0, 0, True)
            if self._try(self._with(0)) is None or (self.broken and not self.asked.search):
                raise self.broken[-1][0]
            if self.broken:
                return
        halved = {int(self.most) // 2} if self.most < math.inf else set()
        for workers in sorted({*self._candidates(), *self.asked.also, *halved}) if self.asked.search else []:
            plan = self._with(workers)
            if label(plan) in self.runners or workers == self.now[0]:
                continue
            if workers >= self.most or (workers > max((0, *self.asked.also)) and self._in_turn(workers)):
                break
            limit = bound(self.bench, plan)
            if limit is not None:
                yield Unknown(f"throughput at {workers} workers and more", limit)
                self._fewer(workers)
                break
            if not self._trial_fits():
                yield Unknown(f"throughput at {workers} workers and more", "the budget does not hold more blocks")
                break
            best = max(r.blocks[0] for r in self.runners.values())
            raised = len(self.broken)
            runner = self._grown(workers)
            if runner is None:
                if all(isinstance(error, OSError) for error, *_ in self.broken[raised:]):
                    self._fewer(workers)  # what hangs or raises does so again
                break
            if runner.blocks[0] < 0.75 * best and workers > max((1, *self.asked.also)):
                break
        self._step_back()
        if self.asked.search:
            yield from self._order()  # before what it is tried at may be dropped
        yield from self._told_broken()
        self._drop()

    def _in_turn(self, workers: int) -> bool:
        """Whether fewer workers gain so little that what they wait for serves one at a time; where one block each leaves that
        open, these get another."""
        few = first_step(self.cpus)
        if workers <= few or self.costs.waiting <= WAITS:
            return False
        alone = self.runners.get((0, 0, True))
        first = next((r for key, r in self.runners.items() if key[0] == few), None)
        if alone is None or first is None:
            return False
        if len(first.blocks) == 1 and first.blocks[0] < SIDE_BY_SIDE * alone.blocks[0]:
            self.bench.progress(f"timing {few} workers again", None)
            for runner in (alone, first):
                if not self._block(runner, self.deadline):
                    return False
        return max(first.blocks) < SHARED * max(alone.blocks)

    def _step_back(self) -> None:
        """Where what samples wait for serves only so many at a time, a trial of as many as it keeps at work."""
        if not self.asked.search or self.costs.waiting <= WAITS or not self.runners:
            return
        top = max(self.runners.values(), key=lambda r: r.blocks[0])
        workers = top.plan.workers
        enough = fewer(self.costs, self.cpus, workers, top.blocks[0])
        if enough is None or label(self._with(enough)) in self.runners:
            return
        if self.left > 2 * top.cost * enough / workers:  # its rounds are as much shorter, and so is the check
            runner = self._grown(enough)
            if runner is not None and CLEAR * runner.blocks[0] >= top.blocks[0] and label(top.plan) != self.now:
                self._end(label(top.plan))

    def _trial_fits(self) -> bool:
        """Whether the time left holds a further trial and the check of what it finds."""
        return self.left >= self._check_s() + 1.5 * max((r.cost for r in self.runners.values()), default=0.0)

    def _grown(self, workers: int) -> Runner | None:
        self.bench.progress(f"trying {workers} workers", None)
        return self._try(self._with(workers))

    def _fewer(self, workers: int) -> None:
        """Half as many as were refused, and so on, until some run."""
        known = max(key[0] for key in self.runners)
        while (workers := workers // 2) > known and self.left > self._check_s():
            if bound(self.bench, self._with(workers)) is None and self._grown(workers) is not None:
                return

    def _told_broken(self) -> Iterator[Observation]:
        for which, why in self.failed.items():
            yield Unknown(f"throughput at {which}", why)
        if self.overfull:
            fact = Fact(OVERFULL, self.overfull, evidence("counted", "loading", seen=1), {"workers": self.most})
            yield fact
            text = f"{self.overfull}: they were ended before all else was"
            fix = "fewer workers, or one copy for all: a memory map, or arrays made before workers are forked"
            yield finding("memory-limit-reached", "error", text, fact, fix)
            self.overfull = ""
        if self.bench.source.format == "reference" and self.broken and not self.told_why:
            self.told_why = True  # the first says it: of other settings the unknowns do
            yield from loader_failed(*self.broken[0])
        self.failed = {}

    def _drop(self) -> None:
        """Ends what is clearly slower than the best; the present setting stays for the comparison."""
        best = max((max(r.blocks) for r in self.runners.values()), default=0.0)
        for key, runner in list(self.runners.items()):
            if key == self.now or key not in self.runners or max(runner.blocks) >= BEHIND * best:
                continue
            if max(runner.blocks) >= DOUBTFUL * best and self.left > self._check_s() + runner.cost:
                if not self._block(runner, self.deadline) or runner.blocks[-1] >= BEHIND * best:
                    continue
            self._end(key)

    def _end(self, key: tuple[int, int, bool]) -> None:
        """A setting is out of the running: its blocks are kept, its workers end."""
        self.dropped[key] = self.runners.pop(key)
        self.dropped[key].close()

    def settle(self) -> Iterator[Observation]:
        """Alternating blocks of what is still in the running, the present setting only if it is; first of those two that
        the check compares, which get theirs though the search's time is spent, where the budget holds them."""
        best = max((max(r.blocks) for r in self.runners.values()), default=0.0)
        alive = [k for k, r in self.runners.items() if max(r.blocks) >= BEHIND * best]
        if len(alive) < 2 and self.now not in alive:
            return
        top = max(alive, key=lambda k: max(self.runners[k].blocks))
        sure = {self.now, top} if (ROUNDS - 1) * self.runners[top].cost < self._room() else {self.now}
        alive.sort(key=lambda k: k not in sure)
        end = None if self.deadline is None else time.monotonic() + self._room()
        for _ in range(ROUNDS - 1):
            for key in [k for k in alive if k in self.runners]:
                if key not in sure and len(self.runners[key].blocks) >= ROUNDS:
                    continue
                if key in sure or self.left > 0:
                    self.bench.progress(f"timing {key[0]} workers", None)
                    self._block(self.runners[key], end if key in sure else self.deadline)
        yield from self._told_broken()
        self._stand()
        for key in [
            k for k in alive if k in self.runners and len(self.runners[k].blocks) < ROUNDS
        ]:  # fewer blocks decide nothing
            self._end(key)
            yield Unknown(f"throughput at {in_words(key)}", f"the budget ended before its {ROUNDS} blocks")

    def _room(self) -> float:
        """Seconds for what the recommendation rests on: what is left of the search's, or more where the budget holds it."""
        return max(self.left, min(CHECK_S, 0.4 * self.bench.left()))

    def _doubt_s(self) -> float:
        """Seconds that remain for pairs beyond the usual number."""
        return min(self.bench.begun + DOUBT_S - time.monotonic(), DOUBT_SHARE * self.bench.left())

    def _stand(self) -> None:
        """The main process alone is what others are compared with, where the present workers were ended."""
        if self.now not in self.runners:
            self.now = (0, 0, True)
            if self.now not in self.runners:
                self._try(self._with(0))

    def _with(self, workers: int) -> LoaderPlan:
        plan = self.served.current
        return plan if workers == plan.workers else plan.but(workers=workers, prefetch=None)

    def _try(self, plan: LoaderPlan, until: float | None = None) -> Runner | None:
        """A new setting's first block, by ``until`` at the latest; None where it does not run."""
        if self.served.user_loader is None:  # the user's own loader keeps its own choice
            patience = self.served.patience if plan.workers else 0.0
            plan = plan.but(persistent=plan.workers > 0, timeout=patience)  # a hung worker is then an outcome
        rounds = WAITING_ROUNDS if plan.workers and self.costs.waiting > WAITS else 1
        runner = Runner(plan, self.served, step_s=self.step_s, rounds=rounds)
        if self.deadline is not None and until is None:
            until = self.deadline - self._check_s()  # a slow one does not take the check's time
        try:
            if not self._block(runner, until):
                return None
        except Exception as e:  # the user's code, torch or the system may refuse: an outcome, not the end
            waits = runner.waiting_for() if "timed out after" in str(e) else ""
            stacks = self.bench.ask_stacks(runner.pids[:2]) if "timed out after" in str(e) else ""
            runner.close()
            if label(plan) == self.now and not plan.workers:
                raise
            self.broken.append((e, plan.workers, waits, stacks))
            last = str(e).strip().splitlines()[-1][:200] if str(e).strip() else ""
            self.failed[in_words(label(plan))] = f"{type(e).__name__}: {last}"
            return None
        self.runners[label(plan)] = runner
        return runner

    def _block(self, runner: Runner, until: float | None) -> bool:
        """One block; whether it came to its end: workers that took the memory allowed are ended, and not tried again."""
        self.trying = runner
        try:
            runner.block(self.asked.block_s, until)
            return True
        except Exception:
            # once the guard has killed workers: torch's RuntimeError, or a pipe that broke in their midst
            if not self.guard.tripped:
                raise
        finally:
            self.trying = None
        workers, taken = runner.plan.workers, self.guard.tripped
        self.failed[f"{workers} workers and more"], self.guard.tripped = taken, ""
        if self.guard.alone:
            self.most, self.overfull = workers, taken
        spared = None if self.guard.alone else self.now  # by themselves the present ones ran
        for key in [k for k, r in self.runners.items() if r is runner or (k[0] > workers and k != spared)]:
            self.runners.pop(key).close()
        runner.close()
        return False

    def _candidates(self) -> list[int]:
        dear = self.served.batch_s > 0.02 * min(self.bench.left(), self.asked.most_s)
        return candidates(self.costs, self.cpus, self.asked.max_workers, dear)

    def _order(self) -> Iterator[Observation]:
        """Giving up the order, in pairs of blocks with what keeps it: where samples are uneven, few blocks decide nothing."""
        from dataloader_expert.loaders.building import may_give_up_order

        kept = self._held_back()
        if kept is None or not may_give_up_order():
            return
        plan = kept.plan.but(in_order=False)
        if self._spare() < (1 + 2 * LEAST_PAIRS) * kept.cost + (kept.startup or 0.0):
            return
        if bound(self.bench, plan) is not None:
            return
        free, begun = self._further(plan), time.monotonic()
        ratios: list[float] = []
        while free is not None and len(ratios) < PAIRS:
            if not all(self._block(r, None) for r in ((kept, free) if len(ratios) % 2 else (free, kept))):
                return
            ratios.append(free.blocks[-1] / kept.blocks[-1])
            if enough(ratios, PAIRS, room=False) or time.monotonic() - begun > ORDER_S:
                break
        if free is None or len(ratios) < LEAST_PAIRS:
            return
        gain = interval(ratios)
        value = {
            "overtaken": round(kept.overtaken, 4),
            "waited_s": round(kept.waited_s, 4),
            "gain": gain[0],
            "low": gain[1],
        }
        seen = evidence("timed", "loading", seen=len(ratios), interval=gain[1:], spread=(min(ratios), max(ratios)))
        yield Fact(ORDERING, value, seen, {"workers": kept.plan.workers, "prefetch": kept.plan.prefetch or 2})
        both = zip(free.paced[-len(ratios) :], kept.paced[-len(ratios) :], strict=True)
        if interval([f / k for f, k in both])[1] <= 1:
            self._end(label(plan))  # it costs repeatable runs, so it must surely gain

    def _held_back(self) -> Runner | None:
        """The most workers that the order keeps idle and that do not slow each other: those that do would gain nothing.
        Where samples wait and all do, as many as would hide the waiting if all went evenly."""
        keep = [r for r in self.runners.values() if r.plan.in_order and r.overtaken >= OVERTAKEN]
        eased = [r for r in keep if self._at_ease(r)]
        if eased or not keep or self.costs.waiting <= WAITS:
            return max(eased, key=lambda r: r.plan.workers, default=None)
        least = min(keep, key=lambda r: r.plan.workers)
        workers = math.ceil(least.plan.workers / HIDES)
        if workers in {key[0] for key in self.runners} or self._spare() < (2 + 2 * LEAST_PAIRS) * least.cost:
            return None
        fewer = self._further(self._with(workers))
        return fewer if fewer is not None and fewer.overtaken >= OVERTAKEN and self._at_ease(fewer) else None

    def _at_ease(self, runner: Runner) -> bool:
        """Whether each worker at work delivers about as much as with any other number of them."""
        each = [r.blocks[0] / r.at_work for r in self.runners.values() if r.at_work]
        return runner.at_work > 0 and runner.blocks[0] / runner.at_work >= AT_EASE * max(each)

    def _spare(self) -> float:
        """Seconds left for a further trial beside the check, which may have some of the budget's."""
        return max(self.left, min(self.left + CHECK_S, 0.6 * self.bench.left())) - self._check_s()

    def _further(self, plan: LoaderPlan) -> Runner | None:
        """A trial in what is spare: one cut short sooner would time batches that lay ready."""
        self.bench.progress(f"trying {in_words(label(plan))}", None)
        return self._try(plan, time.monotonic() + self._spare())

    def refine(self) -> None:
        """A deeper prefetch where batches come in bursts and the order holds some of them back."""
        runner = max(self.runners.values(), key=lambda r: r.blocks[0], default=None)
        if runner is None or runner.overtaken < HELD or not runner.bursty:
            return
        plan = runner.plan.but(prefetch=2 * label(runner.plan)[1])
        if label(plan) in self.runners or bound(self.bench, plan) is not None:
            return
        if self._spare() >= 3 * runner.cost + (runner.startup or 0.0):
            self._further(plan)
            self._drop()

    def _check_s(self) -> float:
        """Seconds that the check of a winner takes at the least; the present workers may have been ended."""
        costs = [r.cost for r in self.runners.values()]
        now = self.runners.get(self.now)
        return LEAST_PAIRS * ((now.cost if now is not None else 0.0) + max(costs, default=0.0))

    def cheapest(self) -> tuple[int, int, bool]:
        """The fewest workers and batches ready that no other setting beats by more than noise, at the consumer's pace."""
        rates = {key: r.paced for key, r in self.runners.items()}
        top = max(rates.values(), key=lambda paced: interval(paced)[0])
        return min((k for k, r in rates.items() if not surpasses(top, r)), key=lambda k: (k[0], k[1], not k[2]))

    def told(self) -> Iterator[Observation]:
        for runner in self.runners.values():
            if len(runner.blocks) >= ROUNDS:
                yield throughput_fact(runner)
                workers, prefetch, in_order = label(runner.plan)
                at = {"workers": workers, "prefetch": prefetch, "in_order": in_order}
                yield Fact(STARTUP, runner.startup, evidence("timed", "loading", seen=1), at)

    def check(self, current: LoaderPlan) -> Iterator[Observation]:
        """Fresh alternating blocks of the winner against the present setting; a gain counts only if these show it."""
        self._stand()
        best, ratios = self.cheapest(), []
        now = self.now
        if best != now:
            self.bench.progress("checking the recommended settings", None)
            pair = (self.runners[now], self.runners[best])
            dear = max(1e-3, sum(r.cost for r in pair))
            pairs = min(self.asked.pairs, max(LEAST_PAIRS, int(self._room() / dear)))
            if LEAST_PAIRS * dear > max(self.left, 0.5 * self.bench.left()):
                pairs = 0
                why = f"{best[0]} workers looked faster; the budget held no check of it: raise budget_s"
                yield Unknown("recommended", why)
            for i in itertools.count() if pairs else ():
                self.bench.progress(f"checking the recommended settings, pair {i + 1}", None)
                if not all(self._block(runner, None) for runner in (pair if i % 2 == 0 else pair[::-1])):
                    break
                ratios.append(self.runners[best].paced[-1] / self.runners[now].paced[-1])
                if enough(ratios, pairs, self._doubt_s() > dear):
                    break
            if not {best, now} <= self.runners.keys():
                yield from self._told_broken()
                self._stand()
                best, now, ratios = self.now, self.now, []
            elif len(ratios) < LEAST_PAIRS or interval(ratios, T99)[1] <= WORTH:
                both = zip(self.runners[now].paced, self.runners[best].paced, strict=False)
                looked = ratios or [b / a for a, b in both]
                seen = evidence("timed", "loading", seen=len(looked), spread=(min(looked), max(looked)))
                if interval(looked)[0] > 1:
                    yield Fact(UNPROVED, {"workers": best[0], "ratio": interval(looked)[0]}, seen)
                best, ratios = now, []
        if len(self.runners[now].blocks) < ROUNDS:
            for _ in range(ROUNDS - len(self.runners[now].blocks)):
                if not self._block(self.runners[now], None):
                    yield from self._told_broken()
                    raise TooDear("the present workers took the memory allowed")
        yield from self.told()
        chosen = self.runners[best]
        plan = chosen.plan.but(batch_size=current.batch_size)
        value = {
            "settings": {
                **{k: v for k, v in plan.keywords().items() if k != "timeout"},
                "prefetch_factor": (plan.prefetch or 2) if plan.workers else None,
                "persistent_workers": plan.persistent,
            },
            "workers": best[0],
        }
        yield Fact(RECOMMENDED, value, evidence("timed", "loading", seen=len(chosen.blocks)))
        if current.workers and self.now[0] != current.workers:
            pass  # a loader that does not run is no rate to compare with
        elif ratios:
            ratio, low, high = interval(ratios)
            seen = evidence(
                "timed", "loading", seen=len(ratios), interval=(low, high), spread=(min(ratios), max(ratios))
            )
            yield Fact(SPEEDUP, ratio, seen)
        else:
            seen = evidence("derived", "loading", seen=len(chosen.blocks), derived_from=("throughput",))
            yield Fact(SPEEDUP, 1.0, seen, {})
        tried = [*self.runners.values(), *self.dropped.values()]
        seen = evidence("timed", "loading", seen=sum(len(r.blocks) for r in tried))
        yield Fact(TRIALS, [trial(r) for r in tried], seen)
        yield Fact(SEARCHED, round(time.monotonic() - self.bench.begun, 3), evidence("timed", "loading", seen=1))


PROBES = (Loading,)
