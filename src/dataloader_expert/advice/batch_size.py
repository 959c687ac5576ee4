"""The batch size: as given, else the smallest at the throughput's plateau, within what memory holds."""

from __future__ import annotations

from typing import Any

from dataloader_expert.conclusions import Advice
from dataloader_expert.facts import Facts
from dataloader_expert.probes.batch import BATCH, DEVICE_PEAK
from dataloader_expert.probes.layout import SAMPLES, SPLITS
from dataloader_expert.probes.loading import BATCH_SIZES

PLATEAU = 0.95


def batch_size(facts: Facts, given: int | None, limit: int) -> tuple[int, str]:
    """The size and why."""
    if given is not None:
        return min(given, limit), "as given" if given <= limit else "the size given, lowered to the limit"
    speeds = {int(f.at["batch_size"]): f.value for f in facts.all(BATCH_SIZES)}
    if not speeds:
        return min(32, limit), "32, the common start: sizes were not timed"
    best = max(speeds.values())
    size = min(b for b, v in speeds.items() if (v >= PLATEAU * best and b >= 32) or b == max(speeds))
    return min(size, limit), f"the smallest of {', '.join(map(str, speeds))} within 5 % of the fastest loading"


def limit(facts: Facts, memory_bytes: int, device_bytes: int | None, margin: float) -> dict[str, Any]:
    """The most samples a batch may hold: device memory where it was measured, else host memory, else the data."""
    batch = facts.find(BATCH)
    samples = (facts.value(SPLITS) or {}).get("train") or facts.value(SAMPLES) or 1 << 20
    per = sum(f["bytes_per_sample"] for f in batch.value["fields"]) if batch is not None else 1.0
    peak = facts.find(DEVICE_PEAK)
    options = [
        (int(memory_bytes * (1 - margin) / max(per, 1) / 5), "host memory: 2 workers, 2 batches each, one in use")
    ]
    options.append((samples, "the number of training samples"))
    if peak is not None and device_bytes:
        each = peak.value / max(1, int(peak.at["batch_size"]))
        options.append((int(device_bytes * (1 - margin) / each), "device memory, from the measured peak"))
    elif device_bytes:
        options.append((int(device_bytes * (1 - margin) / max(per, 1)), "device memory for the batch alone, computed"))
    value, by = min(options)
    return {"value": max(1, value), "limited_by": by}


def batch_advice(facts: Facts, size: int, why: str, memory: int | None) -> list[Advice]:
    batch = facts.find(BATCH)
    if batch is None:
        return []
    speeds = [f for f in facts.all(BATCH_SIZES) if f.at["batch_size"] == size]
    cost = f"{memory / 1e6:.2f} MB a batch" if memory is not None else "not known"
    return [Advice("batch_size", size, None, why, None, cost, (batch.cite(), *(f.cite() for f in speeds)))]
