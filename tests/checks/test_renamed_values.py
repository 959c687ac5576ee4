"""Categories of which one value is written in another way in one split."""

from __future__ import annotations

import pytest

from tests.checks.looking import Data, judged_alone

STOPS = ["Harbour", "Market place", "Old mill", "University"]


def stops(test: list[str], name: str = "stop") -> Data:
    """Training with these stops in turn, and a test split with others."""
    values = [STOPS[i % 4] for i in range(400)] + [test[i % len(test)] for i in range(120)]
    return Data({name: values}, splits=["train"] * 400 + ["test"] * 120, kinds={name: "category"})


SOUND = {
    "the same values": stops(STOPS),
    "one is missing": stops(STOPS[:3]),
    "another one is new": stops([*STOPS[:3], "Town hall"]),
    "one has another number": stops([*STOPS[:3], "University 2"]),
    "all are others": stops([stop[:4] for stop in STOPS]),
    "versions": stops([*STOPS[:3], "Univ"], "model version"),
}
SPEAKS = {
    "an abbreviation": (stops([*STOPS[:3], "Univ."]), "label-twins", "warning"),
    "a digit for a letter": (stops([*STOPS[:2], "0ld mill", STOPS[3]]), "label-twins", "warning"),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_values_may_differ_between_splits(data: Data) -> None:
    """Our promise: what is another value, or may be, is no spelling."""
    assert judged_alone("renamed_values", data) == {}


def test_one_value_in_two_ways_is_told() -> None:
    """Seen: a stop was abbreviated in the test split, and only a drift of shares was noted."""
    found = judged_alone("renamed_values", SPEAKS["an abbreviation"][0])["label-twins"]
    assert found.count == 30
    assert "'Univ.'" in found.message and "'University'" in found.message
