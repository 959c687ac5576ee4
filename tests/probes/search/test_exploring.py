"""Which settings are tried next, on stores that answer as they are told to."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dataloader_expert.plan import LoaderPlan, SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.search.belief import Belief
from dataloader_expert.probes.search.exploring import REACH, Explorer
from dataloader_expert.probes.search.ledger import Ledger
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.setting import Setting, label
from dataloader_expert.probes.search.settings import Settings
from dataloader_expert.probes.serving import serving
from dataloader_expert.sources.registry import open_source
from tests.making import users
from tests.making.shared import CHECKOUT

ALONE, EACH = 35.0, 36.0
"""Samples/s of the main process, and of each worker."""


class Answers(Settings):
    """Workers get what a store answers that serves 8, and beyond those fewer, or nothing (``refuses``)."""

    refuses = False
    asked: list[int]

    def run(self, plan: LoaderPlan) -> Runner | None:
        n = plan.workers
        self.asked.append(n)
        if n > 8 and self.refuses:
            self.broken.append((RuntimeError("DataLoader timed out after 5 seconds without progress"), n, "", ""))
            return None
        runner = self.runners[label(plan)] = Runner(plan, self.served)
        runner.timed = [(ALONE if not n else EACH * min(n, 8) * min(1.0, (8 / n) ** 2), True)]
        self.ledger.belief.observe(label(plan), runner.blocks)
        return runner


def explored(refuses: bool, seconds: float | None = None) -> Answers:
    ref = SourceRef(f"{Path(users.__file__)}:Fine", (str(CHECKOUT),), code=True)
    until = time.monotonic() + 60
    bench = Bench(open_source(ref, []), ref, 0, until, lambda index: None, lambda message, share: None, cpus=2)
    deadline = None if seconds is None else time.monotonic() + seconds
    settings = Answers(bench, serving(bench, 8, 0), Ledger(bench, deadline, 0.1))
    settings.refuses, settings.asked = refuses, []
    settings.ledger.belief = Belief([(1e-3, 0.026)], 8, 2.0)
    settings.run(settings.served.current)
    list(Explorer(settings, 64).explore())
    return settings


@pytest.mark.parametrize("refuses", [False, True])
def test_what_too_many_workers_make_slower_or_fail_is_found_with_fewer(refuses: bool) -> None:
    """Seen: 30 workers were tried first and were slower than none, and the search had converged; a store that does not answer so many
    ended it as well."""
    settings = explored(refuses)
    assert max(settings.runners, key=settings.rate).workers == 8
    assert 8 in settings.asked[:4] and len(settings.asked) <= 8


def test_the_first_trial_is_not_the_farthest() -> None:
    """Seen: on a busy machine the trial of 30 workers, which took four seconds to start, was the only one that there was time for."""
    settings = explored(False)
    assert all(n <= REACH * max(1, *settings.asked[:i]) for i, n in enumerate(settings.asked) if i)


def test_a_small_gain_is_not_proved_in_place_of_trying_for_a_large_one() -> None:
    """Seen: what a trial had gained, a third, would have taken so many pairs to prove that no time was left to try the setting which
    gained sevenfold."""
    settings = explored(False)
    ledger, now, found, far = settings.ledger, Setting(0, 0), Setting(2, persistent=True), Setting(8, persistent=True)
    ledger.belief.observe(found, [1.1 * ALONE])
    ledger.deadline = time.monotonic() + ledger.trial_s(far) + 2 * (ledger.block_s(far) + ledger.block_s(now))
    settings.bench.deadline = ledger.deadline
    assert ledger.fits(far, now, found, gain=5.0) and not ledger.fits(far, now, found, gain=0.05)
