"""The bulk of values, and the marks beyond it, whatever else lies far away."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.common.core import core_of
from dataloader_expert.checks.common.treatments import placeholders

SEEDS = st.integers(0, 1 << 32)


@given(SEEDS, st.integers(0, 4))
def test_foreign_clusters_do_not_widen_the_bulk(seed: int, clusters: int) -> None:
    """Our promise: it is the same with far clusters of up to a twelfth of the values at either end as without."""
    rng = np.random.default_rng(seed)
    values = rng.normal(50, 3, 2000)
    far = [np.full(int(rng.integers(1, 80)), 50 + rng.choice([-1, 1]) * rng.uniform(100, 1e6)) for _ in range(clusters)]
    low, high = core_of(np.concatenate([values, *far]))
    assert (low, high) == core_of(values)


@given(SEEDS)
def test_a_tail_without_gaps_belongs_to_the_bulk(seed: int) -> None:
    """Our promise: skewed values are no foreign ones."""
    values = np.random.default_rng(seed).exponential(1, 3000)
    assert core_of(values) == (values.min(), values.max())


@given(SEEDS, st.permutations([-999.0, 9999.0, -9999.0, 99999.0]), st.integers(1, 4))
def test_several_marks_are_found_together(seed: int, marks: list[float], n: int) -> None:
    """Our promise: no mark hides another, nor does a wrong value."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(50, 3, 2000), *(np.full(5, mark) for mark in marks[:n]), [123456.0]])
    assert placeholders(*np.unique(values, return_counts=True)) == sorted(marks[:n])


@given(SEEDS)
def test_minus_one_stands_for_none_among_counts(seed: int) -> None:
    """Seen: 4 % of the counts of a gate were -1. Our promise: differences, and what ends at -1 by itself, have no such mark."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.uniform(6, 200), 2000)
    marked = np.where(rng.random(2000) < 0.04, -1, counts)
    assert placeholders(*np.unique(marked, return_counts=True)) == [-1]
    for sound in (counts, counts - counts[::-1], rng.poisson(4, 2000) - 1, np.where(counts % 2, -1, 1), marked / 2):
        assert placeholders(*np.unique(sound, return_counts=True)) == []


def test_reasons_for_a_missing_answer_go_with_the_nines() -> None:
    """Seen: of answers from 1 to 5, the 98 of those who did not know hid the 99 of those who refused."""
    answers = [1, 2, 2, 3, 3, 3, 4, 4, 5] * 20
    for marks in ([98, 99], [88, 99], [77, 88, 99], [-98, -99], [997, 998, 999]):
        levels = np.unique([*answers, *marks * 5], return_counts=True)
        assert placeholders(*levels) == sorted(marks)
    assert placeholders(*np.unique([*answers, *[88] * 5], return_counts=True)) == []
    assert placeholders(*np.unique([*range(18, 98), *[98, 99] * 5], return_counts=True)) == []


def test_a_number_of_three_hundred_digits_is_no_mark() -> None:
    """Seen: 1e308 among others was an overflow, and the statistics of all fields were lost."""
    assert placeholders(np.array([1.0, 2.0, 3.0, 1e308]), np.array([9, 9, 9, 1])) == []
