"""The easiest share first, and epoch by epoch more of it, until it is everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.samplers import CurriculumSampler


@given(
    difficulty=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80),
    epochs=st.integers(1, 9),
    start=st.floats(0.01, 1),
    seed=st.integers(0, 9),
)
def test_an_epoch_is_the_easiest_share_once(difficulty: list[float], epochs: int, start: float, seed: int) -> None:
    """Nothing that is left out is easier than what comes; shares grow by equal steps, from start to all."""
    sampler = CurriculumSampler(difficulty, epochs, start, seed)
    n = len(difficulty)
    for epoch in range(epochs + 2):
        sampler.set_epoch(epoch)
        drawn = list(sampler)
        assert len(set(drawn)) == len(drawn) == len(sampler)
        share = min(1.0, start + (1 - start) * epoch / epochs)
        assert abs(len(drawn) - max(1, share * n)) <= 0.5 + 1e-9
        left = set(range(n)) - set(drawn)
        assert max(difficulty[i] for i in drawn) <= min((difficulty[i] for i in left), default=np.inf)
    assert sorted(drawn) == list(range(n))


def test_within_its_share_an_epoch_is_shuffled() -> None:
    """Difficulty decides what comes, not when."""
    difficulty = np.arange(2_000.0)[::-1]
    drawn = CurriculumSampler(difficulty, 5, 0.5, 3).epoch_indices()
    assert set(drawn.tolist()) == set(range(1_000, 2_000))
    assert abs(np.corrcoef(np.arange(1_000), difficulty[drawn])[0, 1]) < 0.1


def test_the_mean_difficulty_rises_from_epoch_to_epoch() -> None:
    """Each pass moves on by itself."""
    difficulty = np.random.default_rng(0).normal(size=500)
    sampler = CurriculumSampler(difficulty, 6, 0.2)
    means = [float(difficulty[sampler.epoch_indices()].mean()) for _ in range(8)]
    assert means[:7] == sorted(means[:7]) and means[6] == pytest.approx(means[7])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: CurriculumSampler([1.0], start=0), "start is .*; it must be in"),
        (lambda: CurriculumSampler([1.0], start=1.1), "start is .*; it must be in"),
        (lambda: CurriculumSampler([1.0], epochs=0), "epochs is 0; it must be at least 1"),
        (lambda: CurriculumSampler([1.0, float("nan")]), r"difficulty\[1\] is NaN"),
        (lambda: CurriculumSampler([[1.0]]), r"difficulty: .*shape \[1, 1\]"),
    ],
    ids=["no share", "more than all", "no epochs", "nan", "table"],
)
def test_what_has_no_order_is_refused(make: Callable[[], Any], says: str) -> None:
    """Errors say what was given and what the rule is."""
    with pytest.raises(ValueError, match=says):
        make()
