"""Identifiers that tell the class, as where the classes come from two systems that count apart."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.checks.looking import Data, judged

RNG = np.random.default_rng(random.SystemRandom().randrange(2**32))
LABEL = RNG.integers(0, 2, 2000)


def told(ids: Any, label: Any = LABEL) -> dict[str, Any]:
    return judged("giveaway", Data({"loan_id": ids, "x": RNG.normal(0, 1, 2000), "label": label}, "label"))


def test_ids_of_another_range_for_each_class_are_told() -> None:
    ids = np.where(LABEL == 1, 9_000_000, 4_000_000) + RNG.permutation(100_000)[:2000]
    found = told(ids)["label-leaked-by-field"]
    assert found.severity == "warning" and "loan_id" in found.message


def test_ids_that_count_rows_are_not() -> None:
    """Our promise: whether the rows are mixed or sorted by class, a number of the row is no leak."""
    assert not told(np.arange(2000))
    assert not told(np.arange(2000), np.sort(LABEL))
    assert not told(RNG.permutation(10**6)[:2000])
