"""num_workers and what goes with it, from measured throughput."""

from __future__ import annotations

import math
from typing import Any

from dataloader_expert.conclusions import Advice
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import in_flight
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.search.loading import CURRENT, RECOMMENDED, SPEEDUP
from dataloader_expert.probes.search.trials import STARTUP, THROUGHPUT


def settings(facts: Facts) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The present and the recommended settings with their throughput facts' values; None where not measured."""
    current, recommended = facts.find(CURRENT), facts.find(RECOMMENDED)
    return (None if current is None else dict(current.value), None if recommended is None else dict(recommended.value))


def throughput_at(facts: Facts, given: dict[str, Any]) -> Fact | None:
    """What was measured at these settings: ``num_workers``, and ``prefetch_factor`` and ``in_order`` if they say so."""
    workers = given["num_workers"]
    prefetch = (given.get("prefetch_factor") or 2) if workers else 0
    return facts.find(THROUGHPUT, workers=workers, prefetch=prefetch, in_order=given.get("in_order", True))


def batch_bytes(facts: Facts, batch_size: int) -> int | None:
    batch = facts.find(BATCH)
    if batch is None:
        return None
    per_sample: float = sum(f["bytes_per_sample"] for f in batch.value["fields"])
    return math.ceil(per_sample * batch_size)


def host_bytes(facts: Facts, batch_size: int, workers: int, prefetch: int | None) -> int | None:
    """Batches in flight: workers x prefetch, and one held by the consumer."""
    one = batch_bytes(facts, batch_size)
    return None if one is None else int(one * in_flight(workers, prefetch))


def worker_advice(facts: Facts) -> list[Advice]:
    """More (or fewer) workers, only where a fresh alternating check showed the gain."""
    recommended, speedup, current = facts.find(RECOMMENDED), facts.find(SPEEDUP), facts.find(CURRENT)
    if recommended is None or speedup is None or current is None or speedup.evidence.interval is None:
        return []
    workers, now = recommended.value["workers"], current.value["num_workers"]
    chosen = recommended.value["settings"]
    before, after = throughput_at(facts, current.value), throughput_at(facts, chosen)
    if before is None or after is None:
        return []
    low, high = speedup.evidence.interval
    size = current.value["batch_size"]
    memory = host_bytes(facts, size, workers, chosen.get("prefetch_factor"))
    start = facts.value(STARTUP, None, workers=workers)
    cost = f"up to {memory / 1e6:.1f} MB of batches in flight" if memory is not None else "memory for batches in flight"
    if workers == 0:
        cost = "none: the main process loads alone"
    elif start is not None:
        cost += f"; {start:.2f} s until the first batch of each epoch unless persistent_workers=True"
    gain = {"value": speedup.value, "unit": "x", "low": low, "high": high, "n": speedup.evidence.seen, "how": "timed"}
    why = f"{after.value:,.0f} samples/s at {workers} workers against {before.value:,.0f} at {now}; "
    why += "checked in fresh blocks that alternate with the present settings"
    return [Advice("num_workers", workers, now, why, gain, cost, (speedup.cite(), before.cite(), after.cite()))]
