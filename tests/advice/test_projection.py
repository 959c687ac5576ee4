"""What is said of columns that are read and not used."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.projection import unused_columns
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.experiments.projection import COLUMNS, PROJECTION

READ = {
    "format": "Parquet", "file": "/d/rows.parquet", "read": 24, "used": 2, "needed": ["x", "y"], "complete": True, "share": 0.8
}  # fmt: skip


def said(gain: float, pays: bool = True, **more: Any) -> list[Any]:
    run = Evidence("timed", "a test", seen=4, interval=(0.9 * gain, 1.1 * gain))
    found = Fact(COLUMNS, {**READ, **more}, Evidence("sampled", "a test", seen=2))
    return list(unused_columns(Facts((found, Fact(PROJECTION, gain, run, {"pays": pays})))))


def test_the_file_the_columns_and_the_gain_are_named() -> None:
    """Our promise: one finding says what is read, what is used, what reading less gains, and what to write."""
    [told] = said(4.0)
    assert "a sample reads 24 columns from /d/rows.parquet and uses 2 (x, y)" in told.message
    assert "4.00 times as fast (99 % 3.60 to 4.40)" in told.message
    assert told.fix == "pass columns=['x', 'y'] where the file is read"


@pytest.mark.parametrize("more", [{"pays": False}, {"share": 0.03}], ids=["not proved", "reading costs nothing"])
def test_what_would_save_nothing_is_not_told(more: Any) -> None:
    """Our promise: columns without a proved gain, or whose reading is no part of a sample's time, are no finding."""
    assert said(4.0, **more) == []


def test_columns_that_were_not_all_tried_are_an_upper_bound() -> None:
    """Our promise: where the budget ended the search the columns used are at most so many, and none are prescribed."""
    [told] = said(4.0, complete=False, used=9)
    assert "uses at most 9 " in told.message
    assert "'x'" not in told.fix
