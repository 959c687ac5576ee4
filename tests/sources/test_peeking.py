"""What a large row group is, from rows spread over it: splits in order, keys, texts."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
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


def test_numbers_drawn_at_random_are_no_running_number(tmp_path: Path) -> None:
    """Its twin: identifiers that repeat are a field like any other, however wide their range."""
    rng = np.random.default_rng(4)
    source = opened(tmp_path, hashed=rng.integers(0, ROWS, ROWS), x=rng.normal(size=ROWS))
    assert source.roles is not None
    assert source.roles.keys == ()


def test_a_running_number_beside_images_is_a_key(tmp_path: Path) -> None:
    """Likewise where images make rows too costly to look far."""
    held = io.BytesIO()
    Image.new("RGB", (8, 8)).save(held, "PNG")
    source = opened(tmp_path, 1, frame=np.arange(300), image=[held.getvalue()] * 300)
    parquet.write_table(parquet.read_table(tmp_path / "rows.parquet"), tmp_path / "rows.parquet", row_group_size=100)
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert source.roles is not None
    assert [key.field for key in source.roles.keys] == ["frame"]


def test_two_columns_of_one_name_leave_the_last(tmp_path: Path) -> None:
    """Our promise: such a table opens, whatever its size, and both ways of reading it agree."""
    table = pa.Table.from_arrays([pa.array(range(i, ROWS + i)) for i in (0, 1, 2)], names=["a", "b", "a"])
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=ROWS)
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    assert source.peek(source.units[0]).columns["a"].values[0] == 2


@pytest.mark.parametrize("nulls", ["in the indices", "in the dictionary"])
def test_a_dictionary_that_fills_its_indices(tmp_path: Path, nulls: str) -> None:
    """Our promise: Arrow's narrow indices and nulls of either kind are read as plain texts are."""
    texts = [f"t{i}" for i in range(128 if nulls == "in the indices" else 100)]
    index = [i % len(texts) for i in range(1000)]
    if nulls == "in the indices":
        made = pa.DictionaryArray.from_arrays(pa.array([*index, None], pa.int8()), texts)
    else:
        made = pa.DictionaryArray.from_arrays(pa.array([*index, 100], pa.int8()), [*texts, None])
    table = pa.table({"text": made})
    with pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    source = open_source(SourceRef(str(tmp_path), (str(tmp_path),)), [])
    column = source.decode(source.units[0], source.read(source.units[0])).columns["text"]
    assert column.values == [*(texts[i] for i in index), None]
    assert column.nulls is not None
    assert column.nulls.nonzero()[0].tolist() == [1000]
    assert column.counts()[None] == 1


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
