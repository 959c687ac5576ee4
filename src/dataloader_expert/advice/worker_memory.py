"""Memory of the workers that grows over the samples they read: copied, leaked, or kept by the allocator."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.health.object_census import OBJECTS
from dataloader_expert.probes.health.worker_resources import GROWTH

COPIED_LEAST, LEAKED_LEAST = 6 << 20, 16 << 20
"""Bytes of growth after the first third of a run: until then workers copy pages of the interpreter itself."""
SAMPLES_LEAST, PER_SAMPLE_LEAST = 100, 32
OBJECTS_LEAST = 10_000
"""An attribute that holds fewer does not explain megabytes of copied pages."""
KEPT_FIX = (
    "start training with MALLOC_MMAP_THRESHOLD_=1048576 in the environment: arrays of a megabyte and more then go back to"
    " the system when they are freed; or keep arrays and write into them (out=)"
)


def growing(facts: Facts) -> Iterator[Finding]:
    """B1, B2: private memory that grows in each third of the run: where shared memory shrinks as much, it is copied."""
    fact = facts.find(GROWTH)
    if fact is None:
        return
    v = fact.value
    private = v["private_bytes"]
    if min(v["private_per_sample"]) < PER_SAMPLE_LEAST or private < COPIED_LEAST or v["samples"] < SAMPLES_LEAST:
        return
    mean = private / max(1, v["samples_later"])
    if -v["shared_bytes"] > 0.3 * private and v["anon_bytes"] < 0.5 * private:
        yield _copied(fact, mean, facts.find(OBJECTS))
    else:
        yield from _leaked(fact, mean)


def _copied(fact: Fact, mean: float, held: Fact | None) -> Finding:
    """Pages that are copied on write, and the attribute whose objects lie in them."""
    text = f"each sample read makes {mean:.0f} bytes of shared memory private to a worker: counting references"
    text += " writes to pages that were shared at the fork"
    cited, what = [fact], "the index"
    if held is not None and held.value["objects"] >= OBJECTS_LEAST:
        v = held.value
        number, some = (v["objects"], "") if held.evidence.how == "counted" else (float(f"{v['objects']:.2g}"), "some ")
        cited, what = [fact, held], f"`{escaped(v['attribute'])}`"
        text += f"; {what} of class {escaped(v['owner'])} holds {some}{number:,.0f} Python objects"
        text += f" ({some}{v['bytes'] / 1e6:,.0f} MB)"
    fix = f"hold {what} in a numpy array, an Arrow column or one bytes object, not in lists of Python objects"
    return finding("copy-on-write-growth", "warning", text, cited, fix)


def _leaked(fact: Fact, mean: float) -> Iterator[Finding]:
    """Anonymous memory that grows all the time, by more than the batch of each worker that an allocator may keep."""
    v = fact.value
    _, second, third = v["private_per_sample"]
    if v["anon_bytes"] <= max(LEAKED_LEAST, v["batches_bytes"]) or third <= 0.5 * second or not v["steady"]:
        return
    if v["free_bytes"] > 0.5 * v["anon_bytes"]:
        free = min(1.0, v["free_bytes"] / v["anon_bytes"])
        text = f"memory of the workers grows by {mean:,.0f} bytes a sample, and {free:.0%} of that is free again:"
        text += " the allocator keeps it in holes that the next sample does not fit"
        yield finding("freed-memory-kept", "warning", text, fact, KEPT_FIX)
        return
    text = f"private memory of the workers grows by {mean:,.0f} bytes a sample and was not given back"
    yield finding("memory-leak", "error", text, fact, "look for what __getitem__ keeps: lists on self, caches")


RULES: tuple[Rule, ...] = (growing,)
