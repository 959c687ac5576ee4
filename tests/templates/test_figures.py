"""Figures as they are written in reports."""

from __future__ import annotations

import pytest

from dataloader_expert.report import Figure
from dataloader_expert.templates import figure


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1000.0, 1100.0, "(95 % 1,000 to 1,100, n=2, timed)"),
        (0.0, 1100.0, "(95 % 0 to 1,100, n=2, timed)"),
        (None, None, "(n=2, timed)"),
        (0.0005, 2e9, "(no useful interval, n=2, timed)"),
    ],
)
def test_an_interval_that_says_nothing_is_not_spelt_out(low: float | None, high: float | None, words: str) -> None:
    """Seen: 1,090 samples/s (95 % 0.0005707 to 2,082,655,106), from two blocks on a busy machine."""
    told = figure(Figure(value=1050.0, unit="samples/s", low=low, high=high, n=2, how="timed"))
    assert told == f"1,050 samples/s {words}"
