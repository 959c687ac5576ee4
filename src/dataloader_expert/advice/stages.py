"""Stages of a sample: which of them the present loader goes through, and which take too much."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.workers import settings
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.profile.stage import STAGE


def taken(facts: Facts) -> list[Fact]:
    """The stages that a sample goes through in the present loader: transport only with workers, pinning if asked."""
    current, _ = settings(facts)
    present = current or {"num_workers": 0, "pin_memory": False}
    left_out = {"worker_transfer"} if not present["num_workers"] else set()
    left_out |= {"pin"} if not present["pin_memory"] else set()
    return [f for f in facts.all(STAGE) if f.at["stage"] not in left_out]


def cpu_and_waits(facts: Facts) -> tuple[float, float]:
    """CPU and blocked milliseconds of a sample before its transport."""
    stages = [f.value for f in facts.all(STAGE) if f.at["stage"] != "worker_transfer"]
    return sum(v["cpu_ms"] for v in stages), sum(v["wait_ms"] for v in stages)


def latency(facts: Facts) -> Iterator[Finding]:
    """B36: reading waits most of its time."""
    for fact in facts.all(STAGE):
        v = fact.value
        if fact.at["stage"] not in ("read", "unattributed") or v["ms"] <= 0.5 or v["wait_ms"] <= 0.5 * v["ms"]:
            continue
        text = f"{fact.at['stage']} waits {v['wait_ms']:.2f} of {v['ms']:.2f} ms a sample"
        fix = "more workers than cores help: they wait at the same time"
        yield finding("latency-bound", "info", text, fact, fix)


def collating(facts: Facts) -> Iterator[Finding]:
    """B52: collate takes a quarter of a sample's CPU time."""
    collate = facts.find(STAGE, stage="collate")
    spent, lasts = (sum(f.value[of] for f in taken(facts)) for of in ("cpu_ms", "ms"))
    if collate is None or collate.value["cpu_ms"] <= max(0.05, 0.25 * spent, 0.1 * lasts):
        return
    text = f"collate takes {collate.value['cpu_ms'] / spent:.0%} of the CPU time of a sample"
    fix = "stack arrays in one call; move per-sample work into __getitem__, where workers share it"
    yield finding("slow-collate", "warning", text, collate, fix, cost=collate.value["cpu_ms"] / spent)


RULES: tuple[Rule, ...] = (latency, collating)
