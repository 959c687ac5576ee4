"""Throughput of real DataLoaders: settings that a model of the costs calls for, timed in alternating blocks.

Method: a few samples and a batch tell what they cost, hence what each setting would deliver (``belief``). What is tried next
is what promises most for the seconds that it takes, after every block anew, until nothing promises a gain that is worth
a change, or time is spent. Each setting keeps its loader alive, held at a gate while another runs; blocks alternate, so
that a slow spell of the machine hits all alike, and what is clearly slower gets no more of them. The winner is checked
against the present setting in fresh pairs (``pairing``).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import Bench, Observation, Probe, TooDear, evidence
from dataloader_expert.probes.model.batch import STEP
from dataloader_expert.probes.search.belief import Belief, Setting, numbers
from dataloader_expert.probes.search.costs import measured
from dataloader_expert.probes.search.ledger import Ledger
from dataloader_expert.probes.search.limits import bound
from dataloader_expert.probes.search.pairing import LEAST_PAIRS, WORTH, Paired, compare, interval
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.settings import Settings
from dataloader_expert.probes.search.tap import tapped
from dataloader_expert.probes.search.trials import STARTUP, TRIALS, in_words, label, throughput_fact, trial
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.sharding import copied

SPEEDUP = Quantity(
    "speedup",
    "x",
    "samples/s that the step (if known) gets at the recommended settings over the present ones, by pairs",
)
RECOMMENDED = Quantity("recommended_settings", "", "the cheapest settings that nothing tried beats")
CURRENT = Quantity("current_settings", "", "the settings in use, or torch's defaults")
UNPROVED = Quantity("unproved_gain", "x", "what looked faster, but not surely so: workers, and how many times as fast")
PREDICTED = Quantity(
    "predicted_gain", "x", "throughput that is predicted of a setting that time did not allow, over the best tried"
)
SEARCHED = Quantity("searched", "s", "time from the start of the request until the recommendation was checked")
ORDERING = Quantity(
    "ordering",
    "",
    "share of waiting in which the order kept a worker idle, and what giving it up gains there, by pairs",
)

ALIKE = 1.03
"""Settings whose means differ by less cannot be told apart: the cheaper is taken."""
BEHIND = 0.8
"""A setting whose blocks are all slower than this share of the best gets no more of them."""
PAIRS, MOST_PAIRS = 8, 64
"""Fresh pairs of blocks in which a winner must show its gain; more where it is seen, not proved, and there is time."""
ROUNDS = 3
"""Blocks of every setting that is in the running, with its first."""
FINE_S = 0.1
"""Seconds of a batch from which on samples are counted where they are read: rounds of such batches make a block long."""
MOST, MOST_WAITING = 16, 16
"""Workers tried where nothing else is asked: in all, and per CPU where samples wait rather than compute."""
HELD = 0.1
"""The share of the workers' time in which the order keeps them idle, from which on another order and depth are tried."""
ORDER_SHARE = 0.25
"""The share of the search's time left that pairs with and without the order may take."""


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
        current = served.current
        yield Fact(CURRENT, {**current.keywords(), "made_by": served.made_by}, evidence("declared", "loading"))
        search = Search(self, bench, served, deadline)
        with contextlib.ExitStack() as ending:
            ending.enter_context(tapped())
            ending.callback(search.close)
            ending.enter_context(search.guard.watching())
            search.learn(self._step_s(bench))
            yield from search.grow()
            yield from search.settle()
            if not search.runners:
                raise TooDear("the budget ended before a block at the present settings: raise budget_s")
            yield from search.check(current)

    def _step_s(self, bench: Bench) -> float:
        """Seconds of the consumer's step; 0 where it is not known."""
        step: float = self.step_ms if self.step_ms is not None else bench.facts.value(STEP, 0.0)
        return step / 1e3


def surpasses(top: list[float], other: list[float]) -> bool:
    """Whether the faster of two settings can be told from the other, by their rates round by round."""
    rounds = Paired([a / b for a, b in zip(top, other, strict=False)], worth=1.0)
    gain = interval(top)[0] / interval(other)[0]
    return gain > ALIKE and (min(rounds.ratios) > 1 or rounds.shown)


