"""The facts about timed settings: throughput, blocks, and the settings themselves."""

from __future__ import annotations

from typing import Any

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import FIRST, Bench, evidence
from dataloader_expert.probes.search.pairing import interval
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.setting import Setting, label

THROUGHPUT = Quantity(
    "throughput",
    "samples/s",
    "samples per second that a DataLoader delivers at these settings; the interval is that of a further run",
)
TRIALS = Quantity("trials", "", "every setting tried, with its blocks")
STARTUP = Quantity("startup", "s", "time from creating the iterator to the first batch")
STARTING = Quantity("starting", "s", "time that workers take to start, without their first batch")

IDLE = Quantity("idle_workers", "workers", "workers that yielded nothing in a whole epoch of the stream")
EPOCH_START = Quantity(
    "epoch_start",
    "s",
    "time from the beginning of an epoch to its first batch where no worker starts, without reading that batch",
)


def throughput_fact(runner: Runner) -> Fact:
    mean, low, high = interval(runner.blocks, further=True)
    bounds = (low, high) if len(runner.blocks) > 1 else None
    seen = evidence(
        "timed", "loading", seen=len(runner.blocks), interval=bounds, spread=(min(runner.blocks), max(runner.blocks))
    )
    return Fact(THROUGHPUT, mean, seen, {**point(label(runner.plan)), "batch_size": batch_size(runner)})


def batch_size(runner: Runner) -> int:
    """Samples of a batch: as planned, or as the dataset makes them where torch makes none (``batch_size=None``)."""
    return runner.plan.batch_size if runner.serving.batched else max(1, round(runner.batch_samples))


def point(setting: Setting) -> dict[str, Any]:
    """The coordinates of a setting's facts."""
    workers, prefetch, in_order, persistent = setting
    return {"workers": workers, "prefetch": prefetch, "in_order": in_order, "persistent": persistent}


def trial(runner: Runner) -> dict[str, Any]:
    mean, low, high = interval(runner.blocks, further=True)
    bounds = (low, high) if len(runner.blocks) > 1 else (None, None)
    workers, prefetch, in_order, persistent = label(runner.plan)
    return {
        "num_workers": workers,
        "prefetch_factor": prefetch or None,
        "in_order": in_order,
        "persistent_workers": persistent,
        "batch_size": batch_size(runner),
        "throughput": {
            "value": mean,
            "unit": "samples/s",
            "low": bounds[0],
            "high": bounds[1],
            "n": len(runner.blocks),
            "how": "timed",
        },
        "blocks": [round(b, 1) for b in runner.blocks],
        "startup_s": runner.startup,
        "main_ms": round(1e3 * runner.main_s / max(1, runner.received), 4),
    }


def sample_s(bench: Bench) -> float:
    """Seconds of a sample in this process, from measured throughput; without one, what it took in a batch, or the very first."""
    alone = bench.facts.find(THROUGHPUT, workers=0)
    some = alone if alone is not None else bench.facts.find(THROUGHPUT)
    if some is None:
        return bench.sampled_s if bench.sampled_s is not None else float(bench.facts.value(FIRST, 0.0))
    return max(1.0, float(some.at["workers"])) / float(some.value)
