"""Sentences that say of which split all is that was found, and that say nothing of numbers that are names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.common.split_said import in_split
from tests.checks.looking import Data, judged

SPLITS = ["train"] * 300 + ["test"] * 100
NOISE = np.random.default_rng(3).normal(0, 1, 400)
ALL: dict[str | None, int] = {"train": 300, "test": 100}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"test": 100}, ", all of test"),
        ({"train": 0, "test": 30}, ", all in test"),
        ({"test": 2}, ""),
        ({"train": 50, "test": 30}, ""),
        ({"train": 12}, ""),
        ({}, ""),
        ({None: 30}, ""),
    ],
)
def test_a_split_is_named_that_has_them_all(found: dict[str | None, int], said: str) -> None:
    assert in_split(found, ALL) == said


def test_what_a_split_lacks_is_told_of_it() -> None:
    """Seen: 300 of 1300 values missing, which did not say that a whole split was without."""
    gone = {"tannin": [s == "test" for s in SPLITS]}
    found = judged("statistics", Data({"tannin": NOISE, "x": NOISE[::-1]}, splits=SPLITS, nulls=gone))
    assert found["missing-values"].message == "tannin is missing in 100 of 400 samples (25.0%), all of test"


def test_a_value_in_thousands_is_some() -> None:
    """Seen: "missing in 1 of 26115 samples (0.0%)"."""
    values = np.random.default_rng(4).normal(0, 1, 2400)
    found = judged("statistics", Data({"tannin": values, "x": values[::-1]}, nulls={"tannin": [True] + [False] * 2399}))
    assert found["missing-values"].message.endswith("is missing in 1 of 2400 samples (< 0.1%)")


def test_texts_of_a_split_are_told_of_it() -> None:
    texts = [f"{'<p>' * (s == 'test')}a text of the {i}th kind{'</p>' * (s == 'test')}" for i, s in enumerate(SPLITS)]
    assert (
        judged("texts", Data({"text": texts}, splits=SPLITS))["suspicious-text"].message
        == "100 texts hold HTML, all of test"
    )


def drifts(values: Any) -> bool:
    return "feature-drift" in judged("drift", Data({"swimmer": values, "x": NOISE}, splits=SPLITS))


def test_numbers_that_name_things_do_not_drift() -> None:
    """Seen: the mean of the numbers of swimmers, each of whom was in one split. A quantity whose ranges differ does drift."""
    at = np.arange(400)
    assert not drifts(np.where(at < 300, 1 + at % 12, 13 + at % 4))
    assert not drifts(np.where(at < 300, 977 * (at % 12), 977 * (13 + at % 4)))
    assert drifts(np.where(at < 300, 20 + at % 12, 32 + at % 4))
    assert drifts(np.where(at < 300, 1 + at % 12, 7 + at % 9))


def test_what_is_the_same_elsewhere_is_decided_by_nothing() -> None:
    """Seen: a sample rate that only one recorder had, which was said to be decided by the duration elsewhere."""
    at = np.arange(1200)
    rate = np.where(at % 4 == 1, 44100, 22050)
    length = (0.9 + np.random.default_rng(1).random(1200)).round(2)
    site = [f"recorder {k}" for k in at % 4]
    data = Data({"recorder": site, "rate": rate, "length": length}, kinds={"recorder": "category"})
    assert "columns-contradict" not in judged("broken_rules", data)
