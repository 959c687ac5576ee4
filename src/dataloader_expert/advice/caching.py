"""Caching samples in memory, advised only where a loader over cached samples ran faster."""

from __future__ import annotations

from collections.abc import Iterable

from dataloader_expert.conclusions import Advice, Finding, saved
from dataloader_expert.facts import Fact, Facts, in_bytes
from dataloader_expert.probes.experiments.sample_cache import CACHED

MOST_MEMORY = 0.5
"""The largest share of this machine's memory that cached samples may take."""


def paying(facts: Facts) -> Fact | None:
    """The measured gain of cached samples, where it is significant."""
    found = facts.find(CACHED)
    return found if found is not None and found.at["pays"] else None


def cache_advice(facts: Facts, memory_bytes: int, findings: Iterable[Finding] = ()) -> list[Advice]:
    """Cache the samples, if that pays, all of them fit, and no finding's fix saves as much: causes come first."""
    found = paying(facts)
    if found is None or found.evidence.interval is None or found.at["bytes"] > MOST_MEMORY * memory_bytes:
        return []
    low, high = found.evidence.interval
    if max((f.cost or 0.0 for f in findings), default=0.0) >= saved(low):
        return []
    gain = {"value": found.value, "unit": "x", "low": low, "high": high, "n": found.evidence.seen, "how": "timed"}
    workers = found.evidence.conditions["workers"]
    why = f"{found.value:.2f}x the throughput from the second epoch on with {workers} workers, measured in"
    why += " alternation on the same samples; only if nothing in __getitem__ is meant to be random"
    cost = f"{in_bytes(found.at['bytes'])} for all samples, and reading them before the first epoch; "
    cost += "each worker keeps its own copy unless the cache is filled before the fork"
    value = "CachedDataset(dataset).fill()  # from dataloader_expert.loaders"
    return [Advice("dataset", value, "dataset", why, gain, cost, (found.cite(),))]
