"""Histograms count each value once, in bins that a reader can name."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.common.binned import BINS, binned


@given(st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=1, max_size=200))
def test_each_value_is_counted_once(values: list[float]) -> None:
    """Our promise: counts, and what lies below and above, are all values."""
    levels, weights = np.unique(values, return_counts=True)
    low, high = np.quantile(values, [0.01, 0.99])
    found = binned(levels, weights, (float(low), float(high)))
    assert sum(found["counts"]) + found["below"] + found["above"] == len(values)
    assert len(found["edges"]) == len(found["counts"]) + 1 <= BINS + 2
    assert found["edges"] == sorted(found["edges"])


@pytest.mark.parametrize(
    ("levels", "edges"),
    [
        pytest.param([0, 1, 3], [-0.5, 0.5, 1.5, 2.5, 3.5], id="a bin for each whole number"),
        pytest.param([5], [4.5, 5.5], id="one value"),
        pytest.param(list(range(256)), [-0.5 + 13 * i for i in range(20)] + [255.5], id="as many of pixel values each"),
    ],
)
def test_whole_numbers_lie_in_the_middle_of_their_bins(levels: list[int], edges: list[float]) -> None:
    """Our promise: no bin holds more whole numbers than the others, but the last may hold fewer."""
    assert binned(levels, [1] * len(levels))["edges"] == edges


def test_a_bin_holds_what_lies_in_it() -> None:
    """Our promise: counts stand at their values."""
    assert binned([0, 1, 3], [2, 5, 1])["counts"] == [2, 5, 0, 1]
    assert binned(np.array([0.0, 0.5, 10.0]), np.array([1, 2, 4]))["counts"] == [1, 2, *[0] * 17, 4]


def test_far_values_do_not_squeeze_the_rest_into_one_bin() -> None:
    """Our promise: what lies far out is counted beside the bins."""
    levels = np.append(np.linspace(0, 1, 99), 1e6)
    found = binned(levels, np.ones(100, int), (0.01, 0.99))
    assert found["edges"][-1] == 0.99
    assert found["above"] == 2
    assert max(found["counts"]) <= 6


def test_bins_of_large_values_keep_their_width() -> None:
    """Our promise: times in nanoseconds, close to each other, are told apart."""
    levels = 1.6e18 + np.arange(0, 1e12, 1e10)
    edges = binned(levels, np.ones(len(levels), int))["edges"]
    assert all(b > a for a, b in itertools.pairwise(edges))


def test_a_range_beyond_floats_has_no_bins() -> None:
    """Our promise: no infinity enters a result."""
    assert binned([-1.7e308, 1.7e308], [1, 1]) is None


def test_nothing_has_no_histogram() -> None:
    """Our promise: no bins of no values."""
    assert binned([], []) is None
