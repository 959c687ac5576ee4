"""A dataset that keeps the samples it has read: each worker fills a cache of its own."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.worker_memory import KEYED, again_places, going_through, growing, kept_again
from dataloader_expert.advice.worker_semantics import keeps_drawn
from dataloader_expert.conclusions import Finding, finding, saved
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts, in_bytes
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.health.own_cache import GROWS, KEPT
from dataloader_expert.probes.profile.stages import MEMORY_GROWTH
from dataloader_expert.probes.search.loading import CURRENT

TOLD_BYTES = 1e8
"""The least memory of all caches that is told."""

WIDE = 2.0
"""How many times the bytes of what it shows the memory is that an entry keeps if that is told."""
BOUND = "keep no samples, or limit how many each worker keeps (functools.lru_cache(maxsize=N) around the function that reads one)"
KEPT_ON = "set persistent_workers=True, so that each worker keeps its cache between epochs"
UNDRAWN = "cache only what is read and decoded, and apply random transforms after the cache"
AUGMENTED = ". Samples are cached after random augmentation"
COPY = "keep copies: tensor.clone(), array.copy()"


def keeps_samples(facts: Facts) -> Iterator[Finding]:
    fact, current = facts.find(KEPT), facts.find(CURRENT)
    if fact is None:
        return
    v = fact.value
    text = f"the dataset caches samples in `{escaped(v['attribute'])}`: the first read takes"
    text += f" {v['first_ms']:.3g} ms, the second {v['again_ms']:.3g} ms"
    wide = v.get("memory_bytes", 0) >= WIDE * max(1, v.get("entries_bytes", 0))
    if wide:
        text += f"; for each sample of {in_bytes(v['entries_bytes'] / v['samples'])} it holds {in_bytes(v['memory_bytes'] / v['samples'])} of"
        text += " memory, because it keeps views of larger arrays"
    places = [v["place"]] if v.get("place") else []
    grown, samples = facts.value(MEMORY_GROWTH) or 0.0, facts.value(SAMPLES) or 0
    each = max(1e3 * grown, v.get("memory_bytes", 0) / v["samples"])  # what grows may be measured once a cache is full
    size = each * samples
    rates = "the rates measured here include cached samples"
    plan = {"num_workers": 0, "persistent_workers": False} if current is None else current.value
    workers = plan["num_workers"]
    drawn = keeps_drawn(facts)
    if drawn and (not workers or plan["persistent_workers"]):
        text += f"{AUGMENTED}, so each process repeats the same augmented version in every epoch"
        yield finding("dataset-caches-samples", "error", f"{text}; {rates}", fact, UNDRAWN, places)
        return
    if current is None or not workers:
        fix = f"before you add workers, {BOUND}; {shared(size)}"
        fix = f"{COPY}; {fix}" if wide else fix
        yield finding("dataset-caches-samples", "warning" if wide else "info", f"{text}; {rates}", fact, fix, places)
        return
    text += f". Each of the {workers} workers caches the samples that it has read itself"
    text += "" if current.value["persistent_workers"] else ", until the epoch ends and they are lost"
    held = size * (workers if current.value["persistent_workers"] else 1)
    if held >= TOLD_BYTES:
        by = "the workers hold" if current.value["persistent_workers"] else "the workers hold, in an epoch,"
        text += f"; if all {samples:,} are kept, {by} about {in_bytes(held)}"
    fix, lost = f"{BOUND}; {shared(size)}", None
    if not current.value["persistent_workers"] and 0 < held < TOLD_BYTES:  # a cache that is worth keeping
        fix, lost = f"{shared(size)}; or {KEPT_ON}", saved(v["first_ms"] / max(1e-6, v["again_ms"]))
    if drawn:  # a cache that is kept would repeat what was drawn
        text += f"{AUGMENTED}, so a worker repeats the same augmented version until the epoch ends"
        fix, lost = UNDRAWN, None
    fix = f"{COPY}; {fix}" if wide else fix
    yield finding("dataset-caches-samples", "warning", f"{text}; {rates}", [fact, current], fix, places, cost=lost)


def shared(size: float) -> str:
    """How one cache serves all workers, if memory has room for it."""
    takes = f"all samples ({in_bytes(size)}) fit in memory" if size else "all samples fit in memory"
    return f"if {takes}, you can instead read each once in the main process before workers start: forked workers share them"


def grows(facts: Facts) -> Iterator[Finding]:
    """A container that gets an entry with each sample read, also with those read before: it is no cache, and never full."""
    fact = facts.find(GROWS)
    if fact is None or fact.value["files"] or any(f.code == "memory-leak" for f in growing(facts)):
        return
    each = fact.value["entry_bytes"] * (facts.value(SAMPLES) or 0)
    by = f", by {in_bytes(each)} in each epoch" if each else ""
    text, share = f"memory grows without end{by}: {kept_again(fact, facts)}", going_through(fact, facts)[1]
    yield finding("memory-leak", "warning", text, fact, KEYED, again_places(fact), cost=share or None)


RULES: tuple[Rule, ...] = (keeps_samples, grows)
