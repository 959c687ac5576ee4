"""Splits of which one is written in capitals, a few texts aside."""

from __future__ import annotations

import pytest

from tests.checks.looking import Data, judged

TEXTS = [f"the reading of the meter was {'high' if n % 3 else 'low'} at {n} in the morning" for n in range(300)]


def split(train: int, test: int) -> Data:
    """So many of 200 texts for training, and of 100 for testing, are in capitals."""
    texts = [t.upper() if i % 200 < (train if i < 200 else test) else t for i, t in enumerate(TEXTS)]
    return Data({"text": texts}, splits=["train"] * 200 + ["test"] * 100, kinds={"text": "text"})


@pytest.mark.parametrize(("train", "test"), [(2, 94), (188, 1), (0, 100)])
def test_another_case_in_nearly_all_texts_is_another_preparation(train: int, test: int) -> None:
    found = judged("drift", split(train, test))["preprocessing-differs"]
    assert "capital" in found.message and found.where == ({"field": "text", "split": "test"},)


@pytest.mark.parametrize(("train", "test"), [(0, 0), (200, 100), (2, 60), (90, 90), (8, 0)])
def test_splits_that_are_mixed_alike_or_in_part_are_sound(train: int, test: int) -> None:
    assert "preprocessing-differs" not in judged("drift", split(train, test))


def test_a_script_without_capitals_is_not_written_without_capitals() -> None:
    """Our promise: Chinese has no case; it is another language, and no other way of writing."""
    english = [f"THE TRAIN TO STATION {chr(65 + i % 26)} LEAVES ON TIME" for i in range(60)]
    chinese = [f"开往第{chr(0x4E00 + i)}站的列车将会准时出发请各位旅客尽快上车谢谢" for i in range(60)]
    told = judged(
        "drift", Data({"text": [*english, *chinese]}, splits=["train"] * 60 + ["test"] * 60, kinds={"text": "text"})
    )
    assert not any("without capitals" in f.message for f in told.values())
