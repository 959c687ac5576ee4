"""A dataset that keeps the samples it has read: each worker fills a cache of its own."""

from __future__ import annotations

from collections.abc import Iterator

from dataloader_expert.advice.base import Rule
from dataloader_expert.conclusions import Finding, finding
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Facts, in_bytes
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.health.own_cache import KEPT
from dataloader_expert.probes.profile.stages import MEMORY_GROWTH
from dataloader_expert.probes.search.loading import CURRENT

TOLD_BYTES = 1e8
"""The least memory of all caches that is told."""

WIDE = 2.0
"""How many times the bytes of what it shows the memory is that an entry keeps if that is told."""
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
    rates = "the rates here partly come from cached samples"
    workers = 0 if current is None else current.value["num_workers"]
    if current is None or not workers:
        fix = "before you add workers, fill the cache in the main process: forked workers share what it holds"
        fix = f"{COPY}; {fix}" if wide else fix
        yield finding("dataset-caches-samples", "warning" if wide else "info", f"{text}; {rates}", fact, fix)
        return
    text += f". Each of the {workers} workers caches the samples that it has read itself"
    text += "" if current.value["persistent_workers"] else ", until the epoch ends and they are lost"
    grows, samples = facts.value(MEMORY_GROWTH) or 0.0, facts.value(SAMPLES) or 0
    each = max(1e3 * grows, v.get("memory_bytes", 0) / v["samples"])  # what grows may be measured once a cache is full
    held = each * samples * (workers if current.value["persistent_workers"] else 1)
    if held >= TOLD_BYTES:
        by = "they hold" if current.value["persistent_workers"] else "they hold, in an epoch,"
        text += f"; if all {samples:,} are kept, {by} about {in_bytes(held)}"
    fix = "read every sample once in the main process before the loader starts: forked workers share what it holds; or"
    fix += " leave caching to CachedDataset(dataset).fill() from dataloader_expert.loaders"
    fix = f"{COPY}; {fix}" if wide else fix
    yield finding("dataset-caches-samples", "warning", f"{text}; {rates}", [fact, current], fix)


RULES: tuple[Rule, ...] = (keeps_samples,)
