"""Numbers within arrays that stand for no value, beside ones that are measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

RNG = np.random.default_rng(7)
BANDS = RNG.integers(200, 5000, (80, 4, 12, 12)).astype(np.uint16)
DEPTH = RNG.integers(300, 1400, (60, 16, 16)).astype(np.uint16)
SPLITS = ["train"] * 40 + ["test"] * 20


def patches(value: int, rows: Any = range(10, 22), x: Any = BANDS) -> Data:
    """With a corner of this value."""
    made = x.copy()
    for i in rows:
        made[i, ..., :3, :3] = value
    return Data({"x": made}, kinds={"x": "array"})


def depth(train: int, test: int) -> Data:
    """Maps in which a corner has no depth, which is marked by these."""
    made = DEPTH.astype(np.int32)
    made[:40, :3, :4], made[40:, :3, :4] = train, test
    return Data({"image": list(DEPTH), "depth": list(made)}, splits=SPLITS, kinds={"depth": "mask", "image": "array"})


SILENT = {
    "values as they come": patches(300),
    "none at 0": depth(0, 0),
    "pixels that saturated": patches(65535, x=(BANDS.astype(int) * 13).clip(0, 65535).astype(np.uint16)),
    "one pixel of one sample": patches(65535, rows=range(10, 11)),
    "classes and what is ignored": Data({"x": (BANDS % 5).astype(np.int16) - 1}, kinds={"x": "array"}),
    "signals": Data({"x": RNG.normal(0, 3, (40, 30, 3)).round().astype(np.int16)}, kinds={"x": "array"}),
}
SPOILT = {
    "65535 in a corner": (patches(65535), "missing-values", "warning"),
    "-1 among depths": (depth(0, -1), "missing-values", "warning"),
}


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_measured_numbers_are_no_marks(data: Data) -> None:
    assert judged("marks_in_arrays", data) == {}


def test_a_mark_of_one_split_is_told_with_what_the_others_have() -> None:
    """Seen: depth maps of the test split had 65535 where those of training had 0, and nothing was said."""
    found = judged("marks_in_arrays", depth(0, 65535))["missing-values"]
    assert (found.count, found.severity) == (20, "warning")
    assert "depth holds 65535 in 20 of 60 samples, all of them in test" in found.message
    assert "the other splits seem to use 0 instead" in found.message


def test_a_mark_that_most_samples_have_is_only_information() -> None:
    assert judged("marks_in_arrays", patches(65535, rows=range(70)))["missing-values"].severity == "info"


def in_bytes(rows: Any) -> Data:
    maps = [(one / 8).astype(np.uint8) if i in rows else one for i, one in enumerate(DEPTH)]
    return Data({"depth": maps}, splits=SPLITS, kinds={"depth": "mask"})


FORMS_SILENT = {"depths of one dtype": in_bytes(()), "a split in bytes, which is told of it": in_bytes(range(40, 60))}
FORMS = {"depths of which some have 8 bits": (in_bytes(range(5, 17)), "dtype-drift", "warning")}


def test_depth_maps_of_eight_bits_are_told() -> None:
    """Seen: a fifth of the depth maps were stored with 8 bits, and nothing was said."""
    found = judged("depth_forms", FORMS["depths of which some have 8 bits"][0])["dtype-drift"]
    assert found.message.startswith(
        "12 of 60 depth maps are stored as uint8 (up to 174), the others as uint16 (up to 1399)"
    )
