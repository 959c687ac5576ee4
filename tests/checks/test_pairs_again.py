"""Pairs of ids of training that stand in another split again."""

from __future__ import annotations

import numpy as np

from tests.checks.looking import Data, judged_alone

rng = np.random.default_rng(51)


def ratings(again: int = 0, listens: bool = False) -> Data:
    """What 60 users think of 80 items, each pair once; or what they listen to, again and again."""
    pairs = rng.permutation(60 * 80)[:2500] if not listens else rng.integers(0, 60 * 80, 2500)
    train, test = pairs[:2000], pairs[2000:].copy()
    test[:again] = train[rng.permutation(2000)[:again]]
    pairs = np.concatenate([train, test])
    columns = {
        "user_id": pairs // 80 + 7000,
        "item_id": pairs % 80,
        "rating": rng.integers(1, 6, 2500),
        "at": np.arange(2500),
    }
    return Data(columns, splits=["train"] * 2000 + ["test"] * 500)


SILENT = {"pairs that stand once": ratings(), "pairs that recur by nature": ratings(listens=True)}
SPEAKS = {"pairs of training": (ratings(40), "splits-near-overlap", "warning")}


def test_pairs_of_training_in_the_test_are_told() -> None:
    """Seen: users and items of training met again in the test, with another rating and a later time."""
    found = judged_alone("pairs_again", ratings(40))["splits-near-overlap"]
    assert (
        found.message.startswith("40 of 500 pairs of user_id and item_id of test also occur in train")
        and found.count == 40
    )
