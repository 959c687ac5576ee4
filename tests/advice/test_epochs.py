"""What is said of how epochs begin, and of workers that have nothing to do."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.base import Rule
from dataloader_expert.advice.causes import cause
from dataloader_expert.advice.loader_settings import order
from dataloader_expert.advice.reading import amplification, first_batch
from dataloader_expert.advice.streams import idle
from dataloader_expert.advice.surroundings import bandwidth
from dataloader_expert.advice.transport import cheap, epoch_start, startup
from dataloader_expert.facts import Evidence, Fact, Facts, Quantity
from dataloader_expert.probes.data.layout import SAMPLES
from dataloader_expert.probes.health.sample_calls import SAMPLE_CALLS
from dataloader_expert.probes.health.static_checks import LENGTH, ORDER, ORDER_DRAWN, WEIGHTS
from dataloader_expert.probes.health.worker_resources import COUNTS
from dataloader_expert.probes.profile.readers import READERS
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import READING
from dataloader_expert.probes.search.loading import CURRENT, RECOMMENDED, SPEEDUP
from dataloader_expert.probes.search.trials import EPOCH_START, IDLE, STARTING, STARTUP, THROUGHPUT, TRIALS
from dataloader_expert.probes.system.outside import MACHINE

SEEN = Evidence("timed", "loading", seen=400)
AT = {"workers": 2, "prefetch": 2, "in_order": True, "persistent": False}
PLAN = {"num_workers": 2, "prefetch_factor": 2, "in_order": True, "persistent_workers": False, "batch_size": 8}


def facts_of(*given: tuple[Quantity, Any, dict[str, Any]]) -> Facts:
    facts = Facts()
    for quantity, value, at in given:
        facts.add(Fact(quantity, value, SEEN, at))
    return facts


def codes_of(facts: Facts, *rules: Rule) -> list[str]:
    return [found.code for rule in rules for found in rule(facts)]


def epochs(again_s: float | None, start_s: float) -> Facts:
    """A loader of 800 samples, 200 a second: an epoch of 4 s."""
    begins = [] if again_s is None else [(EPOCH_START, again_s, {"samples": 800})]
    return facts_of(
        (CURRENT, PLAN, {}), (SAMPLES, 800, {}), (THROUGHPUT, 200.0, {**AT, "batch_size": 8}),
        (STARTING, start_s, {"workers": 2, "persistent": False}), *begins,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("drawn_s", "first_s", "codes"),
    [(1.0, 1.05, ["slow-epoch-start"]), (0.0, 1.05, ["slow-first-batch"]), (1.0, 2.5, ["slow-first-batch", "slow-epoch-start"])],
)  # fmt: skip
def test_a_slow_sampler_is_not_taken_for_a_slow_first_sample(drawn_s: float, first_s: float, codes: list[str]) -> None:
    """Our promise: where no epoch ended, the sampler alone tells what each begins with."""
    plan = {**PLAN, "num_workers": 0, "prefetch_factor": None}
    at = {"workers": 0, "prefetch": 0, "in_order": True, "persistent": False}
    facts = facts_of(
        (CURRENT, plan, {}), (SAMPLES, 800, {}), (THROUGHPUT, 400.0, {**at, "batch_size": 8}),
        (STARTUP, first_s, {"workers": 0, "persistent": False}), (ORDER_DRAWN, drawn_s, {}),
    )  # fmt: skip
    assert codes_of(facts, first_batch, epoch_start) == codes
    told = next((found for found in epoch_start(facts) if found), None)
    assert told is None or "the sampler takes that long to draw its order" in told.message
    sent = Facts(tuple(Fact.from_json(fact.to_json()) for fact in facts))  # as it comes from the measuring process
    assert [found.message for found in epoch_start(sent)] == [found.message for found in epoch_start(facts)]
    assert told is None or told.message.startswith("each epoch of 3 s")


@pytest.mark.parametrize(
    ("again_s", "start_s", "codes"),
    [
        (None, 1.0, ["workers-recreated"]),
        (0.0, 1.0, ["workers-recreated"]),
        (1.0, 1.05, ["slow-epoch-start"]),
        (1.0, 2.0, ["slow-epoch-start", "workers-recreated"]),
        (0.05, 0.06, []),
    ],
)
def test_a_slow_sampler_is_not_taken_for_a_slow_start(again_s: float | None, start_s: float, codes: list[str]) -> None:
    """Our promise: keeping workers is advised for what it saves, and not where the order of samples takes as long to draw."""
    assert codes_of(epochs(again_s, start_s), epoch_start, startup) == codes


@pytest.mark.parametrize(("drawn_s", "codes"), [(0.9, ["slow-epoch-start"]), (0.001, [])])
def test_a_pause_that_the_sampler_does_not_take_is_not_laid_to_it(drawn_s: float, codes: list[str]) -> None:
    """Our promise: what was timed alone and is quick is no cause of a pause, which a busy machine has too."""
    facts = epochs(1.0, 1.05)
    facts.add(Fact(ORDER_DRAWN, drawn_s, SEEN))
    assert codes_of(facts, epoch_start) == codes


@pytest.mark.parametrize("weighted", [False, True])
def test_a_weighted_draw_has_a_cure_of_its_own(weighted: bool) -> None:
    """Seen: of a WeightedRandomSampler over 3,000,000 weights, the advice to use torch.randperm."""
    facts = epochs(1.0, 1.05)
    facts.add(Fact(ORDER_DRAWN, 0.9, SEEN))
    if weighted:
        facts.add(Fact(WEIGHTS, 3_000_000, SEEN))
    [found] = epoch_start(facts)
    assert ("WeightedSampler" in found.fix, "randperm" in found.fix) == (weighted, not weighted)


def test_workers_without_samples_are_counted() -> None:
    """B7: how many of the present workers have nothing to do, and how many do."""
    [found] = idle(facts_of((IDLE, 5, {"workers": 8})))
    assert (found.code, found.fix) == ("idle-workers", "write more shards, or use num_workers=3")
    assert "5 of 8 workers" in found.message


@pytest.mark.parametrize(("decoded", "told"), [(6.0, []), (1.0, ["read-amplification"])])
def test_images_that_are_shrunk_are_not_read_in_vain(decoded: float, told: list[str]) -> None:
    """B11: six times as many bytes are read as delivered; where as many more pixels are decoded, that is what is told."""
    reading = {"amplification": 6.0, "bytes_read_per_sample": 77_000.0, "bytes_delivered_per_sample": 12_800.0}
    counts = {"decoded_pixels": 4096 * decoded, "used_pixels": 4096.0}
    assert codes_of(facts_of((READING, reading, {}), (COUNTS, counts, {})), amplification) == told


@pytest.mark.parametrize(
    ("ratio", "times", "told"), [(5.6, 4.67, []), (5.6, 2.0, []), (8.4, 2.0, ["read-amplification"])]
)
def test_what_a_sample_reads_several_times_is_not_too_much_of_it(ratio: float, times: float, told: list[str]) -> None:
    """Seen: arrays of an NPZ file that each sample read four times, told first as 6 times the bytes, with memory-mapping as the cure."""
    reading = {"amplification": ratio, "bytes_read_per_sample": 170_489.0, "bytes_delivered_per_sample": 30_400.0}
    again = {"kind": "twice", "name": "numpy", "file": "", "times": times}
    facts = facts_of((READING, reading, {}), (SAMPLE_CALLS, {"work": [again], "scans": []}, {}))
    assert codes_of(facts, amplification) == told


def test_reading_too_much_costs_what_reading_takes() -> None:
    """B11: a hundred times too much, in a line that takes 80 % of a sample's time, comes before what saves less."""
    reading = {"amplification": 100.0, "bytes_read_per_sample": 77_000.0, "bytes_delivered_per_sample": 770.0}
    read = {"library": "own", "share": 0.8, "places": [{"file": "mine.py", "line": 3}]}
    [found] = amplification(facts_of((READING, reading, {}), (READERS, [read], {})))
    assert found.cost == pytest.approx(0.8 * 0.99)
    assert found.where == ({"file": "mine.py", "line": 3},)


