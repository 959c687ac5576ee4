"""What blocked time is told to be: waits that overlap, a store that serves no more, a lock, or the sample's own threads."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.descriptors import reopened
from dataloader_expert.advice.reading import amplification
from dataloader_expert.advice.stages import cpu_and_waits, latency, locks
from dataloader_expert.advice.surroundings import bandwidth, busy, cores
from dataloader_expert.advice.transport import drawing, head_of_line, main_busy
from dataloader_expert.advice.worker_counts import threads
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.probes.health.static_checks import ORDER_PACE, SETTINGS
from dataloader_expert.probes.health.worker_resources import OPENS
from dataloader_expert.probes.profile.avoidable import AVOIDABLE
from dataloader_expert.probes.profile.hotspots import HOTSPOTS, LOCKED
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import PULSES, READING
from dataloader_expert.probes.search.loading import CURRENT, CURVE, PREDICTED, RECOMMENDED, UNPROVED
from dataloader_expert.probes.search.ordering import ORDERING
from dataloader_expert.probes.search.trials import EPOCH_START, TRIALS
from dataloader_expert.probes.system.outside import MACHINE
from dataloader_expert.tools.recipes.diagnose_io import stages_of
from tests.advice.test_epochs import PLAN, SEEN, codes_of, facts_of

PULSE = {
    "seconds": 1.0,
    "pauses_s": 0.0,
    "threads": 3,
    "cpu_s": 0.1,
    "queue_s": 0.1,
    "helped_s": 0.0,
    "others_s": 0.0,
    "cpus": 2,
}
WAITS = (STAGE, {"ms": 10.0, "cpu_ms": 1.0, "wait_ms": 9.0}, {"stage": "read"})


def trial(workers: int, rate: float, main_ms: float = 0.1) -> dict[str, Any]:
    return {
        "num_workers": workers,
        "in_order": True,
        "throughput": {"value": rate},
        "main_ms": main_ms,
        "batch_size": 8,
    }


OF_STORES: list[Any] = [
    (MACHINE, {"cpus": 2}, {}),
    (TRIALS, [trial(0, 100.0), trial(4, 110.0)], {}),
    (CURRENT, PLAN, {}),
]


def waiting(helped_s: float = 0.0, locked: float = 0.0, best: int = 2) -> Facts:
    at = {"file": "/data/mine.py", "function": "read", "line": 7} if locked else None
    return facts_of(
        WAITS,
        (PULSES, {**PULSE, "helped_s": helped_s}, {}),
        (LOCKED, {"share": locked, "at": at}, {}),
        (MACHINE, {"cpus": 2}, {}),
        (CURRENT, PLAN, {}),
        (RECOMMENDED, {"settings": {**PLAN, "num_workers": best}, "workers": best}, {}),
        (TRIALS, [trial(0, 100.0), trial(4, 110.0)], {}),
    )


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (waiting(), ["latency-bound", "bandwidth-bound"]),
        (waiting(best=32), ["latency-bound"]),  # more workers were proved to be faster
        (waiting(locked=0.8), ["waits-for-lock"]),  # Seen: "use faster storage" for a lock
        (waiting(locked=0.1), ["latency-bound", "bandwidth-bound"]),
        (waiting(helped_s=0.01), []),  # its own threads compute
    ],
)
def test_blocked_time_is_told_for_what_it_is(facts: Facts, told: list[str]) -> None:
    assert codes_of(facts, latency, locks, bandwidth) == told


def test_the_line_that_takes_the_lock_is_named() -> None:
    [found] = locks(waiting(locked=0.8))
    assert "80% of a sample's time" in found.message and "mine.py:7 in `read`" in found.message
    assert found.where == ({"file": "/data/mine.py", "line": 7},)


def test_what_helping_threads_compute_is_no_wait() -> None:
    assert cpu_and_waits(waiting()) == pytest.approx((1.0, 9.0))
    assert cpu_and_waits(waiting(helped_s=0.001)) == pytest.approx((1.0, 9.0))  # beside it, on the other core
    assert cpu_and_waits(waiting(helped_s=0.009)) == pytest.approx((9.0, 1.0))
    assert cpu_and_waits(waiting(helped_s=1.0)) == pytest.approx((10.0, 0.0))


@pytest.mark.parametrize(("queue_s", "told"), [(0.5, ["too-many-threads"]), (0.1, [])])
def test_threads_are_counted_in_the_present_loader_too(queue_s: float, told: list[str]) -> None:
    """B12: also where batches take too long to run two workers apart."""
    facts = facts_of((PULSES, {**PULSE, "threads": 20, "queue_s": queue_s}, {}))
    assert codes_of(facts, threads) == told


@pytest.mark.parametrize(
    ("workers", "others_s", "queue_s", "told"),
    [
        (2, 0.04, 0.2, ["too-many-threads"]),
        (2, 0.0, 0.2, []),
        (2, 0.04, 0.05, []),
        (1, 0.04, 0.2, []),
        (0, 0.04, 0.2, []),
    ],
)
def test_pools_in_several_workers_compete(workers: int, others_s: float, queue_s: float, told: list[str]) -> None:
    """B12: a second thread in each of two workers on two cores, as BLAS has; one worker may well use the other core."""
    facts = facts_of(
        (PULSES, {**PULSE, "others_s": others_s, "queue_s": queue_s}, {}),
        (CURRENT, {**PLAN, "num_workers": workers}, {}),
    )
    assert codes_of(facts, threads) == told


@pytest.mark.parametrize(("begins_s", "told"), [(0.0, ["main-process-busy"]), (0.8, [])])
def test_drawing_the_order_is_not_receiving(begins_s: float, told: list[str]) -> None:
    """B30: 10 ms of a batch's 12, unless these are the sampler's, who draws the order of 80 batches in 0.8 s."""
    facts = facts_of((TRIALS, [trial(2, 666.0, 10.0)], {}), (EPOCH_START, begins_s, {"samples": 640}))
    assert codes_of(facts, main_busy) == told


def test_what_a_loader_computes_itself_is_not_receiving() -> None:
    """B30: a subclass of DataLoader that works in __iter__ does so in the main process."""
    [plain] = main_busy(facts_of((TRIALS, [trial(2, 666.0, 10.0)], {}), (SETTINGS, {"iterates": None}, {})))
    [own] = main_busy(facts_of((TRIALS, [trial(2, 666.0, 10.0)], {}), (SETTINGS, {"iterates": "Spectrograms"}, {})))
    assert "on receiving them" in plain.message
    assert "in `Spectrograms.__iter__`" in own.message and "collate function" in own.fix


def test_a_sampler_that_draws_slowly_is_not_receiving() -> None:
    """B30: 8 of 10 ms are those of the user's batch sampler: it is named with its place, and what to do with it."""
    at = {"sampler": "Buckets", "place": {"file": "mine.py", "line": 3}}
    busy_with: Any = (TRIALS, [trial(2, 666.0, 10.0)], {})
    facts = facts_of(busy_with, (ORDER_PACE, 0.001, at), (CURRENT, {**PLAN, "batch_size": 8}, {}))
    assert not [*main_busy(facts)]
    [found] = drawing(facts)
    assert "(8 ms): `Buckets.__iter__` (mine.py:3)" in found.message
    assert found.where == ({"file": "mine.py", "line": 3},)
    assert found.cost == pytest.approx(8 / 12, rel=0.01)
    assert not [*drawing(facts_of(busy_with, (ORDER_PACE, 1e-5, at), (CURRENT, PLAN, {})))]
    [quick] = main_busy(facts_of(busy_with, (ORDER_PACE, 1e-6, at)))
    assert "on receiving them" in quick.message


