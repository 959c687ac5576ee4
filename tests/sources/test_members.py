"""Members of objects are fields of their own, whatever the format; objects that belong together stay whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from dataloader_expert.errors import Unreadable
from dataloader_expert.loaders import open_dataset
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources import plain
from dataloader_expert.sources.base import Block, Column, Source, Unit
from dataloader_expert.sources.members import flattened, members_of, with_members
from dataloader_expert.sources.registry import open_source

PAIRS = [{"id": i, "translation": {"en": f"the mat {i}", "de": f"die Matte {i}"}} for i in range(12)]


def lines(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def parquet(folder: Path, rows: list[dict[str, Any]]) -> str:
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet", row_group_size=5)
    return str(folder / "rows.parquet")


def arrow(folder: Path, rows: list[dict[str, Any]]) -> str:
    table = pa.Table.from_pylist(rows)
    with pa.OSFile(str(folder / "rows.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return str(folder / "rows.arrow")


def opened(path: str, **more: Any) -> Source:
    return open_source(SourceRef(path, roots=(str(Path(path).parent),), **more), [])


@pytest.mark.parametrize("write", [lines, parquet, arrow])
def test_members_are_fields(write: Any, tmp_path: Path) -> None:
    path = write(tmp_path, PAIRS)
    assert [f.name for f in opened(path).fields] == ["id", "translation.en", "translation.de"]
    assert open_dataset(path)[7] == {"id": 7, "translation.en": "the mat 7", "translation.de": "die Matte 7"}


@pytest.mark.parametrize("write", [lines, parquet, arrow])
def test_one_member_alone_can_be_chosen(write: Any, tmp_path: Path) -> None:
    source = opened(write(tmp_path, PAIRS), columns=("translation.de",))
    unit = source.units[0]
    assert list(source.decode(unit, source.read(unit)).columns) == ["translation.de"]


def test_a_label_within_an_object_is_one(tmp_path: Path) -> None:
    rows = [{"text": f"the mat lay there for {i} days", "meta": {"label": i % 2}} for i in range(40)]
    source = opened(lines(tmp_path, rows), label="meta.label")
    assert (source.label, source.field("meta.label").kind) == ("meta.label", "category")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value",
    [
        {"text": ["a"], "answer_start": [1]},  # lists that belong together
        {"role": "user", "content": "What now?"},  # a turn of a conversation
        {},
        "no object",
    ],
)
def test_what_belongs_together_stays(value: Any) -> None:
    assert members_of([Block(Unit(0, "f", 0, 4, 0), {"x": Column([value] * 4)})]) == {}


def test_keys_that_are_data_stay() -> None:
    values = [{f"user {i}": 1.0, f"user {i + 1}": 2.0} for i in range(30)]
    assert members_of([Block(Unit(0, "f", 0, 30, 0), {"x": Column(values)})]) == {}


def test_a_field_of_that_name_is_not_overwritten() -> None:
    columns = {"x": Column([{"a": 1}, {"a": 2}]), "x.a": Column(["own", "own"])}
    assert members_of([Block(Unit(0, "f", 0, 2, 0), columns)]) == {}


def test_what_fits_no_member_is_told_with_its_sample() -> None:
    """Our promise: nothing is lost without a word."""
    values = [{"a": 1}, "text", {"a": 2, "b": 3}, None]
    block = with_members(Block(Unit(0, "f", 10, 4, 0), {"x": Column(values)}), {"x": ["x.a"]})
    assert block.columns["x.a"].values.tolist() == [1, 0, 2, 0]
    nulls = block.columns["x.a"].nulls
    assert nulls is not None
    assert nulls.tolist() == [False, True, False, True]
    assert [(p.code, p.where["sample"]) for p in block.problems] == [("dtype-drift", 11), ("extra-key", 12)]
    assert all(isinstance(p, Unreadable) for p in block.problems)


PLAIN = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=3)
OBJECTS = st.dictionaries(st.text("abc.", min_size=1, max_size=2), PLAIN | st.dictionaries(st.text("xy", min_size=1, max_size=1), PLAIN, min_size=1, max_size=2), min_size=1, max_size=3)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(held=OBJECTS)
def test_the_code_that_is_handed_over_takes_objects_apart_alike(held: dict[str, Any]) -> None:
    plain.MEMBERS = ("x",)
    try:
        [row] = plain.apart(iter([{"x": held, "y": 1}]))
    finally:
        plain.MEMBERS = ()
    assert row == {"y": 1, **dict(flattened(held, "x"))}