@pytest.mark.parametrize(("read_ms", "severity"), [(0.1, "info"), (5.0, "warning")])
def test_reading_that_no_stack_shows_costs_what_its_stage_takes(read_ms: float, severity: str) -> None:
    """Seen: a warning of reading too much where no stack was of reading, and its stage took none of the time."""
    reading = {"amplification": 9.0, "bytes_read_per_sample": 53_584.0, "bytes_delivered_per_sample": 6_152.0}
    stages: list[Any] = [(STAGE, {"ms": ms}, {"stage": s}) for s, ms in (("read", read_ms), ("transform", 20.0))]
    [found] = amplification(facts_of((READING, reading, {}), (READERS, [], {}), *stages))
    assert found.severity == severity
    assert found.cost == pytest.approx(8 / 9 * read_ms / (20 + read_ms), rel=0.02)


@pytest.mark.parametrize(
    ("library", "share", "severity", "word"),
    [
        ("npy", 0.5, "warning", "mmap_mode"),
        ("npz", 0.5, "warning", "as .npy files"),
        ("soundfile", 0.04, "info", "frames="),
        ("image", 0.5, "warning", "size"),
        ("own", 0.5, "warning", "offsets"),
    ],
)
def test_the_cure_fits_what_is_read(library: str, share: float, severity: str, word: str) -> None:
    """B11: no sound and no compressed member can be mapped; where reading takes little, little is made of it."""
    reading = {"amplification": 17.0, "bytes_read_per_sample": 264_680.0, "bytes_delivered_per_sample": 15_488.0}
    read = {"library": library, "share": share, "places": [{"file": "mine.py", "line": 22}]}
    [found] = amplification(facts_of((READING, reading, {}), (READERS, [read], {})))
    assert (found.severity, found.where) == (severity, ({"file": "mine.py", "line": 22},))
    assert word in found.fix and ("mmap" in found.fix) == (library in ("npy", "npz"))


