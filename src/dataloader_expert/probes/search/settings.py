"""The settings that a search has tried: their running loaders, their blocks, and the reasons of those that failed.

A setting that raises, hangs, dies or uses up the allowed memory is recorded with its reason; the search goes on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from dataloader_expert.facts import Fact, Unknown
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import OVERFULL, Bench, Observation, evidence, in_worker, loader_failed
from dataloader_expert.probes.delivery import LEAVE_S, killed_by
from dataloader_expert.probes.search.ledger import Ledger
from dataloader_expert.probes.search.living import TooSlow
from dataloader_expert.probes.search.memory_guard import Guard
from dataloader_expert.probes.search.pairing import interval
from dataloader_expert.probes.search.progress import waiting_for
from dataloader_expert.probes.search.runner import Runner, cycle
from dataloader_expert.probes.search.setting import Setting, in_words, label
from dataloader_expert.probes.search.sparing import can_spare
from dataloader_expert.probes.search.stuck import hang, stuck
from dataloader_expert.probes.search.tap import Took
from dataloader_expert.probes.search.thresholds import PAIRS
from dataloader_expert.probes.serving import Serving
from dataloader_expert.probes.sharding import copied

LAST_SHARE = 0.8
"""A block of a comparison ends after this share of the time left: one in which an epoch begins may take far longer than those
before, and what the search found must still be told."""


class Raises(Exception):
    """A sample raised, and perhaps only some do; its cause is what was raised."""


class Settings:
    """``runners`` are in contention, each with its loader; ``dropped`` are not, but keep their blocks; ``failed`` did
    not run, with the reason; ``out`` must not be tried again."""

    def __init__(self, bench: Bench, served: Serving, ledger: Ledger, pairs: int = PAIRS) -> None:
        self.bench, self.served, self.ledger, self.pairs = bench, served, ledger, pairs
        self.now = label(served.current)
        self.runners: dict[Setting, Runner] = {}
        self.dropped: dict[Setting, Runner] = {}
        self.failed: dict[str, str] = {}
        self.out: set[Setting] = set()
        self.step_s, self.collate_s = 0.0, 0.0
        self.trying: Runner | None = None
        self.guard = Guard(bench.limit_bytes, self.pids)
        self.most: float = math.inf
        """So many workers failed for lack of memory or descriptors: as many are not tried again."""
        self.overfull = ""
        self.broken: list[tuple[Exception, int, str, str]] = []
        """What was raised, at how many workers, what these then waited for, and their stacks."""
        self.told_why = False
        self.stuck: Fact | None = None
        """What the present workers do that delivered nothing."""
        self.in_vain = False
        """Whether the present workers were started and delivered too little in their time."""

    def pids(self) -> tuple[list[int], list[int]]:
        """The active workers, and those paused meanwhile."""
        working = self.trying
        return (
            [] if working is None else working.pids,
            [pid for runner in list(self.runners.values()) if runner is not working for pid in runner.pids],
        )

    def every(self) -> list[Runner]:
        return [*self.runners.values(), *self.dropped.values()]

    def close(self) -> None:
        every = self.every()
        for runner in every:
            runner.dismiss()
        until = time.monotonic() + LEAVE_S
        for runner in every:
            runner.close(until)

    def slowest(self) -> list[Took]:
        """The samples that took longest in any setting's processes, in descending order, each once."""
        took = sorted(
            {t for runner in self.every() for w in range(max(1, runner.plan.workers)) for t in runner.tap.slowest(w)}
        )
        return sorted({t.sample: t for t in took}.values(), reverse=True)

    def raised(self) -> dict[int, str]:
        """The samples that raised in any setting's processes."""
        return {i: text for runner in self.every() for i, text in runner.tap.raised().items()}

    def with_workers(self, workers: int) -> LoaderPlan:
        """The present plan with so many workers; the user's own prefetch factor and persistence stay."""
        plan = self.served.current
        if workers == plan.workers:
            return plan
        kept = plan.persistent or self.served.user_loader is None  # the user's own loader keeps its own choice
        prefetch = plan.prefetch if plan.workers and workers else None
        return plan.but(workers=workers, prefetch=prefetch, persistent=kept and workers > 0)

    def plan_of(self, setting: Setting) -> LoaderPlan:
        plan = self.with_workers(setting.workers)
        if not setting.workers or label(plan) == setting:
            return plan
        return plan.but(prefetch=setting.prefetch, in_order=setting.in_order, persistent=setting.persistent)

    def words(self, setting: Setting) -> str:
        return in_words(setting, label(self.served.current))

    @property
    def tried(self) -> set[Setting]:
        """Settings that were tried or must not be."""
        return {*self.runners, *self.dropped, *self.out}

    def rate(self, setting: Setting) -> float:
        """Samples/s of a running setting."""
        return interval(self.runners[setting].blocks)[0]

    def paced(self, setting: Setting) -> float:
        """Samples/s of a running setting, at the consumer's pace."""
        return interval(self.runners[setting].paced)[0]

    def level(self, setting: Setting) -> float:
        """Samples/s of a setting that runs, at the consumer's pace, allowing for the luck of its blocks."""
        runner = self.runners[setting]
        rate, size = self.ledger.belief.level(setting) / runner.copies, runner.batch_samples
        return size / cycle(size / rate, self.step_s, setting.workers)

    def best(self) -> Setting | None:
        return max(self.runners, key=self.level, default=None)

    def run(self, plan: LoaderPlan) -> Runner | None:
        """A new setting's first block; None if it does not run."""
        setting, belief = label(plan), self.ledger.belief
        present = setting == self.now
        runner = Runner(
            plan, self.served, step_s=self.step_s, rounds=self.ledger.rounds(plan.workers), fine=self.ledger.fine,
            collate_s=self.collate_s, sample=(belief.cpu, belief.waits),
            copies=max(1, plan.workers) if copied(self.bench) else 1, stream=belief.stream,
            whole=belief.epoch if belief.stream and (self.served.batched or belief.batch_size > 1) else math.inf,
            usual_s=belief.again_s,
            patience=self.ledger.patience + belief.start.seconds(plan.workers, belief.cpus),
            last=self.ledger.last - self.ledger.spared(present, plan.workers),
        )  # fmt: skip
        try:
            if not self.block(runner, self.ledger.by(present, plan.workers)):
                return None
        except TooSlow as e:
            self.most = min(self.most, plan.workers)
            if present:
                self.in_vain = True
                self.stuck = stuck(self.bench, runner, belief, time.perf_counter() - runner._begun)
                if self.stuck is not None and hang(self.stuck.value):
                    self.most = 0
            runner.close()
            self.failed[self.words(setting)] = str(e)
            return None
        except Exception as e:  # the user's code, torch or the system may fail: the search goes on
            if (
                not self.served.spares
                and can_spare(self.bench, self.served.dataset, e)
                and not self.served.copies(plan)
            ):
                runner.close()
                raise Raises from e
            waits = waiting_for(runner.pids) if "timed out after" in str(e) else ""
            stacks = self.bench.ask_stacks(runner.pids[:2]) if "timed out after" in str(e) else ""
            runner.close()
            if present and not plan.workers:
                raise
            if not self.served.copies(plan) or in_worker(e):
                self.broken.append((e, plan.workers, waits, stacks))
            last = str(e).strip().splitlines()[-1][:200] if str(e).strip() else ""
            self.failed[self.words(setting)] = f"{type(e).__name__}: {last}"
            return None
        self.runners[setting] = runner
        return runner

    def block(self, runner: Runner, until: float | None) -> bool:
        """One block; returns whether it finished: workers that use up the allowed memory are stopped, not tried
        again."""
        self.trying = runner
        try:
            seconds = self.ledger.timed_s(label(runner.plan))
            runner.block(seconds, until)
            self.ledger.ran(label(runner.plan), runner)
            self._tell_epochs(runner)
            self._observe(runner, seconds)
            return True
        except Exception as e:  # the user's dataset, collate function or worker, which may raise anything
            signal = "" if self.guard.tripped else killed_by(runner.iterator)
            if signal and in_worker(e):
                e.args = (f"{str(e).strip()} [{signal}]",)
            if runner.timed and not self.served.spares and can_spare(self.bench, self.served.dataset, e):
                raise Raises from e
            # after the guard has killed workers: torch's RuntimeError, or a broken pipe
            if not self.guard.tripped:
                raise
        finally:
            self.trying = None
        workers, taken = runner.plan.workers, self.guard.tripped
        self.failed[f"num_workers={workers} and more"], self.guard.tripped = taken, ""
        self.most = min(self.most, workers)
        if self.guard.alone:
            self.overfull = taken
        spared = None if self.guard.alone else self.now  # the present workers alone did run
        for key in [k for k, r in self.runners.items() if r is runner or (k.workers > workers and k != spared)]:
            self.runners.pop(key).close()
        runner.close()
        return False

    def _observe(self, runner: Runner, seconds: float) -> None:
        """Tells the model of the block that was timed for so long; what is known of epochs may have changed the earlier ones."""
        rates = [rate * runner.copies for rate in runner.blocks]
        self.ledger.belief.observe(label(runner.plan), rates, seconds)

    def _tell_epochs(self, runner: Runner) -> None:
        """All learn from a runner whose epoch ended how long the stream is, and what an epoch begins with."""
        belief = self.ledger.belief
        if math.isfinite(runner.whole) and math.isinf(belief.epoch):
            belief.ends_after(runner.whole)
        runner.usual_s = belief.again_s
        for key, one in {**self.runners, **self.dropped}.items():
            one.usual_s = belief.again_s
            if one.stream and math.isinf(one.whole):
                one.whole = belief.epoch
            belief.correct(key, [rate * one.copies for rate in one.blocks])

    def timed(self, runner: Runner, paced: bool = False) -> float:
        """Samples/s of one more block, ``paced`` as the consumer gets them.

        Raises:
            TimeoutError: if its workers were stopped at the memory limit.
        """
        self.bench.progress(f"comparing {self.words(label(runner.plan))}", None)
        left = self.bench.left()
        if not self.block(runner, None if math.isinf(left) else time.monotonic() + LAST_SHARE * left):
            raise TimeoutError
        return runner.paced[-1] if paced else runner.blocks[-1]

    def end(self, key: Setting) -> None:
        """Drops a setting: its blocks are kept, its workers end."""
        self.dropped[key] = self.runners.pop(key)
        self.dropped[key].dismiss()

    def told_broken(self) -> Iterator[Observation]:
        for which, why in self.failed.items():
            yield Unknown(f"throughput at {which}", why)
        if self.overfull:
            yield Fact(OVERFULL, self.overfull, evidence("counted", "loading", seen=1), {"workers": self.most})
            self.overfull = ""
        if self.bench.source.format == "reference" and self.broken and not self.told_why:
            self.told_why = True  # once, for the first; the unknowns name the other settings
            yield from loader_failed(*self.broken[0])
        if self.stuck is not None:
            yield self.stuck
            self.stuck = None
        self.failed = {}
