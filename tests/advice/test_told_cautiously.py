"""Counts that time cut short are told as that, and cures do not contradict what was tried or what the samples come from."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.own_cache import keeps_samples
from dataloader_expert.advice.reading import slow
from dataloader_expert.advice.stages import collating
from dataloader_expert.advice.transport import cheap
from dataloader_expert.advice.worker_counts import chatty, pauses
from dataloader_expert.facts import Facts
from dataloader_expert.probes.data.layout import PRESENT, SAMPLES
from dataloader_expert.probes.health.line_causes import CAUSES
from dataloader_expert.probes.health.own_cache import KEPT
from dataloader_expert.probes.health.static_checks import SETTINGS
from dataloader_expert.probes.health.worker_resources import COUNTS
from dataloader_expert.probes.model.batch import COLLATE
from dataloader_expert.probes.profile.rereads import SLOW
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import PULSES, RECEIVING
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.trials import TRIALS
from dataloader_expert.probes.sharding import SHARDING
from tests.advice.test_epochs import PLAN, codes_of, facts_of

SLOW_ONES = {"count": 12, "of": 320, "median_ms": 2.0, "slowest": [{"sample": 7, "ms": 90.0}]}
EARLY = {"file": "a/x.py", "line": 3, "of": [500_000], "used": [10_000], "kind": "slice", "by": None}


def test_slow_samples_that_there_was_no_time_to_read_again_are_not_told_as_fast() -> None:
    """Seen: 12 of 320 samples were told as always slow, of 91 that are."""
    [found] = slow(facts_of((SLOW, {**SLOW_ONES, "unread": 79}, {})))
    assert found.message.startswith("at least 12 of 320 samples") and "79 more" in found.message
    [found] = slow(facts_of((SLOW, {**SLOW_ONES, "unread": 0}, {})))
    assert found.message.startswith("12 of 320 samples") and "more" not in found.message


@pytest.mark.parametrize("of_slow", [True, False])
def test_what_slow_samples_have_in_common_is_the_cure_where_it_is_known(of_slow: bool) -> None:
    """Seen: recordings that were filtered whole for half a second of them were only to be inspected."""
    [found] = slow(facts_of((SLOW, SLOW_ONES, {}), (CAUSES, {"before": [{**EARLY, "slow": of_slow}]}, {})))
    assert ("take the part first" in found.fix) is of_slow


def trials(*rates: float) -> tuple[Any, list[dict[str, Any]], dict[str, Any]]:
    return TRIALS, [{"num_workers": 2 * k, "throughput": {"value": rate}} for k, rate in enumerate(rates)], {}


@pytest.mark.parametrize(("rates", "told"), [((100.0, 95.0, 98.0), False), ((100.0, 180.0), True), ((100.0,), True)])
def test_more_workers_are_no_cure_where_those_tried_were_no_faster(rates: tuple[float, ...], told: bool) -> None:
    """Seen: more workers were said to help beside trials in which they did not."""
    spent = {"ms": 4.0, "cpu_ms": 4.0, "wait_ms": 0.0, "queue_ms": 0.0}
    [found] = collating(facts_of((STAGE, spent, {"stage": "collate"}), (COLLATE, {"name": "mine"}, {}), trials(*rates)))
    assert ("more of them help" in found.fix) is told


def test_a_slow_collate_function_is_told_on_a_busy_machine_too() -> None:
    """Seen: "90 % of a sample's time is spent in collate" without a word of what to do, as most of that time was waiting for a core."""
    spent = {"ms": 50.0, "cpu_ms": 4.8, "wait_ms": 0.2, "queue_ms": 45.0}
    facts = facts_of((STAGE, spent, {"stage": "collate"}), (COLLATE, {"name": "pad"}, {}), trials(100.0))
    assert codes_of(facts, collating) == ["slow-collate"]


@pytest.mark.parametrize(
    ("more", "cure"),
    [
        ([], "__getitems__"),
        ([(SHARDING, {}, {})], "yield whole batches"),
        ([(SETTINGS, {"whole": True}, {})], None),
        ([(SHARDING, {}, {}), (PRESENT, {"batch_size": None, "own_batches": False}, {})], "make larger batches"),
    ],
)
def test_a_stream_or_whole_batches_have_no_getitems(more: list[Any], cure: str | None) -> None:
    """Seen: a stream, and a dataset that is asked for whole batches, were told to fetch them with __getitems__."""
    stages = [(STAGE, {"ms": ms}, {"stage": stage}) for stage, ms in (("read", 0.1), ("worker_transfer", 0.9))]
    [found] = cheap(facts_of(*stages, trials(100.0, 20.0), (CURRENT, PLAN, {}), *more))
    assert found.fix == "use num_workers=0" if cure is None else cure in found.fix
    assert ("__getitems__" in found.fix) is (cure == "__getitems__")


@pytest.mark.parametrize(("tensors", "told"), [(2, ["chatty-workers"]), (240, [])])
def test_write_calls_that_send_tensors_are_no_printing(tensors: int, told: list[str]) -> None:
    """Seen: batches of 240 tensors, each sent with a write call, were told as printing."""
    counts = {"write_calls_per_sample": 3.8, "batches_per_sample": 1 / 64}
    assert codes_of(facts_of((COUNTS, counts, {}), (RECEIVING, {"tensors": tensors}, {})), chatty) == told


def test_a_cache_is_told_with_its_size_although_it_was_full_before_memory_was_watched() -> None:
    """Seen: a cache of a gigabyte in each worker was told without its size."""
    kept = {"attribute": "stains", "samples": 8, "entries_bytes": 4_800_000, "memory_bytes": 4_800_000}
    known = facts_of((KEPT, {**kept, "first_ms": 9.0, "again_ms": 1.0}, {}), (SAMPLES, 1500, {}))
    known = Facts((*known, *facts_of((CURRENT, {**PLAN, "persistent_workers": True}, {}))))
    [found] = keeps_samples(known)
    assert "if all 1,500 are kept, the workers hold about" in found.message


@pytest.mark.parametrize(("workers", "named"), [(0, False), (2, True)])
def test_the_collectors_pauses_have_a_cure_where_there_are_no_workers(workers: int, named: bool) -> None:
    """Seen: "raise gc.set_threshold in worker_init_fn", of a loader without workers."""
    paused = {"seconds": 2.0, "pauses_s": 0.2}
    [found] = pauses(facts_of((PULSES, paused, {}), (CURRENT, {**PLAN, "num_workers": workers}, {})))
    assert ("worker_init_fn" in found.fix) is named and "gc.freeze()" in found.fix
