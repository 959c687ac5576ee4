"""Memory of the workers that grows over the samples they read: copied, leaked, or kept by the allocator."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.facts import Facts
from dataloader_expert.probes.health.worker_resources import GROWTH

COPIED_LEAST, LEAKED_LEAST = 6 << 20, 16 << 20
"""Bytes of growth after the first third of a run: until then workers copy pages of the interpreter itself."""
SAMPLES_LEAST, PER_SAMPLE_LEAST = 100, 32
KEPT_FIX = (
    "start training with MALLOC_MMAP_THRESHOLD_=1048576 in the environment: arrays of a megabyte and more then go back to"
    " the system when they are freed; or keep arrays and write into them (out=)"
)


def growing(facts: Facts) -> Iterator[Finding]:
    """B1, B2: private memory that grows in each third of the run, and all the time.

    Where shared memory shrinks as much, pages are copied on write. Where anonymous memory grows by more than a batch of
    each worker, which an allocator may keep without anything leaking, it leaks, unless it is free again in the
    allocator's hands.
    """
    fact = facts.find(GROWTH)
    if fact is None:
        return
    v = fact.value
    private, thirds = v["private_bytes"], v["private_per_sample"]
    if min(thirds) < PER_SAMPLE_LEAST or private < COPIED_LEAST or v["samples"] < SAMPLES_LEAST:
        return
    mean = private / max(1, v["samples_later"])
    if -v["shared_bytes"] > 0.3 * private and v["anon_bytes"] < 0.5 * private:
        text = f"each sample read makes {mean:.0f} bytes of shared memory private to a worker: counting references"
        text += " writes to pages that were shared at the fork"
        fix = "hold the index in a numpy array, an Arrow column or one bytes object, not in lists of Python objects"
        yield finding("copy-on-write-growth", "warning", text, fact, fix)
    elif v["anon_bytes"] > max(LEAKED_LEAST, v["batches_bytes"]) and thirds[2] > 0.5 * thirds[1] and v["steady"]:
        if v["free_bytes"] > 0.5 * v["anon_bytes"]:
            free = min(1.0, v["free_bytes"] / v["anon_bytes"])
            text = f"memory of the workers grows by {mean:,.0f} bytes a sample, and {free:.0%} of that is free again:"
            text += " the allocator keeps it in holes that the next sample does not fit"
            yield finding("freed-memory-kept", "warning", text, fact, KEPT_FIX)
            return
        text = f"private memory of the workers grows by {mean:,.0f} bytes a sample and was not given back"
        yield finding("memory-leak", "error", text, fact, "look for what __getitem__ keeps: lists on self, caches")


RULES: tuple[Rule, ...] = (growing,)
