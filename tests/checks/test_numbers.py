"""The algebra of Numbers: any grouping gives what seeing everything at once gives, and that is numpy's."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.common import numbers as module
from dataloader_expert.checks.common.numbers import EXTREMES, LEVELS, Numbers
from dataloader_expert.checks.common.quantiles import quantile

FINITE = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3))
ANY = st.one_of(FINITE, st.sampled_from([0.0, math.nan, math.inf, -math.inf]))


@st.composite
def dealt(draw: st.DrawFn) -> list[Any]:
    """Runs of values, each of one dtype, some of them pixels."""
    parts: list[Any] = []
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            parts.append(np.array(draw(st.lists(ANY, max_size=30)), np.float64))
        else:
            parts.append(np.array(draw(st.lists(st.integers(0, 255), max_size=30)), np.uint8))
    return parts


def seen(parts: list[Any], pivot: float, cap: int = 1 << 20) -> Numbers:
    numbers = Numbers(pivot, cap)
    for part in parts:
        numbers.see(part)
    return numbers


@given(dealt(), st.floats(-100, 100), st.integers(0, 5))
def test_merging_equals_seeing_all_at_once(parts: list[Any], pivot: float, at: int) -> None:
    """Our promise: which process looked at what leaves no trace in the statistics."""
    whole = seen(parts, pivot).summary()
    left, right = seen(parts[:at], pivot), seen(parts[at:], pivot)
    left.merge(right)
    merged = left.summary()
    for name in ("n", "nan", "inf", "zeros", "min", "max"):
        assert merged[name] == whole[name]
    assert merged["quantiles"] == whole["quantiles"]
    for name in ("mean", "std", "skewness", "kurtosis"):
        a, b = merged[name], whole[name]
        assert (a is None) == (b is None)
        if a is not None:
            assert math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)


@given(dealt(), st.floats(-100, 100))
def test_statistics_are_numpys(parts: list[Any], pivot: float) -> None:
    """Our promise: population moments and linear quantiles over the finite values."""
    values = np.concatenate([np.asarray(p, np.float64) for p in parts])
    kept = values[np.isfinite(values)]
    found = seen(parts, pivot).summary()
    assert found["n"] == kept.size
    assert (found["nan"], found["inf"]) == (np.isnan(values).sum(), np.isinf(values).sum())
    if kept.size:
        scale = float(np.abs(kept).max()) + abs(pivot)
        assert math.isclose(found["mean"], kept.mean(), rel_tol=1e-9, abs_tol=1e-9 * scale)
        assert math.isclose(found["std"], kept.std(), rel_tol=1e-6, abs_tol=1e-6 * scale)
        assert (found["min"], found["max"], found["zeros"]) == (kept.min(), kept.max(), (kept == 0).sum())
        assert list(found["quantiles"].values()) == pytest.approx(np.quantile(kept, [p / 100 for p in LEVELS]))


@given(st.lists(FINITE, min_size=1, max_size=200), st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_a_quantile_of_counted_values_is_numpys(values: list[float], at: list[float]) -> None:
    """numpy.quantile's own rule, from distinct values and their counts."""
    levels, weights = np.unique(np.array(values), return_counts=True)
    assert quantile(levels, weights, at) == pytest.approx(np.quantile(values, at), rel=1e-9, abs=1e-9)


@given(st.lists(FINITE, min_size=50, max_size=200), st.integers(1, 40))
def test_quantiles_of_many_values_are_within_a_bucket(values: list[float], cap: int) -> None:
    """Our promise: beyond the cap a quantile is within 2^-8 of its value, moments stay exact."""
    array = np.array(values)
    exact, rough = seen([array], 0.0).summary(), seen([array[:20], array[20:]], 0.0, cap).summary()
    assert rough["mean"] == pytest.approx(exact["mean"], rel=1e-9, abs=1e-9)
    ordered = np.sort(array)
    for p in LEVELS:
        rank = p / 100 * (len(ordered) - 1)
        low, high = ordered[math.floor(rank)], ordered[math.ceil(rank)]
        slack = max(abs(low), abs(high)) / 250 + 1e-9
        assert low - slack <= rough["quantiles"][f"p{p}"] <= high + slack


