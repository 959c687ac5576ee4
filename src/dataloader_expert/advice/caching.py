"""What of a sample is the same in each epoch and pays to keep: in memory as a run showed, on disk as its speed predicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from dataloader_expert.advice.stages import cpu_and_waits
from dataloader_expert.advice.workers import throughput_at
from dataloader_expert.conclusions import Advice, Finding, number, saved
from dataloader_expert.facts import Fact, Facts, Json, in_bytes
from dataloader_expert.probes.experiments.sample_cache import CACHED, STAGES
from dataloader_expert.probes.profile.rereads import NONDETERMINISTIC
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.search.loading import RECOMMENDED
from dataloader_expert.probes.search.thresholds import WORTH
from dataloader_expert.probes.system.storage import COLD

MOST_MEMORY, MOST_DISK = 0.5, 0.9
"""The largest shares of this machine's memory, and of what is free on the disk, that cached samples may take."""
WORTH_STORING = 1.5
"""The least predicted gain that counts: unlike a run's, it has no interval."""
BEFORE_CHANCE = ("read", "decode")
"""Stages that hold no random transform."""
HANDED_OVER = ("worker_transfer", "collate")
"""Stages that the main process takes part in, or that stay as they are."""
NOTHING = "nothing to cache: "
UNPROVED = "unproved, as the blocks vary too much: "
IN_MEMORY = "CachedDataset(dataset).fill()  # from dataloader_expert.loaders"
NOTHING_RANDOM = "nothing in __getitem__ is meant to be random"
ON_DISK = "each field of all samples in one .npy file, read with numpy.load(path, mmap_mode='r')"


@dataclass(frozen=True)
class Kept:
    """Samples kept as they are after ``stages``. ``now``, ``then``: samples/s without and with that."""

    stages: tuple[str, ...]
    now: float
    then: float
    gain: float
    how: Literal["timed", "derived"]
    facts: tuple[Fact, ...]
    says: str
    interval: tuple[float, float] | None = None
    bytes: int | None = None
    fits: Literal["memory", "disk"] | None = None
    advised: bool = False

    def figure(self, value: float, unit: str) -> dict[str, Json]:
        low, high = (self.interval if unit == "x" else None) or (None, None)
        seen = self.facts[0].evidence.seen
        return {"value": value, "unit": unit, "low": low, "high": high, "n": seen, "how": self.how}


def paying(facts: Facts) -> Fact | None:
    """The measured gain of cached samples, where it is significant."""
    found = facts.find(CACHED)
    return found if found is not None and found.at["pays"] else None


def kept(facts: Facts, memory_bytes: int) -> Kept | None:
    """What keeping samples gains, and in few words whether and where to; None where neither was measured."""
    found = facts.find(CACHED)
    if found is None:
        return before_chance(facts)
    c, size = found.evidence.conditions, found.at["bytes"]
    stages = tuple(s for s in STAGES if (f := facts.find(STAGE, stage=s)) is not None and f.value["ms"] > 0)
    text = f"kept in memory, samples load {found.value:.2f} times as fast (timed)"
    ran = Kept(
        stages, c["made_anew"], c["cached"], found.value, "timed", (found,), NOTHING + text,
        interval=found.evidence.interval, bytes=size,
    )  # fmt: skip
    if paying(facts) is None:
        return replace(ran, says=UNPROVED + text) if found.value > WORTH else ran
    text += f"; all take {in_bytes(size)}, "
    if size <= MOST_MEMORY * memory_bytes:
        return replace(ran, says=f"{text}which fits", fits="memory", advised=True)
    text += "more than half of the memory"
    free, disk = c["disk_free_bytes"], facts.find(COLD)
    if free is None or size > MOST_DISK * free:
        return replace(ran, says=NOTHING + text + ("" if free is None else f", and {in_bytes(free)} of disk are free"))
    if disk is None:
        return replace(ran, says=f"{text}; they fit on the disk, whose speed was not measured", fits="disk")
    then = min(c["cached"], 1e6 * disk.value * c["samples"] / size)
    gain = then / c["made_anew"]
    text += f"; read from disk, {gain:.2f} times as fast is predicted from its speed"
    pays = gain >= WORTH_STORING
    stored = replace(ran, then=then, gain=gain, how="derived", facts=(found, disk), interval=None, fits="disk")
    return replace(stored, says=text if pays else NOTHING + text, advised=pays)


def before_chance(facts: Facts) -> Kept | None:
    """Of samples that differ each time, what keeping them before their random part is predicted to gain."""
    chosen = facts.find(RECOMMENDED)
    rate = None if chosen is None else throughput_at(facts, chosen.value["settings"])
    found = [f for f in facts.all(STAGE) if f.at["stage"] in BEFORE_CHANCE and f.value["ms"] > 0]
    whole = sum(cpu_and_waits(facts))
    left = whole - sum(f.value["cpu_ms"] + f.value["wait_ms"] for f in found)
    if not facts.value(NONDETERMINISTIC) or rate is None or not found or left <= 0:
        return None
    stages, gain = tuple(str(f.at["stage"]) for f in found), whole / left
    handed = sum(f.value["ms"] for f in facts.all(STAGE) if f.at["stage"] in HANDED_OVER)
    if handed:  # however little workers have left to do, one process takes their batches
        gain = min(gain, max(1.0, 1e3 / handed / rate.value))
    text = f"samples differ each time; kept before their random part, without {' and '.join(stages)}, "
    text += f"at most {gain:.2f} times as fast is predicted from the times of the stages"
    text = f"{text}; only your code knows their size there" if gain >= WORTH_STORING else NOTHING + text
    return Kept(stages, rate.value, gain * rate.value, gain, "derived", (rate, *found), text)


def cache_advice(facts: Facts, memory_bytes: int, findings: Iterable[Finding] = ()) -> list[Advice]:
    """Keep the samples, if that pays, all of them fit, and no finding's fix saves as much: causes come first."""
    found = kept(facts, memory_bytes)
    if found is None or not found.advised:
        return []
    least = found.gain if found.interval is None else found.interval[0]
    if max((f.cost or 0.0 for f in findings), default=0.0) >= saved(least):
        return []
    ran = found.facts[0].evidence.conditions
    workers, alone = ran["workers"], ran.get("cached_alone", 0.0)
    why = f"{found.says}; from {found.now:,.0f} to {found.then:,.0f} samples/s from the second epoch on with {number(workers, 'worker')}"
    if found.fits == "memory" and alone > WORTH * found.then:
        why += f", {alone:,.0f} with num_workers=0, as transferring a sample then costs more than reading it"
    made = (f.value for f in facts.all(STAGE) if f.at["stage"] in STAGES)
    seconds = sum(v["cpu_ms"] + v["wait_ms"] for v in made) / 1e3 * ran["samples"]
    cost = f"{in_bytes(found.bytes or 0)} for all samples, and reading them before the first epoch"
    cost += f", {seconds:,.0f} s in one process" if seconds >= 1 else ""
    value = ON_DISK
    if found.fits == "memory":
        value = IN_MEMORY
        cost += "; each worker keeps its own copy unless the cache is filled before the fork"
    cited = tuple(f.cite() for f in found.facts)
    return [Advice("dataset", value, "dataset", why, found.figure(found.gain, "x"), cost, cited, NOTHING_RANDOM)]