@pytest.mark.parametrize(("again_s", "told"), [(None, ["bandwidth-bound"]), (2.0, [])])
def test_epochs_that_mostly_begin_say_nothing_of_the_store(again_s: float | None, told: list[str]) -> None:
    """B36: 32 workers that get little more than one, unless an epoch is over before they are in step."""
    rows = [(0, 180.0), (32, 360.0)]
    trials = [
        {"num_workers": n, "in_order": True, "throughput": {"value": v}, "main_ms": 0.1, "batch_size": 16}
        for n, v in rows
    ]
    begins = [] if again_s is None else [(EPOCH_START, again_s, {"samples": 800})]
    stage = {"ms": 5.0, "cpu_ms": 0.1, "wait_ms": 4.9}
    facts = facts_of((MACHINE, {"cpus": 2}, {}), (TRIALS, trials, {}), (STAGE, stage, {"stage": "read"}), *begins)
    assert codes_of(facts, bandwidth) == told


@pytest.mark.parametrize(
    ("rows", "samples", "told"),
    [
        ([(0, 46.0), (4, 95.0), (8, 100.0)], 4_000, ["bandwidth-bound"]),
        ([(0, 46.0), (4, 95.0), (32, 392.0)], 4_000, []),  # uneven samples: more workers still help
        ([(0, 10.0), (4, 9.0)], 16, []),  # an epoch of one batch
    ],
)
def test_what_does_not_show_that_the_store_is_busy(
    rows: list[tuple[int, float]], samples: int, told: list[str]
) -> None:
    """B36: only a rate that more workers do not raise, of epochs that have batches for all of them."""
    trials = [
        {"num_workers": n, "in_order": True, "throughput": {"value": v}, "main_ms": 0.1, "batch_size": 16}
        for n, v in rows
    ]
    stage = {"ms": 20.0, "cpu_ms": 0.1, "wait_ms": 19.9}
    facts = facts_of(
        (MACHINE, {"cpus": 2}, {}),
        (TRIALS, trials, {}),
        (STAGE, stage, {"stage": "read"}),
        (LENGTH, {"samples": samples, "dropped": 0}, {}),
    )
    assert codes_of(facts, bandwidth) == told
    assert [f.message.rpartition(" serves ")[2] for f in bandwidth(facts)] == ["about 2 at a time"] * len(told)


@pytest.mark.parametrize(("heeds", "severity"), [(True, "info"), (False, "warning")])
def test_an_order_that_set_epoch_changes_is_no_fault_of_the_loader(heeds: bool, severity: str) -> None:
    """Our promise: whether the training loop calls set_epoch, a loader does not show."""
    value = {"same": True, "ascending": False, "set_epoch": heeds, "heeds": heeds, "global": False}
    (found,) = order(facts_of((ORDER, value, {})))
    assert found.severity == severity
    assert ("set_epoch" in found.message) == heeds


@pytest.mark.parametrize(("alone_s", "codes"), [(0.1, []), (0.7, ["slow-epoch-start"]), (None, ["slow-epoch-start"])])
def test_a_pause_that_only_workers_make_is_not_laid_to_what_opens(alone_s: float | None, codes: list[str]) -> None:
    """Seen: on a busy machine, a stream that opens its files in 5 ms was said to begin each epoch with 0.28 s."""
    facts = epochs(1.0, 1.05)
    trials = [{"num_workers": 2, "startup_s": 2.0}] + [{"num_workers": 0, "startup_s": s} for s in [alone_s] if s]
    facts.add(Fact(TRIALS, trials, SEEN))
    assert codes_of(facts, epoch_start) == codes


@pytest.mark.parametrize(("low", "first"), [(15.0, "samples-cheaper-than-transport"), (1.02, "workers-recreated")])
def test_workers_that_are_slower_than_none_come_before_what_starting_them_costs(low: float, first: str) -> None:
    """Seen: "each epoch of 2.2 s begins with 0.20 s of worker start-up", of a loader that is 19 times as fast without workers."""
    facts = epochs(None, 0.5)
    rates = [
        {"num_workers": n, "startup_s": 0.1, "throughput": {"value": rate}} for n, rate in ((0, 4000.0), (2, 200.0))
    ]
    best = {"workers": 0, "settings": {**PLAN, "num_workers": 0}}
    spent = [
        ({"ms": ms, "cpu_ms": ms, "wait_ms": 0.0, "queue_ms": 0.0}, stage)
        for ms, stage in ((0.4, "worker_transfer"), (0.1, "collate"))
    ]
    gain = Evidence("timed", "loading", seen=3, interval=(low, 2 * low))
    for fact in (Fact(TRIALS, rates, SEEN), Fact(RECOMMENDED, best, SEEN), Fact(SPEEDUP, 1.5 * low, gain)):
        facts.add(fact)
    for value, stage in spent:
        facts.add(Fact(STAGE, value, SEEN, {"stage": stage}))
    told = cause([*startup(facts), *cheap(facts)])
    assert told is not None and told.code == first