def test_sums_about_different_pivots_do_not_merge() -> None:
    """Our promise: two numbers that are not comparable do not merge."""
    with pytest.raises(ValueError, match="do not merge"):
        seen([np.ones(3)], 0.0).merge(seen([np.ones(3)], 1.0))


def test_a_large_offset_costs_no_digits() -> None:
    """Our promise: times in seconds since 1970 keep their spread, for the sums are about a pivot."""
    values = 1.7e9 + np.random.default_rng(1).normal(0, 0.5, 10_000)
    found = seen([values], 1.7e9).summary()
    assert found["std"] == pytest.approx((values - 1.7e9).std(), rel=1e-9)
    off = (values - 1.7e9) - (values - 1.7e9).mean()
    assert found["skewness"] == pytest.approx((off**3).mean() / off.std() ** 3, rel=1e-6)


@given(st.integers(0, 1 << 32), st.integers(1, 6), st.sampled_from(["normal", "few", "sorted"]))
def test_the_most_extreme_values_are_kept_with_their_samples(seed: int, parts: int, shape: str) -> None:
    """Our promise: the farthest values are told with where they are, however many pieces the values come in."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=10_000) if shape != "few" else rng.integers(0, 100, 10_000).astype(float)
    values = np.sort(values) if shape == "sorted" else values
    numbers, first = Numbers(0.0, 0), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE", 1 << 11)  # of which each part has several
        for part in np.array_split(values, parts):
            numbers.see(part, first)
            first += len(part)
    assert [v for v, _ in numbers.lowest] == np.sort(values)[:EXTREMES].tolist()
    assert [v for v, _ in numbers.highest] == np.sort(values)[::-1][:EXTREMES].tolist()
    assert all(values[at] == v for v, at in (*numbers.lowest, *numbers.highest))


def test_far_values_of_many_samples_are_placed_though_one_sample_has_most() -> None:
    """Our promise: of a sample with many equal far values one is kept, and others have room."""
    values = np.random.default_rng(0).normal(size=(2000, 100))
    values[0, :60] = 50.0
    for sample in (500, 900, 1300):
        values[sample, :3] = 45.0
    numbers = Numbers(0.0, 0)
    for first in range(0, 2000, 64):
        numbers.see(values[first : first + 64], first, 100)
    assert {sample for value, sample in numbers.highest if value > 40} == {0, 500, 900, 1300}


def test_whole_numbers_that_floats_cannot_tell_apart_are_not_constant() -> None:
    """Our promise: consecutive numbers of nineteen digits have a range, a distribution and a histogram."""
    first = 10**18 + int(np.random.default_rng().integers(0, 10**17))
    summary = seen([np.arange(first, first + 50)], float(first)).summary(bins=True)
    assert (summary["min"], summary["max"]) == (first, first + 49)
    assert summary["distribution"] != "constant"
    assert sum(summary["histogram"]["counts"]) == 50


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=300), st.lists(st.integers(0, 300), max_size=4), st.randoms())
def test_the_same_places_whatever_the_grouping(values: list[int], cuts: list[int], chance: Any) -> None:
    """Our promise: of equal values the first samples are kept, whoever saw them, and in whatever order they are merged."""
    ends = sorted({min(c, len(values)) for c in cuts} | {0, len(values)})
    parts = list(pairwise(ends))
    chance.shuffle(parts)
    merged = Numbers()
    for start, end in parts:
        one = Numbers()
        one.see(np.array(values[start:end], np.float32), start)
        merged.merge(one)
    pairs = [(float(v), i) for i, v in enumerate(values)]
    assert merged.lowest == sorted(pairs)[:EXTREMES]
    assert merged.highest == sorted(pairs, key=lambda p: (-p[0], p[1]))[:EXTREMES]
