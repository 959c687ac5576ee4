"""The batch size: as given, else the smallest on the plateau of throughput, within what memory and the data allow. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataloader_expert.checks.base import SPLITS
from dataloader_expert.facts import Facts, Quantity
from dataloader_expert.probes.data.layout import PRESENT, SAMPLES
from dataloader_expert.probes.model.batch import BATCH, BATCH_SIZE_USED
from dataloader_expert.probes.model.check import MODEL

DRAWS_SPLITS = Quantity("code_draws_splits", "", "whether the code handed over draws its splits at random")
BATCH_SIZES = Quantity("batch_size_throughput", "samples/s", "throughput in the main process by batch size")
PLATEAU = 0.95
UNIT = 8
"""Tensor cores take matrices in multiples of eight numbers of two bytes."""


def chosen_size(
    facts: Facts, given: int | None, limit: int, on_device: Mapping[int, float] | None = None
) -> tuple[int, str]:
    """The size and the reason for it. ``given``: as asked; None: as the user's loader has it, if there is one. ``on_device``:
    samples/s that the device trains, by size."""
    limit = max(1, limit)
    only: int | None = facts.value(MODEL, {"only": None})["only"]
    if only is not None and only <= limit:
        return only, "the only one that the model takes"
    if given is not None:
        return min(given, limit), "as given" if given <= limit else "the size given, lowered to the limit"
    own: int | None = facts.value(PRESENT, {}).get("batch_size")
    if own is not None:
        return min(own, limit), "the loader's own" if own <= limit else "the loader's own, lowered to the limit"
    made: list[int] = facts.value(BATCH_SIZE_USED) or [] if facts.find(PRESENT) is not None else []
    if made and max(made) > 1:  # by its batch sampler, or by the dataset
        over = f", above the limit of {limit:,}, as only the code that makes them sets it" * (max(made) > limit)
        return max(made), f"that of the batches that the loader delivers{over}"
    if on_device:
        best = max(on_device.values())
        size = min(b for b, v in on_device.items() if v >= PLATEAU * best)
        if size <= limit:
            return size, "the smallest that trains within 5 % of the fastest on the device"
    speeds = {int(f.at["batch_size"]): f.value for f in facts.all(BATCH_SIZES)}
    if not speeds:
        return in_units(min(32, limit)), "a common starting point: sizes were not timed"
    best = max(speeds.values())
    size = min(b for b, v in speeds.items() if (v >= PLATEAU * best and b >= 32) or b == max(speeds))
    words = f"the smallest of {', '.join(map(str, speeds))} that loads within 5 % of the fastest"
    if len(speeds) == 1:
        words = "the only size timed"
    return in_units(min(size, limit)), words if size <= limit else f"{words}, lowered to the limit"


def in_units(size: int) -> int:
    """The size, or the next multiple of eight below it."""
    return size if size < 2 * UNIT else size // UNIT * UNIT


def training_samples(facts: Facts) -> int | None:
    """Samples of the training split; without splits, of the part that the code handed over trains on, if it draws one."""
    named: int | None = (facts.value(SPLITS) or {}).get("train")
    samples: int | None = facts.value(SAMPLES)
    if named or not samples:
        return named or samples
    return samples - 2 * (samples // 10) if facts.value(DRAWS_SPLITS, False) else samples


def host_limit(facts: Facts, memory_bytes: int, margin: float) -> dict[str, Any]:
    """The most samples of a batch by host memory and by the number of samples, and which of them it is."""
    batch = facts.find(BATCH)
    samples = training_samples(facts)
    per = sum(f["bytes_per_sample"] for f in batch.value["fields"]) if batch is not None else 1.0
    room = int(memory_bytes * (1 - margin) / max(per, 1) / 5)
    if samples is not None and samples <= room:
        return {"value": max(1, samples), "limited_by": "the number of training samples"}
    return {"value": max(1, room), "limited_by": "host memory: 2 workers with 2 batches each, 1 in use"}
