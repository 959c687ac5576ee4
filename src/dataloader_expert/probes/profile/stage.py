"""A stage's times per sample, as a fact."""

from __future__ import annotations

import math

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import evidence
from dataloader_expert.probes.clocks import Spent

STAGE = Quantity("stage", "ms", "time per sample in a stage: wall, CPU, blocked, waiting for a core")


def stage_fact(name: str, spent: list[Spent], stacks: int | None = None) -> Fact:
    """Mean times per sample in ms with a 95 % interval of the wall time; ``stacks``: the number that divided them, if
    any."""
    n = len(spent)
    wall = [1e3 * w for w, _, _ in spent]
    mean = sum(wall) / n
    sd = math.sqrt(sum((w - mean) ** 2 for w in wall) / (n - 1)) if n > 1 else 0.0
    half = 1.96 * sd / math.sqrt(n)
    cpu = 1e3 * sum(c for _, c, _ in spent) / n
    queue = 1e3 * sum(q for _, _, q in spent) / n
    queue = min(queue, max(0.0, mean - cpu))
    value = {"ms": mean, "cpu_ms": min(cpu, mean), "wait_ms": max(0.0, mean - cpu - queue), "queue_ms": queue}
    if stacks is not None:
        value["stacks"] = stacks
    bounds = (max(0.0, mean - half), mean + half) if n > 1 else None
    return Fact(STAGE, value, evidence("timed", "stages", seen=n, interval=bounds), {"stage": name})
