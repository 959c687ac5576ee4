"""Texts of rows of numbers: what is an array, and what is told of rows that are none."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.number_rows import rows_of
from tests.sources.tables import opened

RNG = np.random.default_rng(7)
DAY = datetime.date(2020, 1, 1)


def put(root: Path, form: str, decimal: str = ".") -> None:
    for c in "ab":
        (root / c).mkdir(parents=True)
        for k in range(6):
            values = [tuple(f"{v:.3f}".replace(".", decimal) for v in row) for row in RNG.normal(size=(12, 2))]
            days = [DAY + datetime.timedelta(i) for i in range(12)]
            rows = [form.format(x=x, y=y, day=day) for (x, y), day in zip(values, days, strict=True)]
            (root / c / f"{k}.txt").write_text("\n".join(rows))


@pytest.mark.parametrize(
    ("form", "decimal"),
    [
        ("{day} {x}", "."),
        ("555-0199 {x}", "."),
        ("{x} {y}", ","),
        ("{x};{y}", ","),
        ("{x}; {y}", ","),
        ("{x},,{y}", "."),
    ],
)
def test_rows_that_are_not_clearly_numbers_are_texts(tmp_path: Path, form: str, decimal: str) -> None:
    """Seen: a date before each number failed in every file, and decimal commas made four numbers of two."""
    put(tmp_path, form, decimal)
    assert opened(tmp_path).modality == "text"


@pytest.mark.parametrize("form", ["{x} {y}", "{x},{y}", "{x}, {y}", "{x};{y}", "{x}\t{y} ", "{x} , {y},"])
def test_rows_of_numbers_are_arrays(tmp_path: Path, form: str) -> None:
    put(tmp_path, form)
    source = opened(tmp_path)
    assert (source.modality, source.fields[0].shape) == ("array", (None, 2))
    assert source.decode(source.units[0], source.read(source.units[0])).columns["values"].values[0].shape == (12, 2)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("1 2\n\n\n3 n/a\n", "row 4 holds 'n/a', which is no number"),
        ("1 2\n\n3\n", "row 3 has 1 number, and others have 2"),
    ],
)
def test_a_row_is_told_by_its_line(rows: str, told: str) -> None:
    """Seen: the fourth line was called row 2, and numpy's message was shown."""
    with pytest.raises(Unreadable, match=told):
        rows_of(rows.encode(), "a.txt", 2)
