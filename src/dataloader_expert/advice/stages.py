"""The stages of a sample: which of them the present loader has, and which take too long."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.workers import settings
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.model.batch import COLLATE
from dataloader_expert.probes.profile.stage import STAGE


def taken(facts: Facts) -> list[Fact]:
    """The stages of the present loader: transport only with workers, pinning only with pin_memory."""
    current, _ = settings(facts)
    present = current or {"num_workers": 0, "pin_memory": False}
    left_out = {"worker_transfer"} if not present["num_workers"] else set()
    left_out |= {"pin"} if not present["pin_memory"] else set()
    return [f for f in facts.all(STAGE) if f.at["stage"] not in left_out]


def cpu_and_waits(facts: Facts) -> tuple[float, float]:
    """A sample's CPU and blocked time in milliseconds, without transport."""
    stages = [f.value for f in facts.all(STAGE) if f.at["stage"] != "worker_transfer"]
    return sum(v["cpu_ms"] for v in stages), sum(v["wait_ms"] for v in stages)


def latency(facts: Facts) -> Iterator[Finding]:
    """B36: reading spends most of its time waiting."""
    for fact in facts.all(STAGE):
        v = fact.value
        if fact.at["stage"] not in ("read", "unattributed") or v["ms"] <= 0.5 or v["wait_ms"] <= 0.5 * v["ms"]:
            continue
        text = f"{fact.at['stage']} waits {v['wait_ms']:.2f} of {v['ms']:.2f} ms per sample"
        fix = "use more workers than cores, so that waits overlap"
        yield finding("latency-bound", "info", text, fact, fix)


def collating(facts: Facts) -> Iterator[Finding]:
    """B52: collate takes a quarter of a sample's CPU time."""
    collate = facts.find(STAGE, stage="collate")
    spent, lasts = (sum(f.value[of] for f in taken(facts)) for of in ("cpu_ms", "ms"))
    if collate is None or collate.value["cpu_ms"] <= max(0.05, 0.25 * spent, 0.1 * lasts):
        return
    text = f"collate takes {collate.value['cpu_ms'] / spent:.0%} of a sample's CPU time"
    fix = "stack arrays in one call; move per-sample work into __getitem__, which workers run in parallel"
    if facts.value(COLLATE, {"name": ""})["name"] in ("default", "default_collate"):
        fix = "torch's default_collate only stacks: return few, small tensors in their final dtype, or make batches in __getitems__"
    yield finding("slow-collate", "warning", text, collate, fix, cost=collate.value["cpu_ms"] / spent)


RULES: tuple[Rule, ...] = (latency, collating)
