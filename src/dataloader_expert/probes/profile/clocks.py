"""Clocks: wall and this thread's CPU, and the time for which this thread waited for a core."""

from __future__ import annotations

import os
import time

Spent = tuple[float, float, float]
"""Seconds: wall, CPU of this thread, waiting for a core. What is left of the wall is blocked."""
BLOCKED_LEAST_S = 30e-6
"""Off the CPU for less than this, nobody asks whether it was for a core: the counter costs a read."""


class QueueClock:
    """Seconds that this thread has waited for a core: Linux's schedstat; elsewhere always 0."""

    def __init__(self) -> None:
        try:
            self._fd: int | None = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self._fd = None

    def read(self) -> float:
        if self._fd is None:
            return 0.0
        parts = os.pread(self._fd, 64, 0).split()
        return int(parts[1]) / 1e9 if len(parts) > 1 else 0.0

    def __del__(self) -> None:
        if self._fd is not None:
            os.close(self._fd)


class StolenClock:
    """What a hypervisor gave to others of the CPUs that this process may use, since it was made: Linux's ``steal``
    (proc(5)); elsewhere always 0. A thread's counters hold such time neither as its CPU time nor as waiting for a core,
    so it would pass for time blocked."""

    def __init__(self) -> None:
        self._begun = _ticks()

    def rate(self) -> float:
        """Seconds taken for each that the CPUs computed."""
        taken, computed = (b - a for a, b in zip(self._begun, _ticks(), strict=True))
        return taken / computed if computed > 0 else 0.0


def _ticks() -> tuple[int, int]:
    try:
        with open("/proc/stat") as file:
            return ticks_in(file.read(), os.sched_getaffinity(0))
    except (OSError, AttributeError):
        return 0, 0


def ticks_in(stat: str, cpus: set[int]) -> tuple[int, int]:
    """Ticks that were taken from these CPUs, and those in which they computed."""
    names, taken, computed = {f"cpu{n}" for n in cpus}, 0, 0
    for line in stat.splitlines():
        name, *counts = line.split()
        if name in names and len(counts) > 7:
            user, nice, system, _, _, irq, softirq, steal = map(int, counts[:8])
            taken, computed = taken + steal, computed + user + nice + system + irq + softirq
    return taken, computed


def apart(spent: list[Spent], rate: float) -> list[Spent]:
    """The same with what a hypervisor took, ``rate`` for each CPU second of all, as waiting for a core. When it did is not
    known: of what seems blocked each gives the same part."""
    cpu, blocked = sum(c for _, c, _ in spent), sum(max(0.0, w - c - q) for w, c, q in spent)
    part = min(1.0, rate * cpu / blocked) if blocked else 0.0
    return [(w, c, q + part * max(0.0, w - c - q)) for w, c, q in spent]


class Laps:
    """This thread's time split into stages: what passes between two laps belongs to the stage that the second names.

    ``spent`` sums them by stage; ``each`` holds ``(index, wall, CPU, waiting for a core)`` of every sample closed.
    """

    def __init__(self, rest: str) -> None:
        self.rest = rest
        self._queue = QueueClock()
        self.begin()

    def begin(self) -> None:
        """Forgets what was, and starts the clocks."""
        self.spent: dict[str, Spent] = {}
        self.each: list[tuple[int, float, float, float]] = []
        self._whole: Spent = (0.0, 0.0, 0.0)
        self._closed: Spent = (0.0, 0.0, 0.0)
        self._waited = self._queue.read()
        self._wall, self._cpu = time.perf_counter(), time.thread_time()

    def lap(self, stage: str) -> None:
        wall, cpu = time.perf_counter(), time.thread_time()
        took, busy, queue = wall - self._wall, cpu - self._cpu, 0.0
        if took - busy > BLOCKED_LEAST_S:
            waited = self._queue.read()
            queue, self._waited = min(took - busy, waited - self._waited), waited
        self._wall, self._cpu = wall, cpu
        self.spent[stage] = plus(self.spent.get(stage, (0.0, 0.0, 0.0)), (took, busy, queue))
        self._whole = plus(self._whole, (took, busy, queue))

    def sample(self, index: int) -> None:
        """Closes a sample: what its stages did not claim is ``rest``."""
        self.lap(self.rest)
        done, self._closed = self._closed, self._whole
        self.each.append((index, *(b - a for a, b in zip(done, self._whole, strict=True))))  # type: ignore[arg-type]  # three of three


def plus(one: Spent, other: Spent) -> Spent:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def now() -> tuple[float, float]:
    return time.perf_counter(), time.thread_time()


def since(begun: tuple[float, float]) -> tuple[float, float]:
    return time.perf_counter() - begun[0], time.thread_time() - begun[1]
