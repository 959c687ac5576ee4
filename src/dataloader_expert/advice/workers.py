"""num_workers and related settings, from measured throughput."""

from __future__ import annotations

import math
import re
from typing import Any

from dataloader_expert.conclusions import Advice
from dataloader_expert.facts import Fact, Facts, in_bytes
from dataloader_expert.plan import in_flight
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.model.host_memory import HOST_GROWTH
from dataloader_expert.probes.model.step_time import STEP
from dataloader_expert.probes.profile.avoidable import AVOIDABLE
from dataloader_expert.probes.search.loading import CURRENT, PREDICTED, RECOMMENDED, SPEEDUP, UNPROVED
from dataloader_expert.probes.search.trials import STARTUP, THROUGHPUT

WORKERS_OF = re.compile(r"num_workers=(\d+)")


def settings(facts: Facts) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The values of the present and the recommended settings; None where not measured."""
    current, recommended = facts.find(CURRENT), facts.find(RECOMMENDED)
    return (None if current is None else dict(current.value), None if recommended is None else dict(recommended.value))


def throughput_at(facts: Facts, given: dict[str, Any]) -> Fact | None:
    """The throughput at these settings: ``num_workers`` and whichever others are given."""
    workers = given["num_workers"]
    prefetch = (given.get("prefetch_factor") or 2) if workers else 0
    at = {"persistent": bool(given["persistent_workers"])} if workers and "persistent_workers" in given else {}
    return facts.find(THROUGHPUT, workers=workers, prefetch=prefetch, in_order=given.get("in_order", True), **at)


def most_advised(facts: Facts) -> int:
    """The most workers that the advice on settings names: those recommended, those that looked faster, and those that were not tried."""
    best, unproved, predicted = settings(facts)[1], facts.find(UNPROVED), facts.find(PREDICTED)
    looked = [] if unproved is None else [int(n) for n in WORKERS_OF.findall(unproved.value["settings"])]
    expected = [] if predicted is None else [int(predicted.at["workers"])]
    return max([0 if best is None else int(best["workers"]), *looked, *expected])


def changed(current: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    """The DataLoader settings that differ, with the values chosen; torch's defaults are left out."""
    before = {
        "num_workers": current["num_workers"],
        "prefetch_factor": current.get("prefetch_factor") or 2,
        "in_order": current.get("in_order", True),
        "persistent_workers": bool(current.get("persistent_workers")),
    }
    after = {k: chosen.get(k, v) for k, v in before.items()}
    if not after["num_workers"]:
        return {"num_workers": 0} if before["num_workers"] else {}
    after["prefetch_factor"] = after["prefetch_factor"] or 2
    return {k: v for k, v in after.items() if v != before[k]}


def as_keywords(given: dict[str, Any]) -> str:
    """``num_workers=4, persistent_workers=True``."""
    return ", ".join(f"{k}={v}" for k, v in given.items())


def batch_bytes(facts: Facts, batch_size: int) -> int | None:
    batch = facts.find(BATCH)
    if batch is None:
        return None
    per_sample: float = sum(f["bytes_per_sample"] for f in batch.value["fields"])
    return math.ceil(per_sample * batch_size)


def host_bytes(facts: Facts, batch_size: int, workers: int, prefetch: int | None) -> int | None:
    """Bytes of the batches in flight: workers x prefetch, and one held by the consumer."""
    one = batch_bytes(facts, batch_size)
    return None if one is None else int(one * in_flight(workers, prefetch))


def host_parts(facts: Facts, batch_size: int, workers: int, pinned: bool) -> dict[str, int]:
    """Host memory of a loader by what takes it, in bytes: batches in flight; what workers, samples under construction and
    the allocator take beside them; and the copy that pinning makes. Empty where it was not measured at these settings."""
    one, grown = batch_bytes(facts, batch_size), facts.find(HOST_GROWTH, batch_size=batch_size, workers=workers)
    if one is None or grown is None:
        return {}
    flying = one * in_flight(workers, 2)
    parts = {"in_flight": flying, "workers_and_construction": max(0, grown.value - flying)}
    return {**parts, "pinned": one} if pinned else parts


def worker_advice(facts: Facts) -> list[Advice]:
    """Other settings, if alternating blocks proved the gain or make it probable: one advice, named after what changes."""
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
    kept = bool(chosen.get("persistent_workers"))
    cost = f"up to {in_bytes(memory)} of batches in flight" if memory is not None else "memory for batches in flight"
    if workers == 0:
        cost = "none: the main process loads the data"
        if facts.find(STEP) is None:
            cost = "training waits while the main process loads: pass step_ms to compare the settings at its pace"
    elif start is not None:
        cost += f"; {start:.2f} s until the first batch of {'the first' if kept else 'each'} epoch"
    if not chosen.get("in_order", True):
        cost += "; the order of batches differs between runs"
    if any(work["kind"] == "retries" for work in facts.value(AVOIDABLE, [])):
        cost += "; part of what overlaps is time.sleep() after errors: fix these first"
    gain = {"value": speedup.value, "unit": "x", "low": low, "high": high, "n": speedup.evidence.seen, "how": "timed"}
    other = changed(current.value, chosen)
    words = as_keywords(other)
    why = f"{after.value:,.0f} samples/s with {words}, {before.value:,.0f} with num_workers={now}, "
    why += "compared in alternating blocks" + ("" if facts.find(UNPROVED) is None else "; probable, but not proved")
    name, *more = other
    value, old = (
        (other[name], current.value.get(name)) if not more else (other, {k: current.value.get(k) for k in other})
    )
    if "num_workers" in other:  # the other changes are in `code` and in the reason
        name, value, old = "num_workers", workers, now
    elif more:
        name = " and ".join(other)
    return [Advice(name, value, old, why, gain, cost, (speedup.cite(), before.cite(), after.cite()))]
