"""What bounds a batch and what follows from its size: validation's size, accumulation, other settings."""

from __future__ import annotations

from typing import Any

from dataloader_expert.conclusions import Advice, number
from dataloader_expert.facts import Facts, in_bytes
from dataloader_expert.probes.data.layout import PRESENT
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.model.check import MODEL
from dataloader_expert.probes.model.fitting import Fit
from dataloader_expert.probes.model.memory import (
    DEVICE_LIMIT,
    DEVICE_PEAK,
    EVALUATION,
    INSTEAD,
    MEMORY_FIT,
    STEP_SPEED,
)
from dataloader_expert.probes.model.sizes import BATCH_SIZES, chosen_size, host_limit

CARDS_GB = (8, 12, 16, 24, 40, 80)
"""Memory of usual devices."""
NEAR = 1.1
"""How many times the memory of which the limit was found another device may have to lose the same share."""
FRAGMENTED = 0.05
"""The share of a device that is left to fragmentation where no allocator was replayed at the limit."""


def batch_size(facts: Facts, given: int | None, limit: int) -> tuple[int, str]:
    """The size and the reason for it."""
    speeds = {int(f.at["batch_size"]): f.value for f in facts.all(STEP_SPEED)}
    return chosen_size(facts, given, limit, speeds)


def limit(
    facts: Facts, memory_bytes: int, device_bytes: int | None, margin: float, model: bool = False
) -> dict[str, Any]:
    """The most samples that a batch may hold: the least of what device memory, host memory and the data allow. ``model``: whether a
    training step of one was to be measured."""
    options = [host_limit(facts, memory_bytes, margin)]
    found, fit = facts.find(DEVICE_LIMIT), facts.find(MEMORY_FIT)
    if found is not None:
        how = "measured" if found.evidence.how == "probed" else "derived from traces, as no CUDA device is available"
        options.append({"value": found.value["value"], "limited_by": f"device memory of a training step, {how}"})
    elif device_bytes and fit is not None:
        room = Fit.from_json(fit.value).largest(device_bytes * (1 - margin) * (1 - FRAGMENTED))
        options.append({"value": room, "limited_by": "device memory of a training step, derived from traces"})
    elif device_bytes:
        batch = facts.find(BATCH)
        per = sum(f["bytes_per_sample"] for f in batch.value["fields"]) if batch is not None else 1.0
        room = int(device_bytes * (1 - margin) / max(per, 1))
        options.append({"value": room, "limited_by": "device memory, computed for the batch alone"})
    only = facts.value(MODEL, {"only": None})["only"]
    if only is not None:
        options.append({"value": only, "limited_by": f"the model, which only accepts batches of exactly {only}"})
    least = min(options, key=lambda o: o["value"])
    if model and found is None and fit is None:
        least["limited_by"] += "; memory for training was not measured"
    return least


def device_most(facts: Facts) -> int | None:
    """The largest batch by device memory alone; where the data ended the search, by the line through the sizes tried."""
    found, fit = facts.find(DEVICE_LIMIT), facts.find(MEMORY_FIT)
    if found is None:
        return None
    if found.value["failed"] is not None or fit is None:
        return int(found.value["value"])
    return max(int(found.value["value"]), Fit.from_json(fit.value).largest(found.value["room"]))


def on_cards(facts: Facts, margin: float, context: int) -> dict[str, int]:
    """The largest batch by the memory of usual devices, from the fit; 0 where not even one sample fits."""
    found, fit = facts.find(DEVICE_LIMIT), facts.find(MEMORY_FIT)
    if fit is None:
        return {}
    made = Fit.from_json(fit.value)
    rooms = {gb: (gb << 30) * (1 - margin) - context for gb in CARDS_GB}
    sizes = {gb: made.largest(room * (1 - FRAGMENTED)) for gb, room in rooms.items()}
    if found is not None and found.value["failed"] is not None and (whole := made.largest(found.value["room"])):
        # what fragmentation left of the line; less is lost where there is more room
        share = found.value["value"] / whole
        sizes |= {gb: int(share * made.largest(r)) for gb, r in rooms.items() if r <= NEAR * found.value["room"]}
        # a device of about the memory that was searched has the limit that was found: two numbers for one card would contradict
        near = (gb for gb, r in rooms.items() if 1 <= r / found.value["room"] <= NEAR)
        sizes |= {gb: int(found.value["value"]) for gb in near}
    return {f"{gb} GB": size for gb, size in sizes.items()}


