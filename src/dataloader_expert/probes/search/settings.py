"""The settings that a search has tried: their living loaders, their blocks, and what became of those that failed.

A setting that raises, hangs, dies or takes the memory allowed is an outcome with its reason; the others go on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from dataloader_expert.conclusions import finding
from dataloader_expert.facts import Fact, Unknown
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.base import OVERFULL, Bench, Observation, evidence, loader_failed
from dataloader_expert.probes.search.belief import Setting
from dataloader_expert.probes.search.ledger import Ledger
from dataloader_expert.probes.search.memory_guard import Guard
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.trials import in_words, label
from dataloader_expert.probes.serving import Serving
from dataloader_expert.probes.sharding import copied


class Settings:
    """``runners`` run, each with its loader; ``dropped`` are out of the running, their blocks kept; ``failed`` did not
    run, with the reason; ``out`` are not to be tried again."""

    def __init__(self, bench: Bench, served: Serving, ledger: Ledger) -> None:
        self.bench, self.served, self.ledger = bench, served, ledger
        self.now = label(served.current)
        self.runners: dict[Setting, Runner] = {}
        self.dropped: dict[Setting, Runner] = {}
        self.failed: dict[str, str] = {}
        self.out: set[Setting] = set()
        self.step_s, self.collate_s = 0.0, 0.0
        self.trying: Runner | None = None
        self.guard = Guard(bench.limit_bytes, self._pids)
        self.most: float = math.inf
        """So many workers failed for want of memory or descriptors: as many are not tried again."""
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

    def _with(self, workers: int) -> LoaderPlan:
        """The present plan with so many workers; a prefetch factor of the user's own stays."""
        plan = self.served.current
        if workers == plan.workers:
            return plan
        return plan.but(workers=workers, prefetch=plan.prefetch if plan.workers and workers else None)

    def _plan(self, setting: Setting) -> LoaderPlan:
        plan = self._with(setting.workers)
        if not setting.workers or label(plan) == setting:
            return plan
        return plan.but(prefetch=setting.prefetch, in_order=setting.in_order)

    def _try(self, plan: LoaderPlan) -> Runner | None:
        """A new setting's first block; None where it does not run."""
        setting, until = label(plan), None
        if self.served.user_loader is None:  # the user's own loader keeps its own choice
            plan = plan.but(persistent=plan.workers > 0)
        runner = Runner(
            plan, self.served, step_s=self.step_s, rounds=self.ledger.rounds(plan.workers), fine=self.ledger.fine,
            collate_s=self.collate_s, copies=max(1, plan.workers) if copied(self.bench) else 1,
            patience=self.ledger.patience,
        )  # fmt: skip
        if self.ledger.deadline is not None:
            until = max(self.ledger.deadline, time.monotonic() + 2 * self.ledger.trial_s(setting))
        try:
            if not self._block(runner, until):
                return None
        except Exception as e:  # the user's code, torch or the system may refuse: an outcome, not the end
            waits = runner.waiting_for() if "timed out after" in str(e) else ""
            stacks = self.bench.ask_stacks(runner.pids[:2]) if "timed out after" in str(e) else ""
            runner.close()
            if setting == self.now and not plan.workers:
                raise
            self.broken.append((e, plan.workers, waits, stacks))
            last = str(e).strip().splitlines()[-1][:200] if str(e).strip() else ""
            self.failed[in_words(setting)] = f"{type(e).__name__}: {last}"
            return None
        self.runners[setting] = runner
        return runner

    def _block(self, runner: Runner, until: float | None) -> bool:
        """One block; whether it came to its end: workers that took the memory allowed are ended, and not tried again."""
        self.trying = runner
        try:
            rate = runner.block(self.ledger.timed_s, until)
            self.ledger.belief.observe(label(runner.plan), rate * runner.copies)
            self.ledger.ran(label(runner.plan), runner)
            return True
        except Exception:
            # once the guard has killed workers: torch's RuntimeError, or a pipe that broke in their midst
            if not self.guard.tripped:
                raise
        finally:
            self.trying = None
        workers, taken = runner.plan.workers, self.guard.tripped
        self.failed[f"{workers} workers and more"], self.guard.tripped = taken, ""
        self.most = min(self.most, workers)
        if self.guard.alone:
            self.overfull = taken
        spared = None if self.guard.alone else self.now  # by themselves the present ones ran
        for key in [k for k, r in self.runners.items() if r is runner or (k.workers > workers and k != spared)]:
            self.runners.pop(key).close()
        runner.close()
        return False

    def _timed(self, runner: Runner, paced: bool = False) -> float:
        """Samples/s of one more block, ``paced`` as the consumer gets them.

        Raises:
            TimeoutError: if its workers were ended for their memory.
        """
        self.bench.progress(f"comparing {in_words(label(runner.plan))}", None)
        if not self._block(runner, None):
            raise TimeoutError
        return runner.paced[-1] if paced else runner.blocks[-1]

    def _end(self, key: Setting) -> None:
        """A setting is out of the running: its blocks are kept, its workers end."""
        self.dropped[key] = self.runners.pop(key)
        self.dropped[key].close()

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
