"""Worker memory that grows with the samples read: copied on write, leaked, or kept by the allocator."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.workers import settings
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.health.object_census import OBJECTS
from dataloader_expert.probes.health.own_cache import GROWS, KEPT
from dataloader_expert.probes.health.worker_resources import GROWTH
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.profile.hotspots import USER_FUNCTIONS
from dataloader_expert.probes.system.outside import MACHINE

COPIED_LEAST, LEAKED_LEAST = 6 << 20, 16 << 20
"""Bytes of growth after the first third of a run, in which workers copy pages of the interpreter itself."""
SAMPLES_LEAST, PER_SAMPLE_LEAST = 100, 32
OBJECTS_LEAST = 10_000
"""An attribute that holds fewer objects does not explain megabytes of copied pages."""
SEARCHED_LEAST = 0.1
"""The least share of a sample's time that going through a container is told from."""
LITTLE = 0.01
"""Growth in an epoch by a smaller share of the memory is not told, unless objects are known that it goes on with."""
EXPLAINS = 0.5
"""The least part of the growth by a sample that a cache explains which holds the sample."""
MAPPED_LEAST, MAPPED_MOST = 1 << 17, 1 << 20
"""Bytes of the arrays from which on glibc maps each by itself, as it begins; and from which mapping costs little beside writing one."""

KEYED = (
    "keep nothing, or key what is kept by something that stays the same, such as the sample's index (not a random crop or "
    "a new object), and limit its size, such as with functools.lru_cache(maxsize=N)"
)


def growing(facts: Facts) -> Iterator[Finding]:
    """B1, B2: private memory grows in each third of the run; if shared memory shrinks with it, pages are copied."""
    fact = facts.find(GROWTH)
    if fact is None:
        return
    v = fact.value
    private = v["private_bytes"]
    if min(v["private_per_sample"]) < PER_SAMPLE_LEAST or private < COPIED_LEAST or v["samples"] < SAMPLES_LEAST:
        return
    mean = private / max(1, v["samples_later"])
    if -v["shared_bytes"] > 0.3 * private and v["anon_bytes"] < 0.5 * private:
        current, best = settings(facts)
        unused = current is not None and not current["num_workers"] and (best is None or not best["workers"])
        held, machine, epoch = facts.find(OBJECTS), facts.find(MACHINE), facts.value(SAMPLES)
        named = held is not None and held.value["objects"] >= OBJECTS_LEAST
        little = bool(not named and machine and epoch and mean * epoch < LITTLE * machine.value["memory_bytes"])
        if not little:
            yield _copied(fact, mean, held, "info" if unused else "warning")
    else:
        yield from _leaked(facts, fact, mean)


def _copied(fact: Fact, mean: float, held: Fact | None, severity: Severity) -> Finding:
    """Pages copied on write, and the attribute whose objects lie in them."""
    text = f"each sample read makes {mean:.0f} bytes of shared memory private to a worker: reference counting"
    text += " writes to pages shared since the fork"
    cited, what = [fact], "the index"
    if held is not None and held.value["objects"] >= OBJECTS_LEAST:
        v = held.value
        number, some = (v["objects"], "") if held.evidence.how == "counted" else (float(f"{v['objects']:.2g}"), "some ")
        cited, what = [fact, held], f"`{escaped(v['attribute'])}`"
        of = v["owner"] if v["owner"].startswith("module ") else f"class {v['owner']}"
        text += f"; {what} of {escaped(of)} holds {some}{number:,.0f} Python objects"
        text += f" ({some}{v['bytes'] / 1e6:,.0f} MB)"
    elif held is not None and held.evidence.how == "counted":
        text = f"each sample read makes {mean:.0f} bytes of shared memory private to a worker, although no attribute of the dataset"
        text += (
            " holds many Python objects: the worker allocates in pages that it shared, which ends once it has them all"
        )
        fix = (
            "watch whether the memory of workers still grows after an epoch; if so, look for lists of objects elsewhere"
        )
        return finding("copy-on-write-growth", "info", text, [fact, held], fix)
    fix = f"store {what} in a numpy array, an Arrow column or one bytes object, not in lists of Python objects"
    return finding("copy-on-write-growth", severity, text, cited, fix)


def _leaked(facts: Facts, fact: Fact, mean: float) -> Iterator[Finding]:
    """Anonymous memory that grows steadily, by more than the one batch per worker that an allocator may keep."""
    v = fact.value
    _, second, third = v["private_per_sample"]
    if v["anon_bytes"] <= max(LEAKED_LEAST, v["batches_bytes"]) or third <= 0.5 * second or not v["steady"]:
        return
    kept = facts.value(KEPT, {"samples": 1})
    if max(kept.get("entries_bytes", 0), kept.get("memory_bytes", 0)) / kept["samples"] >= EXPLAINS * mean:
        return  # a cache of the dataset's own, which is told with what all of it takes
    if v["free_bytes"] > 0.5 * v["anon_bytes"]:
        free = min(1.0, v["free_bytes"] / v["anon_bytes"])
        text = f"worker memory grows by {mean:,.0f} bytes per sample, of which {free:.0%} has been freed:"
        text += " the allocator keeps it in gaps too small for the next sample"
        fix = f"set MALLOC_MMAP_THRESHOLD_={mapped(facts)} in the environment of training: arrays of that size or larger are then returned"
        fix += " to the system when freed; or reuse arrays by writing into them (out=)"
        yield finding("freed-memory-kept", "warning", text, fact, fix)
        return
    text = f"private memory of the workers grows by {mean:,.0f} bytes per sample and is not freed"
    again = facts.find(GROWS)
    if again is not None:
        text += f": {kept_again(again, facts)}"
        yield finding("memory-leak", "error", text, [fact, again], KEYED, again_places(again))
        return
    yield finding("memory-leak", "error", text, fact, "find what __getitem__ keeps: lists on self, caches")


def mapped(facts: Facts) -> int:
    """The threshold of glibc for mapping arrays with which the largest of a sample's is mapped: no more than its bytes."""
    largest = max((int(f["bytes_per_sample"]) for f in facts.value(BATCH, {"fields": []})["fields"]), default=0)
    return min(MAPPED_MOST, 1 << max(MAPPED_LEAST, largest).bit_length() - 1)


def kept_again(fact: Fact, facts: Facts) -> str:
    """What a container keeps of samples again and again, and whether going through it takes the time."""
    name, place = escaped(fact.value["attribute"]), fact.value["place"]
    at = "" if place is None else f" ({posixpath.basename(place['file'])}:{place['line']})"
    text = f"`{name}` gets a new entry whenever a sample is read, even one that was read before{at}"
    line, share = going_through(fact, facts)
    if line:
        text += f"; the loop over it at line {line}, which takes {share:.0%} of a sample's time, gets longer with every entry"
    return text


def going_through(fact: Fact, facts: Facts) -> tuple[int, float]:
    """The first line of the loop over such a container that takes the time, and its share; 0 where none does."""
    for spot in facts.value(USER_FUNCTIONS, []):
        for file, first, last in fact.value["searched"]:
            if spot["file"] == file and first <= spot["line"] <= last and spot["line_share"] >= SEARCHED_LEAST:
                return int(first), float(spot["line_share"])
    return 0, 0.0


def again_places(fact: Fact) -> list[dict[str, Any]]:
    return [fact.value["place"]] if fact.value["place"] is not None else []


RULES: tuple[Rule, ...] = (growing,)