def evaluation_size(facts: Facts, size: int, limit: int) -> int | None:
    """The largest doubling of ``size`` whose forward pass needs at most a training step's memory; None if unknown."""
    fixed = facts.value(PRESENT, {"batch_size": size})["batch_size"] is None  # by the dataset, or a batch sampler
    if fixed or facts.value(MODEL, {"only": None})["only"] is not None:
        return size
    forward, peak = facts.find(EVALUATION), facts.find(DEVICE_PEAK, batch_size=size)
    if forward is None or peak is None:
        return None
    base, each = forward.value
    chosen = size
    while base + 2 * chosen * each <= peak.value and 2 * chosen <= limit:
        chosen *= 2
    return chosen


def evaluation_advice(facts: Facts, size: int, limit: int) -> list[Advice]:
    forward, peak = facts.find(EVALUATION), facts.find(DEVICE_PEAK, batch_size=size)
    chosen = evaluation_size(facts, size, limit)
    if chosen is None or chosen == size or forward is None or peak is None:
        return []
    why = f"a forward pass over {chosen} samples takes no more memory than a training step over {size}"
    return [
        Advice("batch_size (validation, test)", chosen, size, why, None, "none known", (forward.cite(), peak.cite()))
    ]


def batch_advice(facts: Facts, size: int, why: str, memory: int | None) -> list[Advice]:
    batch = facts.find(BATCH)
    if batch is None or device_most(facts) == 0:  # no size fits
        return []
    speeds = [f for q in (STEP_SPEED, BATCH_SIZES) for f in facts.all(q) if f.at["batch_size"] == size]
    cost = f"{in_bytes(memory)} per batch" if memory is not None else "not known"
    return [Advice("batch_size", size, None, why, None, cost, (batch.cite(), *(f.cite() for f in speeds)))]


def accumulation_advice(facts: Facts, size: int, wanted: int | None) -> list[Advice]:
    """Steps over which gradients are summed, where the batch asked for does not fit; a learning rate of smaller batches would
    contradict them, so it is part of the reasons."""
    bound, most = facts.find(DEVICE_LIMIT), device_most(facts)
    if wanted is None or wanted <= size or bound is None or not most or wanted <= most:
        return []
    steps = -(-wanted // size)
    even = -(-wanted // steps)
    why = f"batches of {wanted} do not fit; accumulating the gradients of {steps} batches of {even} gives the same step"
    why += f": divide each loss by {steps}; batch normalisation then uses the statistics of {number(even, 'sample')}"
    cost = f"{steps} forward and backward passes per step"
    why += f". The learning rate stays; without accumulating, try {size / wanted:.3g} times it for SGD or"
    why += f" {(size / wanted) ** 0.5:.3g} times it for Adam"
    return [Advice("gradient accumulation steps", steps, 1, why, None, cost, (bound.cite(),))]


WORDS = {
    "precision": "autocast to {}, which halves most of what is kept for the backward pass",
    "channels_last": "channels-last order, in which convolutions on tensor cores need no copies",
    "checkpointing": "gradient checkpointing, which computes activations again instead of keeping them",
    "optimizer": "an optimizer without state ({})",
}
COSTS = {
    "precision": "lower precision: watch the loss",
    "bfloat16": "lower precision: watch the loss; bfloat16 needs a GPU of compute capability 8.0 or later (Ampere); on an older one, such "
    "as a T4 or V100, use float16 with torch.amp.GradScaler",
    "channels_last": "none known: model and batch .to(memory_format=torch.channels_last)",
    "checkpointing": "about one more forward pass per step",
    "optimizer": "another optimizer, to be tuned",
}
WORTH, LEAST = 0.1, 1_000_000
"""The share of the peak, and the bytes, from which on a setting that saves them is worth a word."""


def instead_advice(facts: Facts, size: int) -> list[Advice]:
    """Settings under which the same step takes surely less memory."""
    peak = facts.find(DEVICE_PEAK, batch_size=size)
    if peak is None:
        return []
    out = []
    for fact in facts.all(INSTEAD, batch_size=size):
        [(name, value)] = [(k, v) for k, v in fact.at.items() if k != "batch_size"]
        saved = 1 - fact.value / peak.value
        if saved > WORTH and peak.value - fact.value >= LEAST:
            why = f"{WORDS[name].format(value)}: {fact.value / 1e6:,.0f} MB instead of {peak.value / 1e6:,.0f}"
            now = None if name == "precision" else False if value is True else None
            gain = {"value": saved, "unit": "of the peak", "low": None, "high": None, "n": 1, "how": "derived"}
            cost = COSTS.get(str(value), COSTS[name])
            out.append(Advice(name, value, now, why, gain, cost, (peak.cite(), fact.cite())))
    return out