class Search(Settings):
    """Chooses the settings to try, and proves the winner."""

    def __init__(self, asked: Loading, bench: Bench, served: Serving, deadline: float | None) -> None:
        super().__init__(bench, served, Ledger(bench, deadline, asked.block_s))
        self.asked, self.cpus = asked, max(1, int(bench.cpus / asked.local_world_size))
        self.missed: tuple[Setting, float] | None = None
        """What would have been tried had there been time, and the seconds that it takes."""

    def learn(self, step_s: float) -> None:
        """What samples and a batch cost here, and hence how blocks are counted.

        Raises:
            TooDear: if three batches that cannot be counted sample by sample take longer than there is time.
        """
        self.bench.progress("timing single samples", None)
        seen, plan = measured(self.served, self.bench), self.served.current
        self.step_s, self.collate_s = step_s, seen.collate_s
        belief = Belief(seen.samples, plan.batch_size, self.cpus, seen.collate_s, step_s=step_s)
        read_s = plan.batch_size * seen.sample_s
        whole = read_s + seen.collate_s
        fine = seen.singly and self.served.batched and read_s > max(FINE_S, 4 * seen.collate_s)
        self.ledger.belief, self.ledger.fine, self.ledger.first_s = belief, fine, whole
        self.served.patience = self.ledger.patience
        if not fine and 3 * whole > self.ledger.room:
            raise TooDear(f"three batches at the present settings take {3 * whole:.0f} s: raise budget_s")

    def grow(self) -> Iterator[Observation]:
        """The present setting, then whatever promises most for the seconds that it takes."""
        self.bench.progress("timing the present settings", None)
        if self._try(self.served.current) is None:
            yield from self._told_broken()
            self.now = Setting(0, 0, True)
            if self._try(self._with(0)) is None or (self.broken and not self.asked.search):
                raise self.broken[-1][0]
            if self.broken:
                return
        if self.asked.search:
            for workers in self.asked.also:
                plan = self._with(workers)
                if label(plan) not in self.runners:
                    self._try(plan)
            yield from self._explore()
            yield from self._order()  # before what it is tried at may be dropped
        yield from self._told_broken()
        self._drop()

    def _explore(self) -> Iterator[Observation]:
        """Trials, each chosen by its expected gain per second, until none is worth a change or none fits."""
        while True:
            best = self._best()
            if best is None:
                return
            options = [(self._gain(s, best), self.ledger.trial_s(s), s) for s in self._candidates(best)]
            worth = [o for o in options if o[0] > WORTH - 1]
            fits = [o for o in worth if self.ledger.fits(o[2], self.now)]
            if not fits:
                fewer = self._fewer(best) if not worth else None
                if fewer is not None and self.ledger.fits(fewer, self.now):
                    yield from self._trial(fewer)
                    continue
                if worth:
                    most = max(worth)[0]
                    _, seconds, setting = min((o for o in worth if o[0] >= 0.9 * most), key=lambda o: o[2])
                    self.missed = (setting, seconds + self.ledger.proof_s(setting, self.now))
                return
            yield from self._trial(max(fits, key=lambda o: o[0] / o[1])[2])

    def _trial(self, setting: Setting) -> Iterator[Observation]:
        """One block at a setting, if the machine holds it."""
        plan = self._plan(setting)
        limit = bound(self.bench, plan)
        if limit is not None:
            self.out.add(setting)
            if setting == label(self._with(setting.workers)):  # else the depth is too much, not the workers
                yield Unknown(f"throughput at {setting.workers} workers and more", limit)
                self.most = min(self.most, setting.workers)
            else:
                yield Unknown(f"throughput at {in_words(setting)}", limit)
            return
        self.bench.progress(f"trying {in_words(setting)}", None)
        raised = len(self.broken)
        if self._try(plan) is None:
            self.out.add(setting)
            if any(not isinstance(error, OSError) for error, *_ in self.broken[raised:]):
                self.most = 0  # what hangs or raises in workers does so again
            elif self.broken[raised:]:
                self.most = min(self.most, setting.workers)

    def _best(self) -> Setting | None:
        return max(self.runners, key=self._paced, default=None)

    def _paced(self, setting: Setting) -> float:
        """Samples/s of a setting that runs, at the consumer's pace."""
        return interval(self.runners[setting].paced)[0]

    def _rate(self, setting: Setting) -> float:
        return interval(self.runners[setting].blocks)[0]

    def _candidates(self, best: Setting) -> list[Setting]:
        """Settings not yet tried: other numbers of workers; where the order keeps workers idle, a deeper prefetch."""
        most = self._most()
        counts = numbers(most, self.cpus, min(most, self.ledger.belief.knee()), self.now.workers)
        half = [most // 2] if self.most < math.inf else []
        found = [label(self._with(n)) for n in (*counts, *half)]
        held = (k for k in {best, self.now} & self.runners.keys() if k.in_order and self.runners[k].idle > HELD)
        found += [key._replace(prefetch=2 * key.prefetch) for key in held]
        tried = {*self.runners, *self.dropped, *self.out}
        known = {*found} - tried
        return sorted(s for s in known if s.workers < self.most or not s.workers)

    def _most(self) -> int:
        """The most workers that make sense: as allowed, and no more than an epoch has batches."""
        asked = self.asked.max_workers
        most = (
            asked
            if asked is not None
            else max(MOST, MOST_WAITING * self.cpus if self.ledger.belief.waiting > 0.2 else 0)
        )
        if copied(self.bench):
            most = min(most, 1)
        batches = max((runner.length() for runner in self.runners.values()), default=math.inf)
        return int(min(most, max(1, batches), self.most))

    def _gain(self, setting: Setting, best: Setting) -> float:
        """Expected improvement on the best, as a share of it."""
        level = self._paced(best)
        sibling = self.runners.get(setting._replace(prefetch=setting.prefetch // 2))
        if sibling is not None and setting.prefetch > 2 and sibling.idle > HELD:
            return (
                self._paced(label(sibling.plan)) * (1 + 0.5 * self._unused(sibling)) / level - 1
            )  # half, as likely as all
        return self.ledger.belief.gain(setting, level)

    def _unused(self, runner: Runner) -> float:
        """The most that would be gained if the order kept no worker idle, as a share: the cores bound it too."""
        held = runner.idle / (1 - min(0.9, runner.idle))
        return max(0.0, min(held, self.ledger.belief.ceiling() / interval(runner.blocks)[0] - 1))

    def _fewer(self, best: Setting) -> Setting | None:
        """The fewest workers that are expected to do as well as the best, where that is far fewer."""
        level, belief = self._rate(best), self.ledger.belief
        alike = min(k.workers for k in self.runners if ALIKE * self._rate(k) >= level)
        for workers in numbers(int(0.75 * alike), self.cpus, belief.knee(), 0):
            setting = label(self._with(workers))
            untried = not {setting} & {*self.runners, *self.dropped, *self.out}
            if workers and untried and ALIKE * belief.rate(setting) >= level:
                return setting
        return None

    def _drop(self) -> None:
        """Ends what is clearly slower than the best; the present setting stays for the comparison."""
        best = max((max(r.blocks) for r in self.runners.values()), default=0.0)
        for key in [k for k, r in self.runners.items() if k != self.now and max(r.blocks) < BEHIND * best]:
            self._end(key)

    def settle(self) -> Iterator[Observation]:
        """Alternating blocks of what is still in the running, the present setting too if it is; none where that is one."""
        best = max((max(r.blocks) for r in self.runners.values()), default=0.0)
        alive = [k for k, r in self.runners.items() if max(r.blocks) >= BEHIND * best]
        if len(alive) < 2:
            yield from self._told_broken()
            self._stand()
            return
        top = max(alive, key=lambda k: max(self.runners[k].blocks), default=None)
        alive.sort(key=lambda k: (k not in (self.now, top), k))
        for _ in range(ROUNDS - 1):
            for key in [k for k in alive if k in self.runners]:
                runner = self.runners[key]
                fits = self.ledger.left > self._check_s() or (key in (self.now, top) and self._spare() > runner.cost)
                if len(runner.blocks) < ROUNDS and fits:
                    self.bench.progress(f"timing {in_words(key)}", None)
                    self._block(runner, self._end_of(key))
        yield from self._told_broken()
        self._stand()
        for key in [k for k in alive if k in self.runners and k not in (self.now, top)]:
            if len(self.runners[key].blocks) < ROUNDS:  # fewer blocks decide nothing
                self._end(key)
                yield Unknown(f"throughput at {in_words(key)}", f"the budget ended before its {ROUNDS} blocks")

    def _spare(self) -> float:
        """Seconds that blocks may take beyond the check of what they find."""
        return self.ledger.room - self._check_s()

    def _end_of(self, key: Setting) -> float | None:
        """By when a block must end: what the recommendation rests on may take some of the budget's reserve."""
        if self.ledger.deadline is None:
            return None
        return self.ledger.deadline + (0.3 * max(0.0, self.bench.left()) if key == self.now else 0.0)

    def _stand(self) -> None:
        """The main process alone is what others are compared with, where the present workers were ended."""
        if self.now not in self.runners:
            self.now = Setting(0, 0, True)
            if self.now not in self.runners:
                self._try(self._with(0))

    def _order(self) -> Iterator[Observation]:
        """Giving up the order, in pairs of blocks with what keeps it: where samples are uneven, few blocks decide nothing."""
        from dataloader_expert.loaders.building import may_give_up_order

        kept = self._held_back()
        if kept is None or not may_give_up_order():
            return
        plan = kept.plan.but(in_order=False)
        if self.ledger.left < (ROUNDS + 2 * LEAST_PAIRS) * kept.cost + (kept.startup or 0.0) + self._check_s():
            return
        if bound(self.bench, plan) is not None:
            return
        self.bench.progress(f"trying {in_words(label(plan))}", None)
        free = self._try(plan)
        if free is None:
            return
        until = time.monotonic() + ORDER_SHARE * min(self.ledger.left, 60.0)
        found = compare(lambda: self._timed(free), lambda: self._timed(kept), PAIRS, until, worth=1.0)
        if not {label(plan), label(kept.plan)} <= self.runners.keys() or len(found.ratios) < LEAST_PAIRS:
            return
        gain, low, high = interval(found.ratios)
        value = {
            "overtaken": round(kept.overtaken, 4), "waited_s": round(kept.waited_s, 4), "gain": gain, "low": low,
        }  # fmt: skip
        seen = evidence("timed", "loading", seen=len(found.ratios), interval=(low, high), spread=found.spread)
        yield Fact(ORDERING, value, seen, {"workers": kept.plan.workers, "prefetch": kept.plan.prefetch or 2})
        n = len(found.ratios)
        paced = Paired([f / k for f, k in zip(free.paced[-n:], kept.paced[-n:], strict=True)], worth=1.0)
        if interval(paced.ratios)[1] <= 1:
            self._end(label(plan))  # it costs repeatable runs, so it must surely gain

    def _held_back(self) -> Runner | None:
        """The fastest of those that the order keeps idle, where giving it up may be worth it."""
        keep = [r for r in self.runners.values() if r.plan.workers > 1 and r.plan.in_order and r.idle > HELD]
        runner = max(keep, key=lambda r: r.blocks[0], default=None)
        return runner if runner is not None and self._unused(runner) > WORTH - 1 else None

    def _check_s(self) -> float:
        """Seconds that the check of a winner takes at the least; the present workers may have been ended."""
        costs = [r.cost for r in self.runners.values()]
        now = self.runners.get(self.now)
        return LEAST_PAIRS * ((now.cost if now is not None else 0.0) + max(costs, default=0.0))

    def cheapest(self) -> Setting:
        """The fewest workers and batches ready that no other setting beats by more than noise, at the consumer's pace."""
        rates = {key: r.paced for key, r in self.runners.items()}
        top = max(rates.values(), key=lambda paced: interval(paced)[0])
        return min((k for k, r in rates.items() if not surpasses(top, r)), key=lambda k: (k[0], k[1], not k[2]))

    def told(self) -> Iterator[Observation]:
        for runner in self.runners.values():
            if len(runner.blocks) >= ROUNDS or len(self.runners) == 1:
                yield throughput_fact(runner)
                workers, prefetch, in_order = label(runner.plan)
                at = {"workers": workers, "prefetch": prefetch, "in_order": in_order}
                yield Fact(STARTUP, runner.startup, evidence("timed", "loading", seen=1), at)

    def check(self, current: LoaderPlan) -> Iterator[Observation]:
        """Fresh alternating blocks of the winner against the present setting; a gain counts only if these show it."""
        self._stand()
        best, now, found = self.cheapest(), self.now, Paired()
        if best != now:
            self.bench.progress("checking the recommended settings", None)
            present, chosen = self.runners[now], self.runners[best]
            dear = max(1e-3, present.cost + chosen.cost)
            room = self.ledger.room
            pairs = min(self.asked.pairs, int(room / dear))
            if pairs < LEAST_PAIRS:
                why = (
                    f"{in_words(best)} looked faster, but a check takes {LEAST_PAIRS * dear:.0f} s more: raise budget_s"
                )
                yield Unknown("recommended", why)
            else:
                until = time.monotonic() + room - 0.5 * dear
                found = compare(
                    lambda: self._timed(chosen, paced=True), lambda: self._timed(present, paced=True),
                    pairs, until, MOST_PAIRS,
                )  # fmt: skip
            if not {best, now} <= self.runners.keys():
                yield from self._told_broken()
                self._stand()
                best, now, found = self.now, self.now, Paired()
            elif not found.shown:
                both = zip(self.runners[now].paced, self.runners[best].paced, strict=False)
                looked = Paired(found.ratios or [b / a for a, b in both])
                seen = evidence("timed", "loading", seen=len(looked.ratios), spread=looked.spread)
                if looked.mean > 1:
                    yield Fact(UNPROVED, {"workers": best.workers, "ratio": looked.mean}, seen)
                best, found = now, Paired()
        for _ in range(ROUNDS - len(self.runners[now].blocks)):
            if self.bench.left() < 2 * self.runners[now].cost:
                break
            if not self._block(self.runners[now], None):
                yield from self._told_broken()
                raise TooDear("the present workers took the memory allowed")
        yield from self.told()
        yield from self._told_missed(best)
        chosen = self.runners[best]
        plan = chosen.plan.but(batch_size=current.batch_size)
        value = {
            "settings": {
                **{k: v for k, v in plan.keywords().items() if k != "timeout"},
                "prefetch_factor": (plan.prefetch or 2) if plan.workers else None,
                "persistent_workers": plan.persistent,
            },
            "workers": best.workers,
        }
        yield Fact(RECOMMENDED, value, evidence("timed", "loading", seen=len(chosen.blocks)))
        if current.workers and self.now.workers != current.workers:
            pass  # a loader that does not run is no rate to compare with
        elif found.ratios:
            ratio, low, high = interval(found.ratios)
            seen = evidence("timed", "loading", seen=len(found.ratios), interval=(low, high), spread=found.spread)
            yield Fact(SPEEDUP, ratio, seen)
        else:
            seen = evidence("derived", "loading", seen=len(chosen.blocks), derived_from=("throughput",))
            yield Fact(SPEEDUP, 1.0, seen, {})
        tried = [r for _, r in sorted({**self.runners, **self.dropped}.items())]
        seen = evidence("timed", "loading", seen=sum(len(r.blocks) for r in tried))
        yield Fact(TRIALS, [trial(r) for r in tried], seen)
        yield Fact(SEARCHED, round(time.monotonic() - self.bench.begun, 3), evidence("timed", "loading", seen=1))

    def _told_missed(self, best: Setting) -> Iterator[Observation]:
        """What time did not allow, with what is predicted of it and how much longer it takes."""
        if self.missed is None:
            return
        setting, seconds = self.missed
        mean, low, high = self.ledger.belief.ratio(setting, self._rate(best))
        seen = evidence("derived", "loading", interval=(low, high), derived_from=("throughput",))
        at = {"workers": setting.workers, "prefetch": setting.prefetch, "seconds": round(max(1.0, seconds), 1)}
        yield Fact(PREDICTED, mean, seen, at)
        why = f"the time did not hold this trial; predicted from what was timed: {mean:.1f} times the best tried"
        why += f" ({low:.1f} to {high:.1f})"
        yield Unknown(f"throughput at {in_words(setting)}", why)


PROBES = (Loading,)
