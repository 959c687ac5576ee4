"""Rows below a table that hold nothing, as spreadsheets write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.sources import lines
from dataloader_expert.sources.plain import read_csv
from tests.making.scanning import scan
from tests.sources.tables import opened

ROWS = [f"{i}.2.2004;{i},5;{i * 3}" for i in range(1, 28)]


@pytest.mark.parametrize("most", [1 << 16, 16], ids=["at once", "bit by bit"])
def test_rows_of_delimiters_at_the_end_are_no_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Seen: a table exported from a spreadsheet had 15 samples without any value, and a warning for each column."""
    monkeypatch.setattr(lines, "END_BYTES", most)
    (tmp_path / "air.csv").write_text("\r\n".join(["Date;CO;NOx", *ROWS, *[";;"] * 9, ""]))
    assert opened(tmp_path).samples == len(ROWS)
    found = scan(tmp_path, tmp_path).findings
    assert [f.message for f in found if f.code == "trailing-bytes"] == [
        "air.csv: ends in 9 empty rows: not read as samples"
    ]
    assert not {f.code for f in found} & {"missing-values", "duplicate-samples"}


def test_rows_of_delimiters_within_a_table_are_samples(tmp_path: Path) -> None:
    """Our promise: rows that others follow keep their place."""
    (tmp_path / "air.csv").write_text("\n".join(["Date;CO;NOx", *ROWS[:9], ";;", *ROWS[9:], ""]))
    assert opened(tmp_path).samples == len(ROWS) + 1


def test_written_code_reads_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: the loader and what is told of the data agree."""
    for name, value in {
        "DELIMITER": ",",
        "SPACED": False,
        "BEFORE": 0,
        "NAMES": None,
        "TEXTS": (),
        "DECIMAL": ".",
    }.items():
        monkeypatch.setattr(f"dataloader_expert.sources.plain.{name}", value, raising=False)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n,\n3,4\n,\n,\n")
    assert [*read_csv(tmp_path / "t.csv")] == [{"a": 1, "b": 2}, {"a": None, "b": None}, {"a": 3, "b": 4}]
