"""Texts among numbers: what is advised depends on whether they parse with a decimal comma."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.looking import Data, judged

NUMBERS = [f"{x:.2f}" for x in np.random.default_rng(4).uniform(1, 99, 400)]
COMMAS = [text.replace(".", ",") for text in NUMBERS[:30]]
READ, CORRECT = "decimal=','", "correct"


@pytest.mark.parametrize(
    ("odd", "read", "correct"),
    [(COMMAS, True, False), (["see note"] * 30, False, True), ([*COMMAS[:20], *["see note"] * 10], True, True)],
    ids=["commas", "words", "both"],
)
def test_decimal_commas_are_to_be_read_and_words_to_be_corrected(odd: list[str], read: bool, correct: bool) -> None:
    found = judged("forms", Data({"price": [*odd, *NUMBERS[30:]]}, kinds={"price": "category"}))["dtype-drift"]
    assert (READ in found.fix, CORRECT in found.fix) == (read, correct)
    assert found.count == 30


def test_dates_with_other_texts_are_not_read_with_commas() -> None:
    days = [f"2023-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(390)] + ["1,5"] * 10
    found = judged("forms", Data({"day": days}, kinds={"day": "category"}))["dtype-drift"]
    assert READ not in found.fix


def test_a_file_with_decimal_commas_is_told_beside_numbers() -> None:
    """Our promise: what a parser left as texts in one file is named, not only that the types differ."""
    values = [*(n / 8 for n in range(90)), *(f"{n},25" for n in range(20))]
    found = judged("forms", Data({"x": values}, kinds={"x": "number"}))["dtype-drift"]
    assert "with a decimal point and with a decimal comma" in found.message
    assert found.count == 20
