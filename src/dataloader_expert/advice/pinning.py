"""Whether page-locked batches are worth having: what their copy to the device saves of a batch's time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.workers import batch_bytes, settings, throughput_at
from dataloader_expert.conclusions import Advice, Finding, finding
from dataloader_expert.facts import Fact, Facts, in_bytes
from dataloader_expert.probes.model.step_time import STEP
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.transfer import UNPINNED

PAYS = 0.02
"""The least share of a batch's time that is worth a setting."""


def of_pinning(facts: Facts) -> tuple[Fact, float, float, float] | None:
    """The copy from ordinary memory, the one from page-locked memory and the time of a batch, in milliseconds; None where one
    was not measured."""
    unpinned, pinned, (current, recommended) = (
        facts.find(UNPINNED),
        facts.find(STAGE, stage="to_device"),
        settings(facts),
    )
    if unpinned is None or pinned is None or current is None:
        return None
    size = int(unpinned.at["batch_size"])
    speed = throughput_at(facts, recommended["settings"] if recommended is not None else current)
    if speed is None:
        return None
    whole = max(1e3 * size / speed.value, facts.value(STEP, 0.0))
    return unpinned, (pinned.value["cpu_ms"] + pinned.value["wait_ms"]) * size, whole, size


def pinning_pays(facts: Facts) -> bool:
    """Whether the copy of an unpinned batch holds the training loop up for long enough to matter."""
    known = of_pinning(facts)
    return known is not None and known[0].value - known[1] >= PAYS * known[2]


def pinning_advice(facts: Facts) -> list[Advice]:
    """``pin_memory=True`` where the loader has it not and it pays."""
    known, (current, _) = of_pinning(facts), settings(facts)
    if known is None or current is None or current["pin_memory"] or not pinning_pays(facts):
        return []
    unpinned, pinned, whole, size = known
    saved = unpinned.value - pinned
    why = f"copying a batch to the device takes {unpinned.value:.2g} ms, in which the training loop waits; "
    why += f"{pinned:.2g} ms from page-locked memory, where non_blocking=True hides it"
    gain: dict[str, Any] = {"value": whole / (whole - min(saved, 0.9 * whole)), "unit": "x", "how": "derived"}
    memory = batch_bytes(facts, int(size))
    cost = (
        "a copy on the host" if memory is None else f"{in_bytes(memory)} of page-locked memory and a copy on the host"
    )
    return [Advice("pin_memory", True, False, why, gain, f"{cost} for each batch", (unpinned.cite(),))]


def not_paying(facts: Facts) -> Iterator[Finding]:
    """B28: page-locked batches whose copy is hardly faster, for the time that a batch takes."""
    known, (current, _) = of_pinning(facts), settings(facts)
    if known is None or current is None or not current["pin_memory"] or pinning_pays(facts):
        return
    unpinned, pinned, whole, _ = known
    text = f"pin_memory=True saves {max(0.0, unpinned.value - pinned):.2g} of the {whole:.2g} ms of a batch"
    yield finding("pinning-does-not-pay", "info", text, unpinned, "leave it out where memory is short")


RULES: tuple[Rule, ...] = (not_paying,)
