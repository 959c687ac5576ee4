"""Damaged Parquet footers: whatever a byte of one says, the process that reads it lives, and the damage is told."""

from __future__ import annotations

import io
import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.parquet_footer import ends_the_process
from dataloader_expert.sources.registry import open_source

TRIED = 400


def read_all(folder: Path) -> None:
    try:
        source = open_source(SourceRef(str(folder), (str(folder),)), [])
        for unit in source.units:
            try:
                source.decode(unit, source.read(unit))
            except Unreadable:
                continue
    except RequestError:
        pass


@pytest.mark.journey
@pytest.mark.filterwarnings("ignore:.*fork\\(\\)")
def test_no_byte_of_a_footer_ends_the_process_or_escapes(tmp_path: Path) -> None:
    """Our promise: a column chunk of another type than its column's, names that are no text: the file's finding."""
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    file = tmp_path / "rows.parquet"
    pq.write_table(
        pa.table({"x": range(8), "name": [f"n{i}" for i in range(8)], "label": [i % 2 for i in range(8)]}), file
    )
    whole = file.read_bytes()
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            places = [(draw.randrange(begin, len(whole) - 8), draw.randrange(256)) for _ in range(TRIED)]
            # a footer that its own length must end, and texts that become truth values
            for at, value in [(begin + 227, 76), (begin + 26, 0), *places]:
                (tmp_path / "last.txt").write_text(f"{at} {value}")
                file.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
                read_all(tmp_path)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"seed {seed}: byte and value {(tmp_path / 'last.txt').read_text()}"


def footer_of(table: pa.Table) -> bytes:
    whole = io.BytesIO()
    pq.write_table(table, whole, row_group_size=1)
    data = whole.getvalue()
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


def test_footers_of_nested_and_required_columns_are_sound() -> None:
    """Our promise: lists, maps, structs in lists and columns without nulls have the levels that their schema says."""
    nested = {"a": [[1, 2], [3]], "b": [{"x": 1, "y": [{"z": 1}]}, {"x": 2, "y": []}]}
    pairs = pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64()))
    item = pa.list_(pa.field("item", pa.int32(), nullable=False))
    schema = pa.schema([pa.field("r", pa.int64(), nullable=False), pa.field("l", item, nullable=False)])
    for table in (
        pa.table({**nested, "c": pairs}),
        pa.table([pa.array([1, 2]), pa.array([[1], [2]], item)], schema=schema),
        pa.table({f"c{i}": range(3) for i in range(40)}),
    ):
        assert not ends_the_process(footer_of(table))


def test_a_column_that_its_schema_calls_required_has_no_levels_to_count() -> None:
    """Seen: one changed byte of a schema ended the process in Arrow, which counts levels where nothing can be raised."""
    footer = footer_of(pa.table({"x": range(3)}))
    optional = bytes([0x25, 2])  # field 3 after field 1, as a small number: 1 in zigzag form
    at = footer.index(optional)
    assert ends_the_process(footer[:at] + bytes([0x25, 0]) + footer[at + 2 :])
