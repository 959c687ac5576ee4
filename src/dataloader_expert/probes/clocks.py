"""Clocks: wall time, this thread's CPU time, and the time that this thread waited for a core."""

from __future__ import annotations

import os
import time

Spent = tuple[float, float, float]
"""Seconds: wall, CPU of this thread, waiting for a core. The rest of the wall time is blocked."""
BLOCKED_LEAST_S = 30e-6
"""Below this time off the CPU the counter of waiting for a core is not read, as reading it costs too much."""


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
    """Time that a hypervisor took from the CPUs of this process since creation: Linux's ``steal`` (proc(5)); elsewhere
    always 0. A thread's counters include such time neither in CPU time nor in waiting for a core, so it would count as
    blocked."""

    def __init__(self) -> None:
        self._begun = _stolen_s()

    def read(self) -> float:
        """Seconds, summed over the CPUs."""
        return _stolen_s() - self._begun


def _stolen_s() -> float:
    try:
        with open("/proc/stat") as file:
            return stolen_ticks(file.read(), os.sched_getaffinity(0)) / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):
        return 0.0


def stolen_ticks(stat: str, cpus: set[int]) -> int:
    """What ``/proc/stat`` counts as stolen from these CPUs."""
    names = {f"cpu{n}" for n in cpus}
    rows = (line.split() for line in stat.splitlines())
    return sum(int(row[8]) for row in rows if len(row) > 8 and row[0] in names)


def apart(spent: list[Spent], rate: float) -> list[Spent]:
    """Moves stolen time, ``rate`` per CPU second overall, from blocked to waiting for a core. As it is unknown when it
    was stolen, the same share of each blocked time is moved."""
    cpu, blocked = sum(c for _, c, _ in spent), sum(max(0.0, w - c - q) for w, c, q in spent)
    part = min(1.0, rate * cpu / blocked) if blocked else 0.0
    return [(w, c, q + part * max(0.0, w - c - q)) for w, c, q in spent]


def helping(waits: float, cpu: float, others: float, cpus: float) -> float:
    """Of a thread's blocked seconds those in which it waited for ``others``, threads of its process that used so many CPU seconds:
    what they can have used while it ran itself, on the other cores, does not count."""
    return min(waits, max(0.0, others - max(0.0, cpus - 1) * cpu))


class Laps:
    """This thread's time split into stages: the time between two laps belongs to the stage that the second one names.

    ``spent``: sums by stage; ``each``: ``(index, wall, CPU, waiting for a core)`` of every finished sample.
    """

    def __init__(self, rest: str) -> None:
        self.rest = rest
        self._queue = QueueClock()
        self.begin()

    def begin(self) -> None:
        """Resets everything and starts the clocks."""
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
        """Finishes a sample: time that no stage claimed goes to ``rest``."""
        self.lap(self.rest)
        done, self._closed = self._closed, self._whole
        self.each.append((index, *(b - a for a, b in zip(done, self._whole, strict=True))))  # type: ignore[arg-type]  # three of three


def plus(one: Spent, other: Spent) -> Spent:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def now() -> tuple[float, float]:
    return time.perf_counter(), time.thread_time()


def since(begun: tuple[float, float]) -> tuple[float, float]:
    return time.perf_counter() - begun[0], time.thread_time() - begun[1]
