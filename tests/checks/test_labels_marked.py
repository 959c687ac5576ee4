"""Labels that stand for none, among the labels that they are told apart from."""

from __future__ import annotations

from tests.checks.judgements.common import tabled
from tests.checks.looking import judged


def test_of_many_names_a_few_are_examples() -> None:
    """Seen: "while the classes are" five of forty names."""
    message = judged("classes", tabled([f"class {i:02}" for i in range(40)] * 5 + ["-"]))["label-out-of-range"].message
    assert "the label '-', while the other labels are names such as 'class 00' and 'class 01': treated" in message


def test_numbers_are_told_as_a_range() -> None:
    """Its twin: class numbers are all told, from the first to the last."""
    message = judged("classes", tabled([0, 1, 2, -1] * 6))["label-out-of-range"].message
    assert "the label -1, while the classes are 0 to 2: treated" in message
