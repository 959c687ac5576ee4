"""What is said of classes of which only some samples were read: nothing about those that were not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dataloader_expert.checks.base import new_checks
from tests.checks.looking import Data, blocks_of, context_of, findings


def told(labels: list[str], samples: int) -> dict[str, str]:
    """Messages by code, where these labels are all that was read of so many samples."""
    data = Data({"x": np.arange(len(labels)), "label": labels}, "label")
    checks = new_checks(replace(context_of(data), samples=samples))
    for block in blocks_of(data):
        for check in checks.values():
            check.see(check.view(block))
    return {code: f.message for code, f in findings("classes", checks).items()}


ONE = ["a", "b"] * 7 + ["c"]


def test_a_class_seen_once_is_no_class_of_one_sample_if_others_were_not_read() -> None:
    """Our promise: the rest may hold more of it."""
    assert "label-singleton" not in told(ONE, 300)


@pytest.mark.parametrize(
    ("labels", "says"),
    [(ONE, "class c has a single sample"), ([*ONE, "d"], "2 classes have a single sample each: c, d")],
)
def test_where_all_were_read_the_class_is_named(labels: list[str], says: str) -> None:
    assert told(labels, len(labels))["label-singleton"] == says


@pytest.mark.parametrize("samples", [104, 5000])
def test_an_imbalance_of_those_read_is_told_as_that(samples: int) -> None:
    said = told(["a"] * 100 + ["b"] * 4, samples)["severe-imbalance"]
    assert said.startswith("of the samples read, ") == (samples > 104)


def test_misspelt_classes_are_counted_among_those_read() -> None:
    said = told(["contradiction", "neutral"] * 60 + ["contradicton"], 5000)
    assert said["label-twins"].startswith("of the samples read, 'contradicton', 1 sample, ")
