"""Whether workers make progress: use CPU, wait for a core or read something. Without progress for long enough they hang."""

from __future__ import annotations

import contextlib
import os
import time

from dataloader_expert.probes.profile.instrumentation import task_times

LOCKED_S = 4.0
"""Seconds without progress after which workers that all wait for a lock count as hanging; others may be starting or
waiting for something external, and get more time."""
LOOK_S = 0.5
"""Seconds between two checks of workers that deliver nothing."""
STILL_S = 1e-3
"""CPU seconds between two checks that do not count as progress: a polling thread uses as much."""
FUTEX = ("202", "98")
"""Numbers of the system call futex, on x86-64 and on arm64."""


class Watch:
    """Watches workers while a batch is awaited; ``read`` is the number of samples that they have read."""

    def __init__(self, pids: list[int], read: int, patience: float) -> None:
        self.pids, self.patience = pids, patience
        self.begun = self.moved = self.looked = time.monotonic()
        self.seen = active_s(pids), read

    def hangs(self, read: int) -> float:
        """Seconds without progress, if they amount to a hang; else 0."""
        now = time.monotonic()
        if now - self.looked < LOOK_S:
            return 0.0
        self.looked, last, self.seen = now, self.seen, (active_s(self.pids), read)
        if self.seen[0] - last[0] > STILL_S or self.seen[1] != last[1]:
            self.moved = now
        still = now - self.moved
        return still if still > self.patience or (still > LOCKED_S and waiting_for(self.pids)) else 0.0


def cpu_s(pids: list[int]) -> float:
    """CPU seconds of these processes' main threads so far."""
    return sum(task_times(f"/proc/{pid}/schedstat")[0] for pid in pids)


def active_s(pids: list[int]) -> float:
    """Seconds that these processes' main threads have run so far, or waited for a core: on a busy machine that takes long."""
    return sum(sum(task_times(f"/proc/{pid}/schedstat")) for pid in pids)


def waiting_for(pids: list[int]) -> str:
    """``a lock`` if every thread of every worker is blocked on one and none uses CPU; else empty."""
    before = [cpu_s([p]) for p in pids]
    time.sleep(0.2)  # long enough to see a process that computes
    after = [cpu_s([p]) for p in pids]
    still = bool(before) and all(b - a < STILL_S for a, b in zip(before, after, strict=True))
    return "a lock" if still and all(map(_in_futex, pids)) else ""


def _in_futex(pid: int) -> bool:
    """Whether each thread of a process waits for a lock: judged by its system call or, if that is hidden, by its wait
    channel. The thread that feeds torch's queue waits for one whenever it has nothing to send."""
    tasks: list[str] = []
    with contextlib.suppress(OSError):
        tasks = os.listdir(f"/proc/{pid}/task")
    found = [_thread_in_futex(f"/proc/{pid}/task/{task}") for task in tasks]
    return bool(found) and all(found)


def _thread_in_futex(task: str) -> bool:
    for name, known in (("syscall", FUTEX), ("wchan", ("futex",))):
        with contextlib.suppress(OSError), open(f"{task}/{name}") as f:
            text = f.read().strip()
            if text not in ("", "0", "running"):
                return text.split()[0].startswith(known)
    return False
