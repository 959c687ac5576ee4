"""Rare names that are a common one with a letter or two gone wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.common.alike import misspelt


@pytest.mark.parametrize(
    "counts",
    [
        {"male": 900, "female": 900, "mail": 1},  # too short
        {"sample10": 900, "sample11": 2},  # codes
        {"neutral": 900, "natural": 40},  # not rare enough
        {"forest": 900, "harvest": 2},  # two letters apart, and short
        {"station": 900, "stations": 900, "stationz": 1},  # either may be meant
        {"trial": 900, "trail": 90},  # swapped, but not rare enough
        {"form": 900, "from": 2},  # swapped, but too short
        {"hypertension": 900, "hypotension": 60},  # two letters apart
        {"hepatitis B": 900, "hepatitis E": 3},  # letters that name a kind
        {"diabetes type I": 900, "diabetes type III": 3},  # Roman numbers
        {"Acer Aa": 900, "Acer Ea": 5, "Acer Eb": 4},  # codes of two letters
        {
            "granularity": 900,
            "granularita": 60,
            "grade A tumours": 900,
            "grade B tumours": 60,
        },  # at the end, and a short word
    ],
)
def test_other_names_are_what_they_are(counts: dict[str, int]) -> None:
    assert misspelt(counts) == []


@given(st.text("abcdefghij", min_size=6, max_size=20), st.data())
def test_one_wrong_letter_is_found(word: str, data: st.DataObject) -> None:
    """Another, missing, added or swapped with the next."""
    at = data.draw(st.integers(0, len(word) - 2))
    how = data.draw(st.sampled_from(["another", "missing", "added", "swapped"]))
    wrong = {
        "another": word[:at] + "z" + word[at + 1 :],
        "missing": word[:at] + word[at + 1 :],
        "added": word[:at] + "z" + word[at:],
        "swapped": word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    }[how]
    expected = [(wrong, word)] if wrong != word and len(wrong) >= 6 else []
    assert misspelt({word: 500, "quite another": 300, wrong: 500 if wrong == word else 2}) == expected


def test_a_slip_amid_a_long_word_is_found_where_it_is_common() -> None:
    """Seen: "Street Maintenence" in 5 % of the samples of a class passed."""
    counts = {"Street Maintenance": 900, "Street Maintenence": 48, "Street Cleaning": 300}
    assert misspelt(counts) == [("Street Maintenence", "Street Maintenance")]


def test_two_neighbours_swapped_are_found_in_shorter_words() -> None:
    """Few words become another one so."""
    assert misspelt({"horse": 100, "hosre": 4, "house": 9}) == [("hosre", "horse")]