def test_a_sampler_without_workers_takes_its_share() -> None:
    """Seen: a batch sampler that sorts all that is left for each batch, which stages of samples and hotspots do not show."""
    at: Any = {"sampler": "Buckets", "place": {"file": "mine.py", "line": 3}}
    current = {**PLAN, "num_workers": 0}
    [found] = drawing(facts_of((TRIALS, [trial(0, 10_000.0)], {}), (ORDER_PACE, 5e-5, at), (CURRENT, current, {})))
    assert "50% of the time between two batches" in found.message and "workers" not in found.message
    torchs: Any = {"sampler": "RandomSampler", "place": None}
    assert not [*drawing(facts_of((TRIALS, [trial(0, 1e6)], {}), (ORDER_PACE, 5e-7, torchs), (CURRENT, current, {})))]


@pytest.mark.parametrize(("overtaken", "told"), [(0.4, ["head-of-line-blocking"]), (0.05, [])])
def test_workers_that_are_hardly_idle_cost_little(overtaken: float, told: list[str]) -> None:
    """B19: a gain of 1.3 that is more than the idle time could bring is that of a busy machine."""
    value = {"gain": 1.3, "low": 1.06, "overtaken": overtaken, "waited_s": 1.0}
    assert codes_of(facts_of((ORDERING, value, {"workers": 4})), head_of_line) == told


