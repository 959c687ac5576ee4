"""The choice of the next trial: the largest expected gain per second, until no gain is worth a change or time is up."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass

from dataloader_expert.facts import Unknown
from dataloader_expert.probes.base import Observation
from dataloader_expert.probes.search.belief import numbers
from dataloader_expert.probes.search.limits import bound
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.setting import Setting, label
from dataloader_expert.probes.search.settings import Settings
from dataloader_expert.probes.search.thresholds import ALIKE, WORTH, most_workers
from dataloader_expert.probes.sharding import copied

LIKELY = 0.5
"""The share of the idle time caused by in-order delivery that a deeper prefetch or no order is expected to recover:
half, as any share is equally likely."""
REACH = 8
"""A trial has at most so many times as many workers as have run: what starting them takes, and whether what they wait for serves so many,
is seen with fewer first, in a fraction of the time."""


@dataclass(frozen=True)
class Missed:
    """The setting that would have been tried next, and the seconds that its trial and proof take."""

    setting: Setting
    seconds: float


@dataclass
class Explorer:
    """``missed`` is None if the search has converged."""

    settings: Settings
    max_workers: int | None
    missed: Missed | None = None

    def explore(self) -> Iterator[Observation]:
        """Trials, one after another; then fewer workers, if they should be as fast."""
        settings, ledger = self.settings, self.settings.ledger
        while (best := settings.best()) is not None:
            options = [(self._gain(s, best), ledger.trial_s(s), s) for s in self._candidates(best)]
            worth = [o for o in options if o[0] > WORTH - 1]
            fits = [o for o in worth if ledger.fits(o[2], settings.now, best, o[0])]
            if fits:
                yield from self._trial(max(fits, key=lambda o: o[0] / o[1])[2])
                continue
            if worth:
                most = max(worth)[0]
                _, seconds, setting = min((o for o in worth if ALIKE * o[0] >= most), key=lambda o: o[2])
                self.missed = Missed(setting, seconds + ledger.proof_s(setting, settings.now))
                return
            fewer = self._fewer(best)
            if fewer is None or not ledger.fits(fewer, settings.now, best):
                return
            yield from self._trial(fewer)

    def _trial(self, setting: Setting) -> Iterator[Observation]:
        """One block at a setting, if it fits on the machine."""
        settings = self.settings
        plan, words = settings.plan_of(setting), settings.words(setting)
        limit = bound(settings.bench, plan)
        if limit is not None:
            settings.out.add(setting)
            if setting.prefetch == label(settings.with_workers(setting.workers)).prefetch:  # else too deep
                settings.most = min(settings.most, setting.workers)
                words = f"num_workers={setting.workers} and more"
            yield Unknown(f"throughput at {words}", limit)
            return
        settings.bench.progress(f"trying {words}", None)
        before = len(settings.broken)
        if settings.run(plan) is None:
            settings.out.add(setting)
            for error, _, waits, _ in settings.broken[before:]:
                again, work = len(settings.broken) > 1, any(key.workers for key in settings.runners)
                # fewer workers may run, as a store that is asked by fewer may answer; what waits for a lock, or fails at two numbers of
                # workers, fails at any number, unless some do run
                never = waits or (again and not isinstance(error, OSError))
                settings.most = 0 if never and not work else min(settings.most, setting.workers)

    def _candidates(self, best: Setting) -> list[Setting]:
        """Settings not yet tried: numbers of workers, persistent or not; where in-order delivery keeps workers idle,
        also a deeper prefetch or no order, at the best and the present number of workers."""
        settings, ledger = self.settings, self.settings.ledger
        half = [label(settings.with_workers(self._most() // 2))] if settings.most < math.inf else []
        found = [*self.counts(), *half]
        if math.isfinite(ledger.belief.epoch):
            found += [s._replace(persistent=True) for s in found if s.workers]
        for key in {best, settings.now} & settings.runners.keys():
            found += self._less_idle(key)
        reach = REACH * max(1, *(key.workers for key in (*settings.runners, *settings.dropped)))
        return sorted(
            s for s in {*found} - settings.tried if (s.workers < settings.most and s.workers <= reach) or not s.workers
        )

    def counts(self) -> list[Setting]:
        """The numbers of workers worth considering, with the present prefetch and order."""
        settings, most = self.settings, self._most()
        knee = min(most, settings.ledger.belief.knee())
        return [
            label(settings.with_workers(n)) for n in numbers(most, settings.served.cpus, knee, settings.now.workers)
        ]

    def _less_idle(self, key: Setting) -> list[Setting]:
        """The same workers, kept less idle by the order of delivery: a deeper prefetch, or no order."""
        if not self._unused(self.settings.runners[key]):
            return []
        freely = [key._replace(in_order=False)] if may_give_up_order() else []
        return [key._replace(prefetch=2 * key.prefetch), *freely]

    def _most(self) -> int:
        """The most workers worth trying: as allowed, and at most as many as an epoch has batches, or a stream samples."""
        most: float = most_workers(self.settings.served.cpus) if self.max_workers is None else self.max_workers
        if copied(self.settings.bench):
            most = min(most, 1)
        runners = self.settings.runners.values()
        parts = max((runner.whole if runner.stream else runner.length() for runner in runners), default=math.inf)
        return int(min(most, max(1, parts), self.settings.most))

    def _gain(self, setting: Setting, best: Setting) -> float:
        """Expected improvement over the best, as a share of it."""
        settings = self.settings
        level = settings.level(best)
        for plain in (setting._replace(prefetch=setting.prefetch // 2), setting._replace(in_order=True)):
            kept = settings.runners.get(plain)
            if plain != setting and kept is not None and self._unused(kept):
                return settings.level(plain) * (1 + LIKELY * self._unused(kept)) / level - 1
        return settings.ledger.belief.gain(setting, level)

    def _unused(self, runner: Runner) -> float:
        """The most to gain, as a share, if in-order delivery kept no worker idle; the cores limit it too."""
        if runner.plan.workers < 2 or not runner.plan.in_order:
            return 0.0
        held = runner.idle / (1 - min(0.9, runner.idle))
        ceiling = self.settings.ledger.belief.ceiling() / self.settings.rate(label(runner.plan)) - 1
        return max(0.0, min(held, ceiling))

    def _fewer(self, best: Setting) -> Setting | None:
        """The fewest workers expected to be as fast as the best, if fewer than those tried; else the largest smaller
        number that may be as fast."""
        settings, belief = self.settings, self.settings.ledger.belief
        level = min(settings.rate(best), belief.predicted(best)) if best.workers else settings.rate(best)
        alike = min(k.workers for k in settings.runners if ALIKE * settings.rate(k) >= level)
        most = min(alike, self._most())
        counts = [n for n in numbers(most, settings.served.cpus, belief.knee(), 0) if 0 < n < alike]
        plain = (
            best if best.in_order or not settings.now.in_order else best._replace(in_order=True)
        )  # each proves itself
        fewer = [s for n in counts if (s := replace_workers(plain, n)) not in settings.tried]
        expected = [s for s in fewer if ALIKE * belief.rate(s) >= level]
        now = settings.runners.get(settings.now)
        if now is not None and settings.now.workers < alike:  # the present workers may do as well if none is kept idle
            reach = settings.rate(settings.now) * (1 + self._unused(now))
            others = {*self._less_idle(settings.now)} - settings.tried
            expected += others if ALIKE * reach >= level else ()
        possible = [s for s in fewer if belief.ratio(s, level)[2] >= 1]
        return min(expected) if expected else max(possible, default=None)


def replace_workers(setting: Setting, workers: int) -> Setting:
    """The same setting with another number of workers; torch's defaults if it had no workers."""
    return setting._replace(workers=workers) if setting.workers else Setting(workers)


def may_give_up_order() -> bool:
    """Whether this torch knows ``in_order`` (2.6 on)."""
    from torch.utils.data import DataLoader

    return "in_order" in inspect.signature(DataLoader.__init__).parameters
