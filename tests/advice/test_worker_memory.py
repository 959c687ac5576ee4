"""Copied pages are told with the attribute whose objects lie in them."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.base import findings_of
from dataloader_expert.advice.worker_memory import growing
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.health.object_census import OBJECTS
from dataloader_expert.probes.health.own_cache import KEPT
from dataloader_expert.probes.health.worker_resources import GROWTH
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.system.outside import MACHINE

MB = 1 << 20
COPIED = {
    "private_bytes": 60 * MB,
    "shared_bytes": -60 * MB,
    "anon_bytes": 0,
    "free_bytes": 0,
    "samples": 4000,
    "samples_later": 2700,
    "batches_bytes": 0,
    "steady": False,
    "private_per_sample": [20_000.0, 20_000.0, 20_000.0],
    "shared_per_sample": -20_000.0,
}


def copied(objects: int | None, how: Any = "sampled") -> Finding:
    facts = Facts((Fact(GROWTH, COPIED, Evidence("counted", "test")),))
    if objects is not None:
        value = {"attribute": "samples", "owner": "Listed", "objects": objects, "bytes": 180 * 10**6}
        facts.add(Fact(OBJECTS, value, Evidence(how, "test")))
    [found] = findings_of(facts)
    return found


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("sampled", "`samples` of class Listed holds some 2,000,000 Python objects (some 180 MB)"),
        ("counted", "`samples` of class Listed holds 2,000,123 Python objects (180 MB)"),
    ],
)
def test_the_attribute_that_holds_the_objects_is_named(how: str, said: str) -> None:
    """Our promise: whoever reads it knows what to change, and finds the numbers in the evidence."""
    found = copied(2_000_123, how)
    assert found.code == "copy-on-write-growth"
    assert said in found.message
    assert found.fix.startswith("store `samples` in a numpy array")
    assert found.evidence[1]["value"] == {
        "attribute": "samples",
        "owner": "Listed",
        "objects": 2_000_123,
        "bytes": 180 * 10**6,
    }


@pytest.mark.parametrize(
    ("objects", "how", "severity"), [(None, "sampled", "warning"), (50, "sampled", "warning"), (50, "counted", "info")]
)
def test_no_attribute_is_named_that_does_not_explain_it(objects: int | None, how: str, severity: str) -> None:
    """Our promise: a guess is not told as the cause; where all objects were counted, there is none."""
    found = copied(objects, how)
    assert found.severity == severity
    assert "Python objects (" not in found.message
    assert found.fix.startswith("store the index in" if severity == "warning" else "watch whether the memory")


@pytest.mark.parametrize(("samples", "told"), [(3_000, []), (10**6, [("copy-on-write-growth", "warning")])])
def test_little_growth_without_a_known_cause_is_not_told(samples: int, told: list[tuple[str, str]]) -> None:
    """Our promise: 20 KB a sample matter in an epoch of a million, and not in one of three thousand."""
    facts = Facts((
        Fact(GROWTH, COPIED, Evidence("counted", "test")), Fact(SAMPLES, samples, Evidence("counted", "test")),
        Fact(MACHINE, {"memory_bytes": 16 << 30, "shm_bytes": 8 << 30, "cpus": 2}, Evidence("counted", "test")),
    ))  # fmt: skip
    assert [(found.code, found.severity) for found in growing(facts)] == told


@pytest.mark.parametrize(("kept", "told"), [(20_000, []), (500, ["memory-leak"])])
def test_growth_that_a_cache_explains_is_told_once(kept: int, told: list[str]) -> None:
    """Seen: two warnings of one cache, as a cache and as a leak."""
    grown = {**COPIED, "anon_bytes": 60 * MB, "shared_bytes": 0, "steady": True}
    cache = {"attribute": "cache", "samples": 4, "entries_bytes": 4 * kept, "first_ms": 3.0, "again_ms": 0.1}
    facts = Facts((Fact(GROWTH, grown, Evidence("counted", "test")), Fact(KEPT, cache, Evidence("counted", "test"))))
    assert [found.code for found in growing(facts)] == told


@pytest.mark.parametrize(("size", "threshold"), [(150, 1 << 17), (602_112, 1 << 19), (30 * MB, MB)])
def test_the_threshold_that_is_advised_maps_what_is_freed(size: int, threshold: int) -> None:
    """Seen: beside arrays of 0.6 MB, a threshold of 1 MB, with which 183 MB were kept of 236, against 55 with one of 0.5 MB."""
    grown = {**COPIED, "anon_bytes": 60 * MB, "free_bytes": 40 * MB, "shared_bytes": 0, "steady": True}
    batch = {"fields": [{"bytes_per_sample": 8}, {"bytes_per_sample": size}]}
    facts = Facts((Fact(GROWTH, grown, Evidence("counted", "test")), Fact(BATCH, batch, Evidence("counted", "test"))))
    [found] = growing(facts)
    assert found.code == "freed-memory-kept" and f"MALLOC_MMAP_THRESHOLD_={threshold} " in found.fix
