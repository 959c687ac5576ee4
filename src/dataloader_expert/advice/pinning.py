"""Whether page-locked batches are worth having: what their copy to the device saves of a batch's time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.workers import batch_bytes, settings, throughput_at
from dataloader_expert.conclusions import Advice, Finding, finding
from dataloader_expert.facts import Fact, Facts, in_bytes
from dataloader_expert.probes.model.step_time import STEP
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.transfer import UNPINNED

PAYS = 0.02
"""The least share of a batch's time that is worth a setting."""


@dataclass(frozen=True)
class Copies:
    """A batch's copy to the device from ordinary memory, in which the training loop waits, and from page-locked memory; and the
    time of a batch, which the slower of loader and step sets. In milliseconds."""

    unpinned: float
    pinned: float
    batch: float
    size: int
    seen: tuple[Fact, Fact]

    @property
    def saved(self) -> float:
        return max(0.0, self.unpinned - self.pinned)

    @property
    def pays(self) -> bool:
        return self.saved >= PAYS * self.batch


def copies(facts: Facts) -> Copies | None:
    """None where one of the times was not measured."""
    unpinned, pinned = facts.find(UNPINNED), facts.find(STAGE, stage="to_device")
    current, recommended = settings(facts)
    if unpinned is None or pinned is None or current is None:
        return None
    speed = throughput_at(facts, recommended["settings"] if recommended is not None else current)
    if speed is None:
        return None
    size = int(unpinned.at["batch_size"])
    each = size * (pinned.value["cpu_ms"] + pinned.value["wait_ms"])
    batch = max(1e3 * size / speed.value, facts.value(STEP, 0.0))
    return Copies(unpinned.value, each, batch, size, (unpinned, pinned))


def pinning_pays(facts: Facts) -> bool:
    """Whether the copy of an unpinned batch holds the training loop up for long enough to matter."""
    known = copies(facts)
    return known is not None and known.pays


def pinning_advice(facts: Facts) -> list[Advice]:
    """``pin_memory=True`` where the loader has it not and it pays."""
    known, (current, _) = copies(facts), settings(facts)
    if known is None or current is None or current["pin_memory"] or not known.pays:
        return []
    why = f"copying a batch to the device takes {known.unpinned:.2g} ms, in which the training loop waits; "
    why += f"{known.pinned:.2g} ms from page-locked memory, where non_blocking=True hides it"
    gain = {"value": known.batch / (known.batch - min(known.saved, 0.9 * known.batch)), "unit": "x", "how": "derived"}
    memory = batch_bytes(facts, known.size)
    held = "" if memory is None else f"{in_bytes(memory)} of page-locked memory and "
    cost = f"{held}a copy on the host for each batch"
    return [Advice("pin_memory", True, False, why, gain, cost, tuple(fact.cite() for fact in known.seen))]


def not_paying(facts: Facts) -> Iterator[Finding]:
    """B28: page-locked batches whose copy is hardly faster, for the time that a batch takes."""
    known, (current, _) = copies(facts), settings(facts)
    if known is None or current is None or not current["pin_memory"] or known.pays:
        return
    text = f"pin_memory=True saves {known.saved:.2g} of the {known.batch:.2g} ms of a batch"
    yield finding("pinning-does-not-pay", "info", text, known.seen, "leave it out where memory is short")


RULES: tuple[Rule, ...] = (not_paying,)
