"""Which groups are in several splits."""

from __future__ import annotations

import numpy as np

from tests.checks.looking import Data, judged


def test_some_of_the_groups_are_named() -> None:
    """Our promise: the message says which patients to look for, and that there are more."""
    patient = [f"P-{i % 20:03}" for i in range(100)]
    splits = ["train"] * 85 + ["test"] * 15
    values = np.random.default_rng(3).normal(size=100)
    found = judged("leakage", Data({"patient": patient, "x": values}, splits=splits))["group-leakage"]
    assert "15 of 20 values of patient (P-005, P-006, P-007, …) have samples in more than one split" in found.message
