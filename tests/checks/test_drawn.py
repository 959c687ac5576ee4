"""Rows that are drawn: the same however the data come in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.sources.base import Block, Column, Unit


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
