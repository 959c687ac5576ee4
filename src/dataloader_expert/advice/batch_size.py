"""The batch size: as given, else the smallest on the throughput plateau, limited by memory."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import SPLITS
from dataloader_expert.conclusions import Advice
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.model.memory import DEVICE_PEAK, FORWARD, HELD
from dataloader_expert.probes.search.batch_sizes import BATCH_SIZES

PLATEAU = 0.95


def batch_size(facts: Facts, given: int | None, limit: int) -> tuple[int, str]:
    """The size and the reason for it."""
    if given is not None:
        return min(given, limit), "as given" if given <= limit else "the size given, lowered to the limit"
    speeds = {int(f.at["batch_size"]): f.value for f in facts.all(BATCH_SIZES)}
    if not speeds:
        return min(32, limit), "32, a common starting point: sizes were not timed"
    best = max(speeds.values())
    size = min(b for b, v in speeds.items() if (v >= PLATEAU * best and b >= 32) or b == max(speeds))
    return min(size, limit), f"the smallest of {', '.join(map(str, speeds))} that loads within 5 % of the fastest"


def limit(facts: Facts, memory_bytes: int, device_bytes: int | None, margin: float) -> dict[str, Any]:
    """The most samples that a batch may hold: the least of what device memory, host memory and the data allow."""
    batch = facts.find(BATCH)
    samples = (facts.value(SPLITS) or {}).get("train") or facts.value(SAMPLES) or 1 << 20
    per = sum(f["bytes_per_sample"] for f in batch.value["fields"]) if batch is not None else 1.0
    peak = facts.find(DEVICE_PEAK)
    options = [
        (int(memory_bytes * (1 - margin) / max(per, 1) / 5), "host memory: 2 workers with 2 batches each, 1 in use")
    ]
    options.append((samples, "the number of training samples"))
    if device_bytes and training_bytes(facts) is not None:
        held, each = facts.value(HELD), max(1.0, training_bytes(facts) or 0)
        how = "measured" if peak is not None and peak.evidence.how == "probed" else "derived"
        room = int((device_bytes * (1 - margin) - held) / each)
        options.append((room, f"device memory, from the {how} peak of a training step"))
    elif device_bytes:
        options.append((int(device_bytes * (1 - margin) / max(per, 1)), "device memory, computed for the batch alone"))
    value, by = min(options)
    return {"value": max(1, value), "limited_by": by}


def training_bytes(facts: Facts) -> float | None:
    """Memory that a training step takes for each sample of its batch, on top of what it takes for any batch."""
    peak = facts.find(DEVICE_PEAK)
    if peak is None:
        return None
    return float(max(0, peak.value - facts.value(HELD, 0)) / peak.at["batch_size"])


def evaluation_size(facts: Facts, size: int, limit: int) -> int | None:
    """The largest doubling of ``size`` whose forward pass needs at most a training step's memory; None if unknown."""
    forward, training = facts.find(FORWARD), training_bytes(facts)
    if forward is None or training is None:
        return None
    each = max(1.0, forward.value / forward.at["batch_size"])
    chosen = size
    while 2 * chosen * each <= training * size and 2 * chosen <= limit:
        chosen *= 2
    return chosen


def evaluation_advice(facts: Facts, size: int, limit: int) -> list[Advice]:
    forward, peak = facts.find(FORWARD), facts.find(DEVICE_PEAK)
    chosen = evaluation_size(facts, size, limit)
    if chosen is None or chosen == size or forward is None or peak is None:
        return []
    why = f"a forward pass over {chosen} samples takes no more memory than a training step over {size}"
    return [
        Advice("batch_size (validation, test)", chosen, size, why, None, "none known", (forward.cite(), peak.cite()))
    ]


def batch_advice(facts: Facts, size: int, why: str, memory: int | None) -> list[Advice]:
    batch = facts.find(BATCH)
    if batch is None:
        return []
    speeds = [f for f in facts.all(BATCH_SIZES) if f.at["batch_size"] == size]
    cost = f"{memory / 1e6:.2f} MB per batch" if memory is not None else "not known"
    return [Advice("batch_size", size, None, why, None, cost, (batch.cite(), *(f.cite() for f in speeds)))]
