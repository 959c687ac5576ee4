"""Keeping samples in memory, advised only where a loader over kept samples ran faster."""

from __future__ import annotations

from collections.abc import Iterable

from dataloader_expert.conclusions import Advice, Finding, saved
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.experiments.sample_cache import CACHED

MOST_MEMORY = 0.5
"""The share of this machine's memory that kept samples may take for it to be advised."""


def paying(facts: Facts) -> Fact | None:
    """What was measured of kept samples, where they surely pay."""
    found = facts.find(CACHED)
    return found if found is not None and found.at["pays"] else None


def cache_advice(facts: Facts, memory_bytes: int, findings: Iterable[Finding] = ()) -> list[Advice]:
    """To keep the samples, where that pays, all of them fit, and no finding's cure saves as much: a cause comes first."""
    found = paying(facts)
    if found is None or found.evidence.interval is None or found.at["bytes"] > MOST_MEMORY * memory_bytes:
        return []
    low, high = found.evidence.interval
    if max((f.cost or 0.0 for f in findings), default=0.0) >= saved(low):
        return []
    gain = {"value": found.value, "unit": "x", "low": low, "high": high, "n": found.evidence.seen, "how": "timed"}
    workers = found.evidence.conditions["workers"]
    why = f"from the second epoch on {found.value:.2f} times the throughput at {workers} workers, run beside each other on"
    why += " the same samples; only where nothing in __getitem__ is meant to be random"
    cost = f"{found.at['bytes'] / 1e6:,.1f} MB for all samples, and their reading before the first epoch; "
    cost += "each worker keeps its own unless they are filled before it is forked"
    value = "CachedDataset(dataset).fill()  # from dataloader_expert.loaders"
    return [Advice("dataset", value, "dataset", why, gain, cost, (found.cite(),))]
