"""Ids that one split numbers otherwise: their cause is no scale."""

from __future__ import annotations

import numpy as np

from tests.checks.looking import Data, judged


def test_ids_that_are_counted_anew_in_a_split_have_no_scale() -> None:
    """Seen: item ids from 0 on in the test split, with the advice to use the statistics of training."""
    draw = np.random.default_rng(1)
    train, test = 40 * draw.integers(5, 100, 600), draw.integers(0, 95, 300)
    data = Data(
        {
            "userId": draw.integers(0, 90, 900),
            "movieId": np.concatenate([train, test]),
            "rating": draw.normal(0, 1, 900),
        },
        splits=["train"] * 600 + ["test"] * 300,
        kinds={"movieId": "number"},
    )
    found = judged("drift", data)["preprocessing-differs"]
    assert "numbered differently" in found.message and "original ids" in found.fix


def test_several_ids_of_a_sample_have_no_scale_either() -> None:
    """Seen: the ids of three questions to each picture were said to drift by a thousand standard deviations."""
    draw = np.random.default_rng(2)
    ids = np.concatenate([draw.integers(1, 400_000, (600, 3)), draw.integers(10**8, 10**8 + 10**5, (300, 3))])
    data = Data({"question_id": ids, "x": draw.normal(0, 1, 900)}, splits=["train"] * 600 + ["test"] * 300)
    assert judged("drift", data) == {}
