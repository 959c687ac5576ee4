"""Numbers of workers that are worth a trial."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.probes.search.candidates import Costs, candidates, fewer, first_step

seconds = st.floats(0, 1)
sample = st.builds(Costs, seconds, seconds)
cpus = st.integers(1, 64)


@given(sample, cpus, st.none() | st.integers(0, 200), st.booleans())
def test_they_begin_with_none_and_keep_to_what_is_allowed(costs: Costs, n: int, asked: int | None, dear: bool) -> None:
    """Our promise: it starts from 0 workers and grows, up to the most that are allowed."""
    found = candidates(costs, n, asked, dear)
    assert found[0] == 0
    assert found == sorted(set(found))
    assert found[-1] <= (max(16, 16 * n) if asked is None else asked)


@given(sample, cpus)
def test_where_samples_wait_there_are_enough_to_hide_it(costs: Costs, n: int) -> None:
    """By the law of a CPU that none may leave idle: cores over the share in which a sample uses one."""
    most = candidates(costs, n, None, False)[-1]
    if 0.5 < costs.waiting < 1:
        assert most >= min(16 * n, n / (1 - costs.waiting))


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        pytest.param(Costs(0.004, 0.0), [0, 1, 2, 4], id="computes"),
        pytest.param(Costs(0.0, 0.008), [0, 2, 32], id="only waits"),
        pytest.param(Costs(0.002, 0.006), [0, 2, 20], id="waits most of the time"),
        pytest.param(Costs(), [0, 1, 2, 4], id="costs nothing"),
    ],
)
def test_on_two_cores(costs: Costs, expected: list[int]) -> None:
    assert candidates(costs, 2, None, False) == expected


@given(st.integers(1, 30), st.floats(0.001, 0.1), st.floats(0, 0.05), st.integers(1, 8))
def test_what_a_store_keeps_at_work_is_enough(served: int, waits: float, share: float, n: int) -> None:
    """Little's law: a store that answers ``served`` requests at a time has as many workers at work, whatever wait for it."""
    costs = Costs(share * waits, waits)
    enough = fewer(costs, n, 64, served / waits)
    if enough is None:
        near = 1.5 * served * (1 + share) + 1 >= 0.75 * 64
        assert near or served * share >= 0.6 * n or 1.5 * served * (1 + share) <= first_step(n)
    else:
        assert served < enough < 64


def test_none_is_left_out_where_each_counts() -> None:
    assert fewer(Costs(0.0, 0.008), 2, 32, 32 / 0.008) is None
    assert fewer(Costs(0.0015, 0.006), 2, 25, 2 / 0.0015) is None  # the CPUs bound it
