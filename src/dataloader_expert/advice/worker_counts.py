"""What workers do beside loading: write calls, threads, garbage collection, pixels that nobody uses."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.worker_resources import COUNTS
from dataloader_expert.probes.profile.stages import PULSES

BATCH_CALLS = 12
"""Write calls with which a worker sends a batch."""


def pauses(facts: Facts) -> Iterator[Finding]:
    """B48: the garbage collector takes three per cent of the time."""
    for fact in (facts.find(COUNTS), facts.find(PULSES)):
        if fact is not None and fact.value["seconds"] > 0.2:
            share = fact.value["pauses_s"] / fact.value["seconds"]
            if share >= 0.03:
                text = f"the garbage collector takes {share:.0%} of the loading processes' time"
                fix = "gc.freeze() after set-up, in the main process before workers are made; fewer Python objects"
                yield finding("garbage-collector-pauses", "info", text, fact, fix, cost=share)
                return


def chatty(facts: Facts) -> Iterator[Finding]:
    """B49: every other sample writes something."""
    fact = facts.find(COUNTS)
    if fact is None:
        return
    calls = fact.value["write_calls_per_sample"] - BATCH_CALLS * fact.value["batches_per_sample"]
    if calls >= 0.5:
        text = f"the workers make {calls:.1f} write calls a sample: printing, logging or a progress bar"
        yield finding("chatty-workers", "info", text, fact, "print and log from the main process")


def decoding(facts: Facts) -> Iterator[Finding]:
    """B55: pictures are decoded with four times the pixels that are used."""
    fact = facts.find(COUNTS)
    if fact is None or fact.value["used_pixels"] <= 0:
        return
    ratio = fact.value["decoded_pixels"] / fact.value["used_pixels"]
    if ratio >= 4:
        text = (
            f"{fact.value['decoded_pixels']:,.0f} pixels are decoded for {fact.value['used_pixels']:,.0f} that are used"
        )
        fix = "for JPEG call image.draft('RGB', size) before load, or store the pictures smaller"
        yield finding("decodes-too-large", "warning", text, fact, fix)


def threads(facts: Facts) -> Iterator[Finding]:
    """B12: thread pools in each worker that wait for each other's cores."""
    fact = facts.find(COUNTS)
    if fact is None or fact.value["cpu_s"] < 0.05:
        return
    waits = fact.value["queue_s"] / fact.value["cpu_s"]
    if fact.value["threads"] > 4 + fact.value["cpus"] and waits >= 3:
        text = f"each worker runs {fact.value['threads']} threads, which wait {waits:.1f} times as long for a core as they run"
        fix = "cv2.setNumThreads(0), OMP_NUM_THREADS=1 or torch.set_num_threads(1) in worker_init_fn"
        yield finding("too-many-threads", "warning", text, fact, fix)


RULES: tuple[Rule, ...] = (pauses, chatty, decoding, threads)
