"""What workers do besides loading: write calls, threads, garbage collection, decoding unused pixels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.health.sample_calls import SAMPLE_CALLS
from dataloader_expert.probes.health.worker_resources import COUNTS
from dataloader_expert.probes.profile.avoidable import AVOIDABLE
from dataloader_expert.probes.profile.stages import PULSES, READING, RECEIVING
from dataloader_expert.probes.search.loading import CURRENT

OWN_THREADS = 4
"""Threads that a loading process may have beside one for each core."""
MANY_WAIT, POOLS_WAIT = 3.0, 1.0
"""How many times as long as they run threads wait for a core: many threads, and those of pools that compute."""
POOLS = 0.2
"""The least share of a worker's CPU time that its pools take if they matter."""
ONE_THREAD = (
    "set cv2.setNumThreads(0) or torch.set_num_threads(1) in worker_init_fn; for numpy start Python with OMP_NUM_THREADS=1 and "
    "OPENBLAS_NUM_THREADS=1"
)
WRITING = {"manager", "processes", "connects", "threads"}
"""Work that makes write calls of its own."""
BATCH_CALLS = 12
"""Write calls that a worker needs to send a batch."""
TENSOR_CALLS = 2
"""The most write calls for each of its tensors: one, or two where another process asks for its descriptor."""


def many_threads(value: dict[str, Any]) -> bool:
    """Whether a loading process, given by COUNTS or PULSES, has so many threads that they wait for one another's cores."""
    return bool(value["threads"] > OWN_THREADS + value["cpus"])


def pauses(facts: Facts) -> Iterator[Finding]:
    """B48: the garbage collector takes 3% of the time."""
    for fact in (facts.find(COUNTS), facts.find(PULSES)):
        if fact is not None and fact.value["seconds"] > 0.2:
            share = fact.value["pauses_s"] / fact.value["seconds"]
            if share >= 0.03:
                text = f"the garbage collector takes {share:.0%} of the loading processes' time"
                fix = "call gc.freeze() in the main process before workers start, raise gc.set_threshold in worker_init_fn"
                if not facts.value(CURRENT, {"num_workers": 1})["num_workers"]:
                    fix = "call gc.freeze() once the data are loaded, raise gc.set_threshold"
                fix += ", or make fewer Python objects"
                yield finding("garbage-collector-pauses", "info", text, fact, fix, cost=share)
                return


def chatty(facts: Facts) -> Iterator[Finding]:
    """B49: at least every other sample makes a write call."""
    fact = facts.find(COUNTS)
    if fact is None:
        return
    sending = BATCH_CALLS + TENSOR_CALLS * facts.value(RECEIVING, {"tensors": 0})["tensors"]
    calls = fact.value["write_calls_per_sample"] - sending * fact.value["batches_per_sample"]
    other = {work["kind"] for work in facts.value(AVOIDABLE, [])} & WRITING
    if any(work["kind"] == "logs" for work in facts.value(SAMPLE_CALLS, {"work": []})["work"]):
        return  # told with its line
    if calls >= 0.5 and not other and facts.value(CURRENT, {}).get("num_workers", 1):
        text = f"workers make {calls:.1f} write calls per sample: printing, logging or a progress bar"
        yield finding("chatty-workers", "info", text, fact, "print and log only in the main process")


def pixels_of(facts: Facts) -> tuple[Fact | None, dict[str, float]]:
    """The pixels that a sample's images had before and after they were resized: as workers counted them, else of a few samples; none where
    neither had the time."""
    counts, called = facts.find(COUNTS), facts.find(SAMPLE_CALLS)
    if counts is not None:
        return counts, counts.value
    pixels = {} if called is None else called.value.get("pixels", {})
    return (called, pixels) if pixels else (None, {})


def decoding(facts: Facts) -> Iterator[Finding]:
    """B55: four times as many pixels are decoded as are used, and JPEG could be decoded at half the size."""
    fact, pixels = pixels_of(facts)
    if fact is None or pixels["used_pixels"] <= 0:
        return
    delivered = facts.value(READING, {}).get("bytes_delivered_per_sample") or 0.0
    if delivered >= 0.5 * pixels["decoded_pixels"]:
        return  # what was decoded is delivered too, beside the smaller copy
    ratio = pixels["decoded_pixels"] / pixels["used_pixels"]
    if ratio >= 4 and pixels["decoded_pixels"] >= 2 * pixels["least_pixels"]:
        text = f"{pixels['decoded_pixels']:,.0f} pixels are decoded to use {pixels['used_pixels']:,.0f}"
        fix = "for JPEG call image.draft('RGB', size) before load, or store smaller images"
        yield finding("decodes-too-large", "warning", text, fact, fix)


def threads(facts: Facts) -> Iterator[Finding]:
    """B12: thread pools in each worker compete for the cores."""
    for fact in (facts.find(COUNTS), facts.find(PULSES)):
        if fact is None or fact.value["cpu_s"] < 0.05:
            continue
        waits, helped = (fact.value[name] / fact.value["cpu_s"] for name in ("queue_s", "others_s"))
        current = facts.find(CURRENT)
        workers = current.value["num_workers"] if current is not None else 0
        if not (many_threads(fact.value) and waits >= MANY_WAIT):
            if workers >= 2 and 2 * workers > fact.value["cpus"] and helped >= POOLS and waits >= POOLS_WAIT:
                text = f"thread pools in {workers} workers compete for {fact.value['cpus']:g} cores: they take {helped:.0%} of the workers' CPU "
                text += f"time, and threads wait {waits:.1f} times as long for a core as they run"
                yield finding("too-many-threads", "warning", text, fact, ONE_THREAD)
                return
            continue
        alone = fact.quantity == PULSES and current is not None and not current.value["num_workers"]
        text = f"{'the main process' if alone else 'each worker'} runs {fact.value['threads']} threads, which wait {waits:.1f} times"
        text += " as long for a core as they run"
        yield finding("too-many-threads", "warning", text, fact, ONE_THREAD)
        return


RULES: tuple[Rule, ...] = (pauses, chatty, decoding, threads)