@pytest.mark.parametrize(("workers", "told"), [(2, ["main-process-busy"]), (16, [])])
def test_what_nobody_trains_with_is_no_news(workers: int, told: list[str]) -> None:
    """Our promise: a warning is of the present settings or of those recommended, not of one that was only tried."""
    facts = facts_of((TRIALS, [trial(workers, 666.0, 10.0), trial(2, 66.0, 0.1)], {}), (CURRENT, PLAN, {}))
    if workers == 2:
        facts = facts_of((TRIALS, [trial(workers, 666.0, 10.0)], {}), (CURRENT, PLAN, {}))
    assert codes_of(facts, main_busy) == told


@pytest.mark.parametrize(
    ("queue_ms", "workers", "told"),
    [
        (6.0, 1, ["machine-busy"]),
        (1.0, 1, []),
        (2.0, 2, []),  # three processes on two cores wait half as long as they run
        (6.0, 2, ["machine-busy"]),
        (14.0, 8, []),  # as nine on two do
        (24.0, 8, ["machine-busy"]),
    ],
)
def test_cores_that_others_use_are_told_from_own_processes(queue_ms: float, workers: int, told: list[str]) -> None:
    stage = {"ms": 4.0 + queue_ms, "cpu_ms": 4.0, "wait_ms": 0.0, "queue_ms": queue_ms}
    current = {**PLAN, "num_workers": workers}
    facts = facts_of((STAGE, stage, {"stage": "decode"}), (MACHINE, {"cpus": 2}, {}), (CURRENT, current, {}))
    assert codes_of(facts, busy) == told


@pytest.mark.parametrize(
    ("rates", "predicted", "queue_ms", "wait_ms", "told"),
    [
        ({2: 300.0, 3: 400.0, 16: 397.0}, {}, 27.0, 6.0, "3 workers are as fast as 16"),
        ({1: 400.0, 16: 397.0}, {}, 27.0, 6.0, "1 worker is as fast as 16"),
        ({16: 397.0}, {2: 300.0, 4: 396.0, 16: 395.0}, 27.0, 6.0, "4 workers should be as fast as 16"),
        ({2: 300.0, 16: 397.0}, {}, 27.0, 6.0, ""),
        ({3: 400.0, 16: 397.0}, {}, 1.0, 30.0, ""),
        ({1: 400.0, 2: 397.0}, {}, 27.0, 6.0, ""),
    ],
    ids=["timed", "one", "predicted", "more help", "they wait", "no more than cores"],
)
def test_workers_that_only_share_the_cores_are_told(
    rates: dict[int, float], predicted: dict[int, float], queue_ms: float, wait_ms: float, told: str
) -> None:
    """B33, also where so many share the cores that their blocked time says nothing."""
    stage = {"ms": 5.0 + queue_ms + wait_ms, "cpu_ms": 5.0, "wait_ms": wait_ms, "queue_ms": queue_ms}
    curve = [{"num_workers": n, "throughput": rate} for n, rate in predicted.items()]
    facts = facts_of(
        (STAGE, stage, {"stage": "transform"}), (MACHINE, {"cpus": 2}, {}), (CURRENT, {**PLAN, "num_workers": 16}, {}),
        (TRIALS, [trial(n, rate, 0.1) for n, rate in rates.items()], {}), (CURVE, curve, {}),
    )  # fmt: skip
    found = list(cores(facts))
    assert [told in one.message for one in found] == [True] * bool(told)
    assert all("set num_workers=" in str(one.fix) for one in found)


def test_what_computes_is_blocked_by_no_store() -> None:
    """B36: a store or service is named where reading, or a lock, is what is waited for."""
    found = [facts_of((STAGE, WAITS[1], {"stage": stage}), *OF_STORES) for stage in ("read", "transform", "collate")]
    assert [codes_of(facts, bandwidth) for facts in found] == [["bandwidth-bound"], [], []]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ([], ["cores-used-up"]),
        ([(PREDICTED, 1.4, {"workers": 15, "settings": "num_workers=15"})], []),
        ([(PREDICTED, 1.4, {"workers": 2, "settings": "num_workers=2"})], []),
        ([(UNPROVED, {"settings": "num_workers=4", "ratio": 1.2, "by_time": True}, {})], []),
        ([(RECOMMENDED, {"settings": {**PLAN, "num_workers": 4}, "workers": 4}, {})], []),
        ([(RECOMMENDED, {"settings": {**PLAN, "num_workers": 0}, "workers": 0}, {})], []),
        ([(LOCKED, {"share": 0.6, "at": None}, {})], []),
    ],
    ids=[
        "the cores",
        "more are predicted to help",
        "as many as cores are",
        "more looked faster",
        "more are advised",
        "none are advised",
        "a lock",
    ],
)
def test_cores_are_not_used_up_where_something_else_is_told(more: list[Any], told: list[str]) -> None:
    """Seen: more workers only take memory, beside advice for more of them, or for none, a prediction that fifteen are 1.4 times as fast, or a
    lock that all wait for."""
    stage = {"ms": 32.0, "cpu_ms": 5.0, "wait_ms": 0.0, "queue_ms": 27.0}
    facts = facts_of(
        (STAGE, stage, {"stage": "transform"}), (MACHINE, {"cpus": 2}, {}), (CURRENT, {**PLAN, "num_workers": 16}, {}),
        (TRIALS, [trial(1, 400.0), trial(16, 397.0)], {}), *more,
    )  # fmt: skip
    assert codes_of(facts, cores) == told


