"""Indices that are not there from somewhere on are a length that is too large; others are samples that raise."""

from __future__ import annotations

import numpy as np
import pytest

from dataloader_expert.advice.failures import raising
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.data.own_samples import RAISES, _beyond


@pytest.mark.parametrize("tried", [40, 226])
def test_all_that_raise_above_all_that_do_not_are_beyond_the_end(tried: int) -> None:
    """Our promise: of a dataset of 100 samples that says 1,000, the end is bracketed."""
    order = np.random.default_rng(0).permutation(1000)[:tried]
    read, raised = order[order < 100].tolist(), order[order >= 100].tolist()
    assert _beyond(raised, {IndexError}, max(read), len(read)) == [max(read), min(raised)]


@pytest.mark.parametrize(
    ("read", "raised", "kind"),
    [
        ([0, 5, 9, 40], [3, 7, 30], IndexError),
        ([0, 1, 2], [9], IndexError),
        ([0], [5, 6, 7, 8], IndexError),
        (list(range(20)), list(range(30, 60)), ValueError),
        ([], list(range(30)), IndexError),
    ],
    ids=["among others", "one", "hardly any read", "another error", "none read"],
)
def test_what_may_be_chance_is_no_end(read: list[int], raised: list[int], kind: type[Exception]) -> None:
    assert _beyond(raised, {kind}, max(read, default=-1), len(read)) is None


def test_the_length_is_told() -> None:
    value = {"count": 200, "tried": 226, "error": "IndexError at sample 459: …", "garbled": "", "length": None}
    fact = Fact(RAISES, {**value, "beyond": [97, 103], "samples": [103]}, Evidence("counted", "a test"))
    [found] = raising(Facts((fact,)))
    assert found.message.startswith("__len__ is too large: all 200 indices tried from 103 on raise, and none up to 97")
    assert found.fix == "have __len__ return the number of samples, between 98 and 103"
