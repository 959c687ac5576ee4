"""Workers of the present settings that delivered nothing in their time, although samples come in this process: what they do meanwhile."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from typing import Any

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, evidence, user_line
from dataloader_expert.probes.profile.instrumentation import task_times
from dataloader_expert.probes.search.belief import SCALES, Belief
from dataloader_expert.probes.search.runner import Runner

STUCK = Quantity("stuck_workers", "", "how long the present workers delivered nothing, and what they did meanwhile")
LOOK_S = 0.3
"""Seconds for which the workers' threads are watched."""


def stuck(bench: Bench, runner: Runner, belief: Belief, seconds: float) -> Fact | None:
    """What the workers of a trial do that have delivered nothing in so many seconds; ``late``: that is longer than a batch takes by what
    samples take in this process, however much slower they are in a worker."""
    n, size, pids = runner.plan.workers, runner.plan.batch_size, runner.pids
    if not n or not pids or runner.delivered[1] or any(count.samples for count in runner.counts()):
        return None
    alone_s = size * (belief.cpu + belief.waits) + belief.collate_s
    started_s = belief.start.seconds(n, belief.cpus)
    late = seconds > started_s + max(SCALES) * max(1.0, n / belief.cpus) * alone_s
    before = times(pids)
    time.sleep(LOOK_S)  # over which the threads' times are compared
    after = times(pids)
    spent = [(b[0] - a[0], b[1] - a[1]) for key, b in after.items() if (a := before.get(key)) is not None]
    given = getattr(runner.loader, "worker_init_fn", None)
    own = getattr(given, "own", given)
    value: dict[str, Any] = {
        "seconds": round(seconds, 2),
        "late": late,
        "alone_s": round(alone_s, 4),
        "threads": max((sum(pid == one for pid, _ in after) for one in pids), default=0),
        "cpu_s": round(sum(cpu for cpu, _ in spent), 4),
        "queue_s": round(sum(queue for _, queue in spent), 4),
        "cpus": belief.cpus,
        "where": user_line(bench.ask_stacks(pids[:2])),
        "init": None if own is None else getattr(own, "__name__", type(own).__name__),
    }
    return Fact(STUCK, value, evidence("timed", "loading", seen=n), {"workers": n})


def times(pids: Sequence[int]) -> dict[tuple[int, str], tuple[float, float]]:
    """Seconds that each thread of these processes has run, and has waited for a core."""
    found: dict[tuple[int, str], tuple[float, float]] = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # it may have ended
            for task in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):
                    found[pid, task] = task_times(f"/proc/{pid}/task/{task}/schedstat")
    return found