@pytest.mark.parametrize(
    ("file", "words"),
    [("a/frames.h5", "keep the handle"), ("a/notes.index.json", "keep what it holds"), ("a/shard.tar.gz", "unpack the archive")],
)  # fmt: skip
def test_the_cure_of_a_file_that_is_opened_for_each_sample_is_by_what_it_is(file: str, words: str) -> None:
    """Seen: to keep the handle of an index in JSON, which would be parsed again all the same."""
    value = {"most": [[file, 40]], "samples": 40, "paths": 1}
    [found] = reopened(facts_of((OPENS, value, {})))
    assert words in found.fix


def test_waiting_for_a_process_of_ones_own_is_no_storage() -> None:
    """Seen: samples that waited for gzip, started for each, were told to use more workers than cores and to read less."""
    work = [{"kind": "processes", "share": 0.9, "places": [], "lines": 0}]
    read = {"bytes_read_per_sample": 8e4, "bytes_delivered_per_sample": 1e4, "amplification": 8.0}
    for known, told in (([], ["latency-bound", "bandwidth-bound", "read-amplification"]), (work, [])):
        facts = waiting()
        facts.add(Fact(AVOIDABLE, known, SEEN))
        facts.add(Fact(READING, read, SEEN))
        assert codes_of(facts, latency, bandwidth, amplification) == told


@pytest.mark.parametrize(("rate", "more"), [(240.0, True), (102.0, False)])
def test_more_workers_than_cores_are_advised_unless_they_were_tried_in_vain(rate: float, more: bool) -> None:
    """Seen: "use more workers than cores", although twice as many as cores had delivered no more."""
    facts = facts_of(
        WAITS, (PULSES, PULSE, {}), (MACHINE, {"cpus": 2}, {}), (CURRENT, PLAN, {}),
        (TRIALS, [trial(0, 50.0), trial(2, 100.0), trial(4, rate)], {}),
    )  # fmt: skip
    [found] = latency(facts)
    assert found.fix.startswith("use more workers than cores") is more


def test_a_busy_machine_is_no_slow_store() -> None:
    """Seen: of a sound loader, that its storage served one worker at a time, where other processes had the cores."""
    spent = {"ms": 60.0, "cpu_ms": 1.0, "wait_ms": 31.0, "queue_ms": 28.0}
    facts = facts_of((STAGE, spent, {"stage": "unattributed"}), *OF_STORES)
    assert codes_of(facts, busy, latency, bandwidth) == ["machine-busy"]


def test_a_sleep_on_a_busy_machine_is_still_latency() -> None:
    """Seen: a sample that slept 4 ms and hardly computed, queued 0.7 ms behind other processes: the sleep was not told."""
    spent = {"ms": 4.84, "cpu_ms": 0.09, "wait_ms": 4.07, "queue_ms": 0.68}
    assert codes_of(facts_of((STAGE, spent, {"stage": "unattributed"}), *OF_STORES), latency) == ["latency-bound"]


@pytest.mark.parametrize(
    ("seen", "queue_ms", "share"),
    [
        ("transform", 400.0, 0.0),
        ("unattributed", 400.0, 90 / 94),
        ("transform", 30.0, 90 / 94),
        ("transform", 4.0, 90 / 94),
    ],
)
def test_what_other_processes_interrupt_is_the_machines_time(seen: str, queue_ms: float, share: float) -> None:
    """Seen: of 16 workers on two busy cores, "most of a sample's time (93%) is spent waiting in code that could not be attributed"."""
    stages = {"transform": (4.0, 0.0, queue_ms), "unattributed": (0.0, 90.0, 0.0)}
    facts = facts_of(
        (MACHINE, {"cpus": 2}, {}), (CURRENT, {**PLAN, "pin_memory": False}, {}), (HOTSPOTS, [{"stage": seen}], {}),
        *((STAGE, {"ms": sum(v), "cpu_ms": v[0], "wait_ms": v[1], "queue_ms": v[2]}, {"stage": s}) for s, v in stages.items()),
    )  # fmt: skip
    assert {s.name: s.share.value for s in stages_of(facts)}["unattributed"] == pytest.approx(share)
