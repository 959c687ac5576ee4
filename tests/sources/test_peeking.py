"""What a large row group is, from rows spread over it: splits in order, keys, texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source, runs
from dataloader_expert.sources.parquet import PEEKED
from dataloader_expert.sources.registry import open_source

ROWS = 5 * PEEKED


@given(st.integers(0, 100_000), st.integers(1, 20_000))
def test_runs_are_rows_in_order_from_first_to_last(n: int, most: int) -> None:
    """Our promise: no row twice, never more than asked for, and both ends among them."""
    rows = runs(n, most)
    assert len(rows) <= most
    assert (np.diff(rows) > 0).all()
    if n:
        assert rows[0] == 0
        assert len(rows) == 1 or rows[-1] == n - 1


def opened(folder: Path, groups: int = 1, **columns: object) -> Source:
    parquet.write_table(pa.table(columns), folder / "rows.parquet", row_group_size=ROWS // groups)
    return open_source(SourceRef(str(folder), (str(folder),)), [])


def test_splits_that_follow_one_another_are_seen(tmp_path: Path) -> None:
    """Our promise: a column that names the split is found in rows that are sorted by it, whatever it is called."""
    part = ["train"] * (ROWS - ROWS // 4) + ["val"] * (ROWS // 8) + ["test"] * (ROWS // 4 - ROWS // 8)
    source = opened(tmp_path, part=part, x=np.random.default_rng(0).normal(size=ROWS))
    assert source.roles is not None
    assert source.roles.split is not None
    assert source.roles.split.field == "part"
    assert set(source.roles.splits.values()) == {"train", "val", "test"}


def test_a_running_number_of_a_large_table_is_a_key(tmp_path: Path) -> None:
    """Our promise: rows are counted, so a number of each is known for one though few are looked at."""
    rng = np.random.default_rng(1)
    few = rng.integers(0, ROWS // 2, ROWS)
    source = opened(tmp_path, 3, row=np.arange(ROWS), dealt=rng.permutation(ROWS), few=few, x=rng.normal(size=ROWS))
    assert source.roles is not None
    assert {key.field for key in source.roles.keys} == {"row", "dealt"}


def test_a_peek_holds_the_rows_it_names(tmp_path: Path) -> None:
    """Our promise: each value stands beside the row it is of, its absence too."""
    values = np.random.default_rng(2).normal(size=ROWS)
    words = [None if i % 7 == 0 else f"word {i % 50}" for i in range(ROWS)]
    source = opened(tmp_path, x=values, word=words)
    block = source.peek(source.units[0])
    assert block.rows is not None
    assert len(block.rows) == block.samples == PEEKED
    assert (block.columns["x"].values == values[block.rows]).all()
    assert block.columns["word"].values == [words[i] for i in block.rows.tolist()]
    whole = source.decode(source.units[0], source.read(source.units[0]))
    assert whole.columns["word"].values == words
    assert whole.columns["word"].counts()[None] == words.count(None)
