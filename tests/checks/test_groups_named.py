"""Which groups are in several splits."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.sources.base import FILE_NAME, Role, Roles
from tests.checks.looking import Data, judged


def test_some_of_the_groups_are_named() -> None:
    """Our promise: the message says which patients to look for, and that there are more."""
    patient = [f"P-{i % 20:03}" for i in range(100)]
    splits = ["train"] * 85 + ["test"] * 15
    values = np.random.default_rng(3).normal(size=100)
    found = judged("leakage", Data({"patient": patient, "x": values}, splits=splits))["group-leakage"]
    assert "15 of 20 values of patient (P-005, P-006, P-007, …) have samples in more than one split" in found.message


@pytest.mark.parametrize(
    ("field", "prefix", "pictures", "severity"),
    [
        ("gauge_id", "PG-", True, "warning"),
        (FILE_NAME, "vessel", True, "warning"),
        (FILE_NAME, "x", True, "info"),  # where a tile was cut
        ("shop_id", "S", False, "info"),  # rows of a table
    ],
)
def test_pictures_of_one_thing_in_two_splits_are_a_warning(
    field: str, prefix: str, pictures: bool, severity: str
) -> None:
    """Seen: photos of thirty gauges, all of them in training and in test, told as an info."""
    groups = [f"{prefix}{i % 12:02}" for i in range(72)]
    content = [Image.new("L", (8, 8), i) for i in range(72)] if pictures else np.arange(72.0)
    data = Data(
        {field: groups, "x": content},
        splits=["train"] * 48 + ["test"] * 24,
        kinds={"x": "image" if pictures else "number"},
        context={"roles": Roles(group=Role(field, "by its name", False))},
    )
    assert judged("leakage", data)["group-leakage"].severity == severity
