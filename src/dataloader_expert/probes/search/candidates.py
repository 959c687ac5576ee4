"""Numbers of workers that promise something, from what a sample costs: before any is tried."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST, MOST_WAITING = 16, 16
"""Workers tried where nothing else is asked: in all, and per CPU where samples wait rather than compute."""
COMPUTES, WAITS = 0.2, 0.5
"""Shares of a sample's time in which it waits: up to the first the CPUs bound it, from the second on waiting does."""
HIDES = 2.5
"""Workers that hide the waiting, per one that would if all went evenly: batches are handed on in order, so a worker that
is early waits for its turn."""
SHARED, SIDE_BY_SIDE = 1.3, 1.6
"""Where as many workers as CPUs gain less than the first over none, they wait in turn: more would queue for the same. One
block each says so only beyond the second: many workers that queue, or few that need not, cost more than further blocks."""
HELD_UP, STEP_BACK = 1.5, 0.75
"""Workers for each that is at work at a time (Little's law), and the share of those tried from which on fewer are not
worth a trial."""
BUSY = 0.6
"""The share of the CPUs in use from which on these bound what many workers deliver, not what they wait for."""


@dataclass(frozen=True)
class Costs:
    """CPU and blocked seconds of a sample."""

    cpu: float = 0.0
    waits: float = 0.0

    @property
    def waiting(self) -> float:
        """The share of a sample's time in which it waits."""
        return self.waits / (self.cpu + self.waits) if self.cpu + self.waits else 0.0


def first_step(cpus: int) -> int:
    """The fewest workers that show whether samples wait side by side: as many as CPUs, and more than one."""
    return max(2, cpus)


def candidates(costs: Costs, cpus: int, asked: int | None, dear: bool) -> list[int]:
    """Workers to try, the fewest first: 0, the CPUs and twice as many; where samples wait, what hides the waiting.

    Args:
        cpus: CPUs of this process.
        asked: the most that are allowed, if the request says so.
        dear: whether a batch takes so long that steps on the way are left out.
    """
    waiting = costs.waiting
    most = asked if asked is not None else max(MOST, MOST_WAITING * cpus) if waiting > WAITS else MOST
    if waiting <= COMPUTES:
        grown = [n for n in (1, cpus, 2 * cpus) if n <= most]
        return sorted({0, *(grown[1:2] if dear else grown)})
    busy = cpus / max(1e-3, 1 - waiting)
    if waiting > WAITS:
        return sorted({0, min(first_step(cpus), most), min(most, math.ceil(HIDES * busy))})
    enough = min(most, math.ceil(1.5 * busy))
    doubled = [cpus * 2**k for k in range(1, 8) if cpus * 2**k < enough]
    return sorted({0, cpus, *doubled[-1:], enough} & set(range(most + 1)))


def fewer(costs: Costs, cpus: int, workers: int, rate: float) -> int | None:
    """How many would do where a store serves only so many at a time; None where all of them count.

    Args:
        rate: samples/s that ``workers`` deliver.
    """
    if rate * costs.cpu >= BUSY * cpus:
        return None
    enough = math.ceil(HELD_UP * rate * (costs.cpu + costs.waits))
    return enough if first_step(cpus) < enough < STEP_BACK * workers else None
