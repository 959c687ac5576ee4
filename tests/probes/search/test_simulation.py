"""The simulated DataLoader against closed forms, and the forecast's fit against loaders made of known costs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.advice.forecast import fit
from dataloader_expert.probes.search.simulation import Costs, Setup, Store, law, simulate, workers_for

CPU = Costs(((0.004, 0.0),))
WAITS = Costs(((0.0, 0.008),))


@pytest.mark.parametrize(
    ("costs", "setup", "rate"),
    [
        pytest.param(CPU, Setup(16, 0, cpus=2), 250.0, id="alone, in series"),
        pytest.param(CPU, Setup(16, 0, cpus=2, step_s=0.064), 125.0, id="alone, with a step in series"),
        pytest.param(CPU, Setup(16, 1, cpus=2), 250.0, id="one worker"),
        pytest.param(CPU, Setup(16, 2, cpus=2), 500.0, id="as many as cores"),
        pytest.param(CPU, Setup(16, 6, cpus=2), 500.0, id="the cores are used up"),
        pytest.param(WAITS, Setup(16, 8, cpus=1), 1000.0, id="waiting goes on side by side"),
        pytest.param(WAITS, Setup(16, 8, cpus=1, prefetch=1), 1000.0, id="with nothing in reserve"),
        pytest.param(CPU, Setup(16, 4, cpus=4, step_s=0.1), 160.0, id="the step holds it"),
        pytest.param(
            Costs(((0.004, 0.0),), receive_s=0.05), Setup(16, 8, cpus=16), 320.0, id="the main process holds it"
        ),
    ],
)
def test_it_is_what_a_closed_form_says(costs: Costs, setup: Setup, rate: float) -> None:
    """Our promise: where theory has an answer, so have we."""
    assert simulate(costs, setup).throughput == pytest.approx(rate, rel=0.03)
    assert law(costs, setup) == pytest.approx(rate, rel=1e-6)


def test_a_worker_idles_while_its_next_order_is_on_its_way_unless_it_has_one() -> None:
    """What prefetch_factor=1 costs: a trip for each batch; with one batch in reserve it is hidden."""
    costs = Costs(((0.0, 0.008),), trip_s=0.032)
    assert simulate(costs, Setup(16, 1, cpus=1, prefetch=1)).throughput == pytest.approx(16 / 0.160, rel=0.01)
    assert simulate(costs, Setup(16, 1, cpus=1, prefetch=2)).throughput == pytest.approx(16 / 0.128, rel=0.01)
    assert simulate(costs, Setup(16, 4, cpus=1, prefetch=1)).throughput == pytest.approx(64 / 0.160, rel=0.01)


def test_uneven_samples_are_run_until_chance_evens_out() -> None:
    """One in twenty waits ten times as long: the rate is the same whatever the draw, to a few hundredths."""
    samples = tuple((0.0, 0.022 if i % 20 == 0 else 0.002) for i in range(400))
    rates = [simulate(Costs(samples), Setup(4, 6, cpus=2), seed=seed).throughput for seed in range(6)]
    assert max(rates) / min(rates) < 1.04


def test_a_store_is_shared_by_its_loaders() -> None:
    """A thousand loaders get a thousandth of the store each."""
    store = Store(bytes_per_sample=1e5, bytes_s=1e9)
    one = law(WAITS, Setup(16, 64, cpus=8, storage=store))
    many = law(WAITS, Setup(16, 64, cpus=8, storage=store, loaders=1000))
    assert one == pytest.approx(64 / (0.008 + 1e5 / 1e9 / 64), rel=1e-6)
    assert many == pytest.approx(1e9 / 1000 / 1e5, rel=1e-6)


def test_a_slow_batch_holds_up_those_that_are_ready_unless_the_order_is_given_up() -> None:
    """What was measured on a real loader, 35.9 against 86.4 batches a second, comes out of the model."""
    draw = random.Random(0)
    samples = tuple((0.0, 0.2 if draw.random() < 0.05 else 0.012) for _ in range(400))
    kept = simulate(Costs(samples), Setup(1, 4, cpus=4), 2000).throughput
    given_up = simulate(Costs(samples), Setup(1, 4, cpus=4, in_order=False), 2000).throughput
    assert given_up > 1.5 * kept


costs_of_any_kind = st.builds(
    Costs,
    samples=st.lists(st.tuples(st.floats(1e-5, 0.02), st.floats(0, 0.02)), min_size=1, max_size=8).map(tuple),
    collate_s=st.floats(0, 0.01),
    send_s=st.floats(0, 0.01),
    receive_s=st.floats(0, 0.01),
    trip_s=st.floats(0, 0.01),
)
any_setup = st.builds(
    Setup,
    batch_size=st.integers(1, 8),
    workers=st.integers(1, 6),
    prefetch=st.integers(1, 3),
    in_order=st.booleans(),
    cpus=st.sampled_from([1.0, 1.5, 2.0, 8.0]),
    step_s=st.sampled_from([0.0, 0.005, 0.05]),
)


@given(costs_of_any_kind, any_setup)
def test_it_never_beats_the_law_and_says_shares(costs: Costs, setup: Setup) -> None:
    """The bottleneck law is a bound on the mean; shares lie between none and all."""
    seen = simulate(costs, setup, 120)
    # a finite run draws a luckier or unluckier hand than the mean
    light = min(c + w for c, w in costs.samples)
    best = Costs(((min(c for c, _ in costs.samples), light - min(c for c, _ in costs.samples)),))
    bound = max(law(costs, setup), law(Costs(best.samples, costs.collate_s, costs.send_s, costs.receive_s), setup))
    assert 0 < seen.throughput <= bound * 1.35
    assert 0 <= seen.waits <= 1
    assert 0 <= seen.busy <= 1 + 1e-9


@pytest.mark.journey
@given(st.floats(1e-4, 0.01), st.floats(0, 0.01), st.floats(0, 0.004), st.floats(1.0, 1.4))
def test_a_fit_gives_back_what_it_was_fitted_on(cpu: float, waits: float, send: float, slowdown: float) -> None:
    """Our promise: the model agrees with the runs here before it speaks of others."""
    true = Costs(((cpu, waits),), send_s=send, slowdown=slowdown)
    rates = {n: simulate(true, Setup(8, n, cpus=2), 120).throughput for n in (0, 1, 2)}
    found = fit(((cpu, waits),), 8, rates, 2.0)
    for n, rate in rates.items():
        assert simulate(found, Setup(8, n, cpus=2), 120).throughput == pytest.approx(rate, rel=0.06)


def test_the_fewest_workers_that_suffice() -> None:
    """More than suffice cost memory and give nothing."""
    assert workers_for(CPU, Setup(16, 0, cpus=8))[0] == 8
    assert workers_for(WAITS, Setup(16, 0, cpus=8, step_s=0.016))[0] == 8
