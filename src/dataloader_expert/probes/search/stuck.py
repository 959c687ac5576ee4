"""Workers that delivered nothing in their time, although samples come in this process: what they do meanwhile."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from typing import Any

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import POOLS, Bench, evidence, user_line
from dataloader_expert.probes.profile.instrumentation import task_times
from dataloader_expert.probes.search.belief import SCALES, Belief
from dataloader_expert.probes.search.runner import Runner

STUCK = Quantity("stuck_workers", "", "how long the present workers delivered nothing, and what they did meanwhile")
LOOK_S = 0.3
"""Seconds for which the workers' threads are watched."""
WORKS = 0.1
"""The share of the time of a look from which workers compute, or wait for a core."""


def stuck(bench: Bench, runner: Runner, belief: Belief, seconds: float) -> Fact | None:
    """What the workers of a trial do that have delivered nothing in so many seconds."""
    n, pids = runner.plan.workers, runner.pids
    if not n or not pids or runner.delivered[1] or any(count.samples for count in runner.counts()):
        return None
    alone_s = runner.plan.batch_size * (belief.cpu + belief.waits) + belief.collate_s
    return at_work(bench, pids, seconds, alone_s, own_init(runner.loader), belief.start.seconds(n, belief.cpus))


def at_work(
    bench: Bench, pids: Sequence[int], seconds: float, alone_s: float, init: str | None, starts_s: float = 0.0
) -> Fact:
    """What workers do that have delivered nothing in so many seconds. ``late``: that is longer than they take to start, and a batch by
    what samples take in this process (``alone_s``), however much slower they are in a worker."""
    n = len(pids)
    late = seconds > starts_s + max(SCALES) * max(1.0, n / bench.cpus) * alone_s
    before = times(pids)
    time.sleep(LOOK_S)  # over which the threads' times are compared
    after = times(pids)
    spent = [(b[0] - a[0], b[1] - a[1]) for key, b in after.items() if (a := before.get(key)) is not None]
    stacks = bench.ask_stacks([*pids[:2]])
    value: dict[str, Any] = {
        "seconds": round(seconds, 2),
        "late": late,
        "alone_s": round(alone_s, 4),
        "threads": max((sum(pid == one for pid, _ in after) for one in pids), default=0),
        "cpu_s": round(sum(cpu for cpu, _ in spent), 4),
        "queue_s": round(sum(queue for _, queue in spent), 4),
        "cpus": bench.cpus,
        "where": user_line(stacks),
        "pool": any(word in stacks for word in POOLS),
        "init": init,
    }
    return Fact(STUCK, value, evidence("timed", "loading", seen=n), {"workers": n})


def hang(value: dict[str, Any]) -> bool:
    """Whether workers as ``at_work`` saw them hang: they have had time enough, and neither compute nor wait for a core."""
    return bool(value["late"]) and value["cpu_s"] + value["queue_s"] < WORKS * LOOK_S


def own_init(loader: Any) -> str | None:
    """The name of the user's worker_init_fn."""
    given = getattr(loader, "worker_init_fn", None)
    own = getattr(given, "own", given)
    return None if own is None else getattr(own, "__name__", type(own).__name__)


def times(pids: Sequence[int]) -> dict[tuple[int, str], tuple[float, float]]:
    """Seconds that each thread of these processes has run, and has waited for a core."""
    found: dict[tuple[int, str], tuple[float, float]] = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # it may have ended
            for task in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):
                    found[pid, task] = task_times(f"/proc/{pid}/task/{task}/schedstat")
    return found
