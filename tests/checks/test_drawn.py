"""Rows that are drawn: the same however the data come in blocks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.base import new_checks
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.sources.base import Block, Column, Unit
from tests.checks.looking import Data, context_of


def drawn(sizes: list[int]) -> tuple[list[int], int]:
    """The values that are kept of blocks of these sizes, and how many rows of any block were looked at."""
    kept, start, most = Drawn(50), 0, 0
    for k, size in enumerate(sizes):
        block = Block(Unit(k, f"part{k}", start, size, 0, None), {"x": Column(np.arange(start, start + size))})
        rows = kept.rows(block)
        kept.keep(block, rows, {"x": block.columns["x"].values[rows]})
        start, most = start + size, max(most, len(rows))
    return kept.all()[1]["x"].tolist(), most


@pytest.mark.parametrize("sizes", [[1000], [10, 990], [500, 500], [40] * 25, [999, 1]])
def test_the_same_rows_are_drawn_of_blocks_of_any_size(sizes: list[int]) -> None:
    found, looked_at = drawn(sizes)
    assert found == drawn([100] * 10)[0]
    assert len(found) == 50
    assert looked_at <= 50


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30))
def test_of_a_known_number_of_samples_the_same_rows_are_kept_and_few_others_looked_at(sizes: list[int]) -> None:
    """Our promise: knowing how many samples are read saves work, and changes nothing."""
    free, knowing, start, looked = Drawn(50), Drawn(50), 0, 0
    for size in sizes:
        block = Block(Unit(0, "x", start, size, size), {"x": Column(np.arange(start, start + size))})
        for drawn in (free, knowing):
            block.population = sum(sizes) if drawn is knowing else 0
            rows = drawn.rows(block)
            looked += len(rows) if drawn is knowing else 0
            if len(rows):
                drawn.keep(block, rows, {"x": block.columns["x"].values[rows]})
        start += size
    assert sorted(knowing.all()[1]["x"].tolist()) == sorted(free.all()[1]["x"].tolist())
    assert looked <= 160  # 100 are expected of more than that, and they scatter


def test_checks_that_draw_rows_merge_all_that_they_gather_beside_them() -> None:
    """Our promise: what is found is the same however the samples were dealt out, and to whichever process."""
    columns = {
        "site": ["a", "b"] * 20,
        "code": ["A-1", "A-2"] * 20,
        "prompt": ["what is it"] * 40,
        "response": ["it is a cat"] * 40,
        "date": ["2024-03-05", "2024-04-06"] * 20,
        "start": [0, 1] * 20,
        "end": [9, 8] * 20,
        "label": ["cat", "dog"] * 20,
    }
    made = new_checks(context_of(Data(columns, "label", ["train"] * 20 + ["test"] * 20))).values()
    checks = [pickle.loads(pickle.dumps(check)) for check in made if isinstance(check, DrawnRows)]
    assert any(check.beside for check in checks)
    for check in checks:
        own = [value for name, value in vars(check).items() if name != "drawn"]
        own += [one for value in own if isinstance(value, dict) for one in value.values()]
        assert {id(one) for one in own if hasattr(one, "merge")} == {id(one) for one in check.beside}, check
