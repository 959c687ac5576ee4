"""What the measuring process cannot see itself: the machine's limits, its CPU quota, the page cache, how it ended.

The parent process reads these numbers; here they become facts.
"""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.errors import RequestError
from dataloader_expert.facts import Evidence, Fact, Quantity

MACHINE = Quantity("machine", "", "cores, memory and shared memory available to the measurement")
THROTTLED = Quantity("cpu_throttled", "", "share of scheduling periods in which the CPU quota was used up")
PAGE_CACHE = Quantity("page_cache", "B", "page cache of the container, and how much reading added to it")
FAILED = Quantity("failed", "", "why the measurement ended early")


def machine(cpus: float, memory_bytes: int, shm_bytes: int) -> Fact:
    value = {"cpus": cpus, "memory_bytes": memory_bytes, "shm_bytes": shm_bytes}
    return Fact(MACHINE, value, Evidence("counted", "surroundings"))


def throttling(before: tuple[int, int], after: tuple[int, int]) -> Iterator[Fact]:
    """How often a CPU quota paused the processes; ``before``, ``after``: periods, and periods with the quota used
    up."""
    periods, stopped = after[0] - before[0], after[1] - before[1]
    if periods > 0:
        yield Fact(THROTTLED, round(stopped / periods, 4), Evidence("counted", "surroundings", seen=periods))


def cache_growth(before: tuple[int, int, int], after: tuple[int, int, int]) -> Iterator[Fact]:
    """Page cache of a container with a limit; ``before`` and ``after``: page cache, anonymous memory, limit."""
    cache, anon, limit = after
    if limit:
        value = {
            "cache_bytes": cache,
            "grown_bytes": cache - before[0],
            "limit_bytes": limit,
            "anon_grown_bytes": anon - before[1],
        }
        yield Fact(PAGE_CACHE, value, Evidence("counted", "surroundings", seen=1))


def failed(error: RequestError) -> Fact:
    return Fact(FAILED, error.to_json(), Evidence("counted", "door", seen=1))
