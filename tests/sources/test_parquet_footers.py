"""Damaged Parquet footers: whatever a byte of one says, the process that reads it lives, and the damage is told."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dataloader_expert.errors import RequestError, Unreadable
from dataloader_expert.plan import SourceRef
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
            for _ in range(TRIED):
                at, value = draw.randrange(begin, len(whole) - 8), draw.randrange(256)
                (tmp_path / "last.txt").write_text(f"{at} {value}")
                file.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
                read_all(tmp_path)
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"seed {seed}: byte and value {(tmp_path / 'last.txt').read_text()}"
