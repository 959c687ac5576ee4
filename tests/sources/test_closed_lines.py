"""Lines that a semicolon closes, and semicolons between numbers with decimal commas in text files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.base import Source
from dataloader_expert.sources.registry import open_source


def opened(path: Path) -> Source:
    return open_source(SourceRef(str(path), (str(path.anchor),)), [])


@pytest.mark.parametrize("name", ["raw.txt", "raw.csv"])
def test_a_semicolon_at_the_end_of_each_line_is_no_part_of_a_number(tmp_path: Path, name: str) -> None:
    """Seen: the third axis of an accelerometer was a category of texts such as '0.5;'."""
    rows = [
        f"{i % 4 + 20},{('Walking', 'Sitting', 'Jogging')[i % 3]},{i * 50},{i / 7:.4f},{i / 9:.3f};" for i in range(90)
    ]
    (tmp_path / name).write_text("\n".join(rows) + "\n")
    source = opened(tmp_path)
    assert [f.kind for f in source.fields][-2:] == ["number", "number"]
    block = source.decode(source.units[0], source.read(source.units[0]))
    np.testing.assert_allclose(block.columns["f4"].values[:3], [0, 0.111, 0.222])


def test_a_text_that_ends_in_semicolons_keeps_them(tmp_path: Path) -> None:
    """Our promise: statements of a program are texts."""
    rows = ["id,code", *(f"{i},x{i} = f({i});" for i in range(40))]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    source = opened(tmp_path)
    assert source.decode(source.units[0], source.read(source.units[0])).columns["code"].values[1] == "x1 = f(1);"


def test_numbers_with_decimal_commas_in_a_text_file_are_a_table(tmp_path: Path) -> None:
    """Seen: the loads of many clients, a column each, were one document of prose."""
    rows = ['"";"MT_001";"MT_002"', *(f'"2011-01-01 {i:02}:00:00";{i},5;{i * 3},25' for i in range(24))]
    (tmp_path / "LD2011_2014.txt").write_text("\n".join(rows) + "\n")
    source = opened(tmp_path)
    assert source.samples == 24 and [f.name for f in source.fields][1:] == ["MT_001", "MT_002"]
    assert source.decode(source.units[0], source.read(source.units[0])).columns["MT_002"].values[2] == 6.25


def test_the_only_texts_are_likelier_classes_than_the_numbers_in_front_of_them(tmp_path: Path) -> None:
    """Seen: of the steps of several persons, the person was taken for the label, not what each was doing."""
    rows = [f"{i // 30 + 1},{('Walking', 'Sitting', 'Jogging')[i % 3]},{i * 50},{i / 7:.4f}" for i in range(120)]
    (tmp_path / "raw.csv").write_text("\n".join(rows) + "\n")
    assert opened(tmp_path).label == "f1"
    (tmp_path / "raw.csv").write_text("\n".join(f"{row},{i % 2}" for i, row in enumerate(rows)) + "\n")
    assert opened(tmp_path).label == "f4"
