"""Types of entities that are one, spelt in several ways."""

from __future__ import annotations

import pytest

from dataloader_expert.checks.common.alike import misspelt
from tests.checks.looking import Data, judged


def tagged(*odd: str) -> Data:
    """Sentences with persons and places, and one with each of these types."""
    tags = [["O", "B-PER", "I-PER", "O", "B-LOC"] for _ in range(200)] + [["O", f"B-{kind}", "O"] for kind in odd]
    return Data({"tags": tags}, kinds={"tags": "other"})


@pytest.mark.parametrize("odd", ["PRE", "EPR", "Per", "per"])
def test_a_type_spelt_otherwise_is_told(odd: str) -> None:
    found = judged("tag_schemes", tagged(odd, odd))["label-twins"]
    assert found.count == 2 and "'PER', 400 tags" in found.message and f"'{odd}', 2 tags" in found.message
    assert [place["sample"] for place in found.where] == [200, 201]


@pytest.mark.parametrize("odd", ["ORG", "PET", "PERS", "LC", "COL"])
def test_other_types_are_what_they_are(odd: str) -> None:
    """One other letter makes another short name."""
    assert judged("tag_schemes", tagged(odd, odd)) == {}


def test_a_type_that_is_not_rare_is_no_slip() -> None:
    assert judged("tag_schemes", tagged(*["PRE"] * 60)) == {}


def test_short_labels_are_codes() -> None:
    assert misspelt({"PER": 900, "PRE": 1}) == [] and misspelt({"PER": 900, "PRE": 1}, 3) == [("PRE", "PER")]


def test_several_spellings_of_one_type_are_told_together() -> None:
    found = judged("tag_schemes", tagged("PRE", "PRE", "per", "per", "per"))["label-twins"]
    assert found.count == 5 and "'per', 'PRE'" in found.message
