"""What is said of keeping samples, by what was run, what it takes, and where it fits."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dataloader_expert.advice.caching import cache_advice, kept
from dataloader_expert.conclusions import finding
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.experiments.sample_cache import CACHED
from dataloader_expert.probes.profile.rereads import NONDETERMINISTIC
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.search.loading import RECOMMENDED
from dataloader_expert.probes.search.trials import THROUGHPUT
from dataloader_expert.probes.system.storage import COLD

MEMORY = 8_000_000_000
TIMED = Evidence("timed", "a test", seen=5)
SPENT = {"read": 1.0, "decode": 6.0, "transform": 2.0, "collate": 1.0}


def stages() -> tuple[Fact, ...]:
    return tuple(
        Fact(STAGE, {"ms": ms, "cpu_ms": ms, "wait_ms": 0.0, "queue_ms": 0.0}, TIMED, {"stage": name})
        for name, ms in SPENT.items()
    )


def ran(
    gain: float, size: int, pays: bool = True, free: int | None = None, disk: float | None = None, alone: float = 0.0
) -> Facts:
    """Samples of a megabyte each, 100 a second as they are made now."""
    conditions: dict[str, Any] = {"workers": 2, "batch_size": 8, "made_anew": 100.0, "cached": 100 * gain}
    conditions |= {"samples": size // 1_000_000, "disk_free_bytes": free, "cached_alone": alone}
    run = Evidence("timed", "a test", seen=6, interval=(0.9 * gain, 1.1 * gain), conditions=conditions)
    found = [Fact(CACHED, gain, run, {"stage": "decode", "bytes": size, "pays": pays}), *stages()]
    if disk is not None:
        found.append(Fact(COLD, disk, TIMED))
    return Facts(tuple(found))


SMALL, LARGE = 1_000_000_000, 100_000_000_000


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (ran(1.02, SMALL, pays=False), "nothing to cache: kept in memory, samples load 1.02 times as fast"),
        (ran(3.0, LARGE, free=SMALL), "nothing to cache: .*100.0 GB, more than half of the memory, and 1.0 GB of disk"),
        (ran(3.0, LARGE, free=2 * LARGE), "they fit on the disk, whose speed was not measured"),
        (ran(3.0, LARGE, free=2 * LARGE, disk=110.0), "nothing to cache: .*read from disk, 1.10 times as fast is predicted"),
    ],
    ids=["a small gain", "no room", "a disk of unknown speed", "a slow disk"],
)  # fmt: skip
def test_nothing_is_advised_when(facts: Facts, words: str) -> None:
    """Our promise: a small gain or a cache without room is no advice, and few words say which it is."""
    found = kept(facts, MEMORY)
    assert found is not None
    assert not found.advised
    assert cache_advice(facts, MEMORY) == []
    assert re.search(words, found.says)


@pytest.mark.parametrize(
    ("facts", "fits", "how", "then"),
    [
        (ran(3.0, SMALL), "memory", "timed", 300.0),
        (ran(9.0, LARGE, free=2 * LARGE, disk=400.0), "disk", "derived", 400.0),
        (ran(3.0, LARGE, free=2 * LARGE, disk=4000.0), "disk", "derived", 300.0),
    ],
    ids=["memory", "disk, by its speed", "disk, faster than what follows it"],
)
def test_samples_are_kept_where_they_fit(facts: Facts, fits: str, how: str, then: float) -> None:
    """Our promise: a run's gain is timed and has its interval; a disk's is a prediction and has none."""
    found = kept(facts, MEMORY)
    assert found is not None
    assert (found.advised, found.fits, found.how, found.then) == (True, fits, how, then)
    assert found.stages == ("read", "decode", "transform")
    [advice] = cache_advice(facts, MEMORY)
    assert advice.gain is not None
    assert (advice.gain["how"], advice.gain["low"] is None) == (how, how == "derived")
    assert ("predicted" in advice.why) == (how == "derived")


@pytest.mark.parametrize(("alone", "told"), [(900.0, True), (301.0, False), (100.0, False)])
def test_that_cached_samples_need_no_workers_is_told(alone: float, told: bool) -> None:
    facts = ran(3.0, SMALL, alone=alone)
    [advice] = cache_advice(facts, MEMORY)
    assert ("900 with num_workers=0" in advice.why) is told
    assert "9 s in one process" in advice.cost  # 1,000 samples of 9 ms, collating aside


def test_a_cause_that_saves_as_much_comes_first() -> None:
    """Our promise: a finding whose fix saves as much silences the cache."""
    facts = ran(3.0, SMALL)
    cause = finding("read-amplification", "warning", "", facts.find(CACHED) or (), "", cost=0.9)
    assert cache_advice(facts, MEMORY, [cause]) == []


@pytest.mark.parametrize("differ", [True, False], ids=["they differ", "they are the same"])
def test_of_random_samples_what_precedes_chance_is_predicted(differ: bool) -> None:
    """Our promise: never timed, never advised; without read and decode three tenths of the time is left."""
    chosen: dict[str, Any] = {"settings": {"num_workers": 2, "prefetch_factor": 2}, "workers": 2}
    at = {"workers": 2, "prefetch": 2, "in_order": True}
    facts = Facts((
        Fact(NONDETERMINISTIC, differ, TIMED), Fact(RECOMMENDED, chosen, TIMED), Fact(THROUGHPUT, 90.0, TIMED, at),
        *stages(),
    ))  # fmt: skip
    found = kept(facts, MEMORY)
    assert (found is None) == (not differ)
    if found is not None:
        assert (found.how, found.advised, found.bytes, found.stages) == ("derived", False, None, ("read", "decode"))
        assert found.gain == pytest.approx(10 / 3)
        assert found.then == pytest.approx(300)
    assert cache_advice(facts, MEMORY) == []
