"""How many workers a training step needs: the fewest, by what was timed and by what is predicted between."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dataloader_expert.advice import consumer
from dataloader_expert.advice.consumer import hidden, workers_needed
from dataloader_expert.advice.forecast import forecast
from dataloader_expert.advice.loading_summary import loading_summary
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.model.step_time import STEP
from dataloader_expert.probes.profile.stages import COSTS
from dataloader_expert.probes.search.loading import CURRENT, RECOMMENDED
from dataloader_expert.probes.search.simulation import Costs, Setup, simulate
from dataloader_expert.probes.search.trials import THROUGHPUT, TRIALS
from dataloader_expert.probes.system.outside import MACHINE

TIMED = Evidence("timed", "a test")
BATCH = 32
WAITS = tuple((0.0001, 0.02) for _ in range(64))
"""Samples that wait for 20 ms: 49 a second with one worker, however many cores there are."""


def rate(workers: int) -> float:
    return simulate(Costs(WAITS), Setup(BATCH, workers, cpus=4.0)).throughput


def measured(*tried: int, costs: bool = True, best: int | None = None) -> Facts:
    trials: list[dict[str, Any]] = [
        {"num_workers": n, "prefetch_factor": 2 if n else None, "in_order": True, "batch_size": BATCH, "main_ms": 0.0}
        | {"throughput": {"value": rate(n)}}
        for n in tried
    ]
    best = max(tried) if best is None else best
    plan = {"batch_size": BATCH, "num_workers": 0}
    recommended = {"settings": {**plan, "num_workers": best}, "workers": best}
    facts = [Fact(TRIALS, trials, TIMED), Fact(CURRENT, plan, TIMED), Fact(RECOMMENDED, recommended, TIMED)]
    facts += [Fact(MACHINE, {"cpus": 4.0}, TIMED)]
    facts += [Fact(COSTS, [list(s) for s in WAITS], TIMED)] if costs else []
    return Facts(tuple(facts))


@pytest.mark.parametrize(
    ("tried", "needed"),
    [((0, 13), 7), ((0, 16), 7), ((0, 4, 13), 7), ((0, 7), 7), ((0, 8), 7), ((0, 1, 2, 4), None)],
)
def test_no_more_workers_are_needed_than_meet_the_step(tried: tuple[int, ...], needed: int | None) -> None:
    """Our promise: a batch of 32 every 100 ms takes seven workers of 49 samples/s, whichever numbers were tried."""
    assert workers_needed(measured(*tried), 100.0) == needed


def test_it_is_what_the_forecast_says() -> None:
    facts = measured(0, 13)
    found = forecast(facts, 4.0, step_s=0.1)
    assert found is not None and found.workers_for_limit == workers_needed(facts, 100.0)


def test_a_number_that_was_tried_and_is_too_few_is_not_predicted_to_do() -> None:
    """Our promise: what was timed counts for more than what is predicted."""
    facts = measured(0, 8, 13)
    slow = [{**t, "throughput": {"value": 200.0}} if t["num_workers"] == 8 else t for t in facts.value(TRIALS)]
    changed = Facts(tuple(replace(f, value=slow) if f.quantity == TRIALS else f for f in facts))
    needed = workers_needed(changed, 100.0)
    assert needed is not None and 8 < needed <= 13


def test_without_costs_it_is_the_fewest_of_those_tried() -> None:
    assert workers_needed(measured(0, 4, 13, 16, costs=False), 100.0) == 13


@pytest.mark.parametrize(
    ("rate", "how", "kept_up"), [(900.0, "timed", True), (300.0, "timed", False), (900.0, "derived", False)]
)
def test_what_only_costs_loading_time_is_no_warning_where_the_step_takes_longer(
    rate: float, how: Any, kept_up: bool
) -> None:
    """Seen: of a loader that kept up with its step, the summary began with what writing its batches to shared memory takes."""
    plan = {"batch_size": BATCH, "num_workers": 2, "persistent_workers": True}
    at = {"workers": 2, "prefetch": 2, "in_order": True, "persistent": True, "batch_size": BATCH}
    facts = Facts(
        (
            Fact(CURRENT, plan, TIMED),
            Fact(RECOMMENDED, {"settings": plan, "workers": 2}, TIMED),
            Fact(THROUGHPUT, rate, Evidence(how, "a test", seen=3), at),
            Fact(STEP, 80.0, TIMED),
        )
    )
    slow = Finding(
        "large-batches-copied", "warning", "writing a batch takes 5 ms", ({"fact": "x"},), "send uint8", cost=0.2
    )
    wrong = Finding("rng-duplicated", "error", "workers draw alike", ({"fact": "x"},), "seed them", cost=0.2)
    found = hidden(facts, [slow, wrong])
    assert [f.severity for f in found] == ["info" if kept_up else "warning", "error"]
    told = loading_summary(facts, found[:1], ("collate", 0.4, False), [], True)
    assert told.startswith("Loading keeps up with the training step of 80 ms: training waits for data") is kept_up
    assert loading_summary(facts, found, None, [], True).startswith("Workers draw alike.")


def test_what_ends_a_run_is_a_warning_although_loading_keeps_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: memory that grew without end became an info, as it also cost some loading time."""
    monkeypatch.setattr(consumer, "keeps_up", lambda facts: True)
    leak = Finding("memory-leak", "warning", "memory grows", ({"fact": "x"},), "clear it", cost=0.2)
    assert consumer.hidden(Facts(()), [leak]) == [leak]
