"""Splits by time in which a few training samples are from a later period: these are named, not the whole split."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.looking import Data, judged


@pytest.mark.parametrize(("strays", "told"), [(12, True), (300, False)])
def test_a_few_training_samples_from_the_period_of_test_are_the_cause(strays: int, told: bool) -> None:
    """Our promise: 12 of 800 rows to move, and not another way to split."""
    days = np.arange(1000) + 19_000
    moved = np.linspace(0, 799, strays).astype(int)
    days[moved] = 19_810 + moved % 180
    seconds = [str(np.datetime64(int(d), "D")) for d in days]
    data = Data(
        {"taken_at": seconds, "x": np.arange(1000.0)},
        splits=["train"] * 800 + ["test"] * 200,
        kinds={"taken_at": "time"},
    )
    found = judged("leakage", data)["time-leakage"]
    assert (f"due to {strays} of 800 training samples" in found.message) is told
    assert ("move them to test" in found.fix) is told


def test_more_than_are_counted_are_no_strays() -> None:
    """Our promise: a split at random is not said to be due to the ten thousand rows that are kept."""
    seconds = np.random.default_rng(0).permutation(255_000) * 60.0 + 1.5e9
    splits = ["train"] * 230_000 + ["test"] * 25_000
    data = Data({"taken_at": seconds, "x": np.arange(255_000.0)}, splits=splits, kinds={"taken_at": "time"})
    found = judged("leakage", data)["time-leakage"]
    assert "due to" not in found.message and "split by time" in found.fix
