"""The forecast over numbers of workers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dataloader_expert.advice.forecast import at_workers, counts, forecast
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import COSTS
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.simulation import Costs, Setup, simulate
from dataloader_expert.probes.search.trials import TRIALS
from dataloader_expert.probes.system.outside import MACHINE

TIMED = Evidence("timed", "a test")
UNEVEN = tuple((0.0, 0.2 if i % 20 == 0 else 0.01) for i in range(200))


def measured(samples: tuple[tuple[float, float], ...]) -> Facts:
    """Facts of a loader whose samples cost this, run in the main process."""
    mean = sum(c + w for c, w in samples) / len(samples)
    trial = {
        **{"num_workers": 0, "prefetch_factor": None, "in_order": True, "batch_size": 8, "main_ms": 0.0},
        "throughput": {"value": 1 / mean},
    }
    current = Fact(CURRENT, {"batch_size": 8, "num_workers": 0}, TIMED)
    return Facts((Fact(COSTS, [list(s) for s in samples], TIMED), Fact(TRIALS, [trial], TIMED), current))


@pytest.mark.parametrize(
    ("workers", "also", "rows"),
    [(1, (), [0, 1]), (6, (), [0, 1, 2, 4, 6]), (8, (3,), [0, 1, 2, 3, 4, 8]), (4, (0, 16), [0, 1, 2, 4, 16])],
)
def test_a_table_has_powers_of_two_up_to_the_limit_and_what_was_asked(
    workers: int, also: tuple[int, ...], rows: list[int]
) -> None:
    """Our promise: few rows, each number once, in order."""
    assert counts(workers, also) == rows


def test_samples_that_wait_gain_with_each_worker_up_to_the_limit() -> None:
    """Our promise: the table tells the knee: throughput doubles with the workers until the cores hold it."""
    found = forecast(measured(tuple((0.001, 0.004 + 0.006 * k / 49) for k in range(50))), 2.0, also=[40])
    assert found is not None
    rows = {row.workers: row for row in found.table}
    assert [rows[n].throughput / rows[1].throughput for n in (2, 4)] == pytest.approx([2, 4], rel=0.15)
    assert rows[found.at_workers].throughput == found.throughput
    assert rows[40].throughput == pytest.approx(2 / 0.001, rel=0.05)  # two cores, a millisecond a sample
    assert (rows[1].limit, rows[40].limit) == ("waiting", "cpu")


def test_uneven_samples_lie_below_the_law_and_even_ones_on_it() -> None:
    """Our promise: what separates the two is what the law does not know."""
    setup = Setup(8, 4, cpus=8)
    even, uneven = (at_workers(Costs(s), setup, True) for s in (((0.0, 0.0195),) * 200, UNEVEN))
    assert even.throughput == pytest.approx(even.by_law, rel=0.03)
    assert uneven.by_law == pytest.approx(even.by_law, rel=0.03)
    assert uneven.throughput < 0.9 * uneven.by_law


def test_a_short_run_of_many_workers_agrees_with_a_long_one() -> None:
    """Our promise: rows of many workers are simulated for a few rounds, and are as right for even samples."""
    costs, setup = Costs(((0.0005, 0.01),) * 20), Setup(8, 64, cpus=16)
    assert at_workers(costs, setup, False).throughput == pytest.approx(simulate(costs, setup).throughput, rel=0.05)
    assert at_workers(costs, replace(setup, workers=2), False) == at_workers(costs, replace(setup, workers=2), True)


BURNS = tuple((0.005, 0.0) for _ in range(50))
"""Samples that compute for 5 ms: 200 a second on one core."""


def on_a_busy_machine(queue_ms: float) -> Facts:
    """A loader whose samples wait so long for a core that other processes have, each time."""
    each = (5.0 + queue_ms) / 1e3
    trials = [
        {"num_workers": n, "prefetch_factor": 2, "in_order": True, "batch_size": 8, "main_ms": 1.0}
        | {"throughput": {"value": max(1, n) / each}}
        for n in (0, 1, 2)
    ]
    stage = {"ms": 5.0 + queue_ms, "cpu_ms": 5.0, "wait_ms": 0.0, "queue_ms": queue_ms}
    facts = [Fact(TRIALS, trials, TIMED), Fact(CURRENT, {"batch_size": 8, "num_workers": 0}, TIMED)]
    facts += [Fact(COSTS, [list(s) for s in BURNS], TIMED), Fact(MACHINE, {"cpus": 2.0}, TIMED)]
    facts += [Fact(STAGE, stage, TIMED, {"stage": "decode"})]
    return Facts(tuple(facts))


@pytest.mark.parametrize("queue_ms", [0.0, 8.0, 20.0])
def test_another_machine_does_not_inherit_the_neighbours_of_this_one(queue_ms: float) -> None:
    """Our promise: a forecast is of the samples' own work, however busy the machine is that measures it."""
    found = forecast(on_a_busy_machine(queue_ms), 2.0, cpus=8.0)
    assert found is not None
    rows = {row.workers: row for row in found.table}
    assert rows[1].throughput == pytest.approx(200, rel=0.1)
    assert found.throughput == pytest.approx(1600, rel=0.1)
    assert found.idle == (queue_ms > 0)


def test_this_machine_keeps_its_neighbours() -> None:
    found = forecast(on_a_busy_machine(20.0), 2.0)
    assert found is not None and found.throughput < 100 and not found.idle


@pytest.mark.parametrize("samples", [UNEVEN, BURNS, ((0.001, 0.01),) * 50])
def test_no_smaller_number_in_the_table_is_better_than_the_one_told(samples: tuple[tuple[float, float], ...]) -> None:
    """Our promise: the headline is the fewest workers that reach the best rate of the table."""
    found = forecast(measured(samples), 2.0, cpus=8.0)
    assert found is not None
    fewer = [row.throughput for row in found.table if row.workers < found.at_workers]
    assert all(rate < found.throughput for rate in fewer)
    assert max(row.throughput for row in found.table) <= found.throughput / 0.98
