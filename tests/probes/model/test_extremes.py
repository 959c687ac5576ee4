"""Samples unlike the others are found wherever they stand."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.probes.model.extremes import WHOLE, extremes, far_larger, whole_numbers


@given(st.integers(2, 600), st.data())
def test_the_largest_number_of_each_leaf_is_found_in_any_sample(n: int, data: Any) -> None:
    """Our promise: one id beyond a table, in any of the samples that there was time for."""
    at = data.draw(st.integers(0, n - 1))
    dataset = [{"ids": torch.tensor([1, 2, 3 + 90 * (i == at)]), "x": torch.ones(2), "y": i % 3} for i in range(n)]
    found = extremes(dataset, n, None, time.monotonic() + 60, 0, lambda index: None, 4)
    assert found.looked == n and at in found.highest


@given(st.integers(2, 600), st.data())
def test_so_is_the_least(n: int, data: Any) -> None:
    """Our promise: one label of -1 or one id of 0, scalars too."""
    at = data.draw(st.integers(0, n - 1))
    dataset = [(torch.ones(2), torch.tensor(-1 if i == at else i % 3)) for i in range(n)]
    assert at in extremes(dataset, n, None, time.monotonic() + 60, 0, lambda index: None, 4).highest


def test_only_whole_numbers_count() -> None:
    sample = {"a": torch.tensor([2.5]), "b": torch.tensor([True]), "c": torch.tensor([], dtype=torch.long), "d": 7}
    assert list(whole_numbers(sample)) == [("d", (), [(WHOLE, 7, 7)])]


@given(st.integers(40, 200), st.data())
def test_columns_have_ends_and_places_of_rows_that_differ_in_length_have_none(n: int, data: Any) -> None:
    """Our promise: of columns of several kinds of ids each has its own table."""
    at = data.draw(st.integers(0, n - 1))
    rows = [torch.tensor([50, 20 + i % 20 + 20 * (i == at), 1]) for i in range(n)]
    assert at in extremes(rows, n, None, time.monotonic() + 60, 0, lambda index: None, 4).highest
    ragged = [torch.arange(3, 5 + i % 4) * 10 for i in range(n)]
    assert len(extremes(ragged, n, None, time.monotonic() + 60, 0, lambda index: None, 4).highest) == 2


@pytest.mark.parametrize(
    ("lengths", "apart"),
    [
        ([*range(40, 240), 1500, 1400], (200, 201)),
        ([*range(40, 240), 300], None),
        ([*range(40, 240), *[900] * 20], None),
        ([2**i for i in range(10)], None),
        ([100] * 200, None),
    ],
    ids=["two far larger", "one a little larger", "many large ones", "of all sizes", "alike"],
)
def test_samples_far_larger_than_all_others_are_named(lengths: list[int], apart: tuple[int, ...] | None) -> None:
    """Seen: a batch size lowered for three long texts, none of which was named."""
    found = far_larger({i: 8.0 * n for i, n in enumerate(lengths)})
    assert (found.samples if found is not None else None) == apart
