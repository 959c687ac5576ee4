"""A split that lacks its labels, in tables without a header: the others are joined by what they hold, not by their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.loaders import create_loader
from tests.sources.tables import opened, put

RNG = np.random.default_rng(11)


def clicks(n: int) -> list[list[object]]:
    codes = [[f"{RNG.integers(40) * 7919:08x}" for _ in range(n)] for _ in range(3)]
    counts = [[RNG.integers(0, 9 * 10**i) if RNG.random() > 0.1 else "" for _ in range(n)] for i in range(3)]
    return [list(row) for row in zip(*counts, *codes, strict=True)]


def measured(n: int) -> list[list[object]]:
    return [
        [f"{x:.4f}" for x in row] for row in RNG.normal(0, 1, (n, 6)) * [1, 9, 2, 30, 4, 0.1] + [0, 3, -9, 90, 5, 1]
    ]


def split(path: Path, rows: Callable[[int], list[list[object]]], at: int | None) -> None:
    put(
        path / "train.csv",
        None,
        [[*row[:at], i % 2, *row[at:]] for i, row in enumerate(rows(300))] if at is not None else rows(300),
    )
    put(path / "test.csv", None, rows(120))


@pytest.mark.parametrize("at", [0, 6])
@pytest.mark.parametrize("rows", [clicks, measured])
def test_the_label_that_a_split_lacks_may_be_first_or_last(
    tmp_path: Path, rows: Callable[[int], list[list[object]]], at: int
) -> None:
    """Criteo, HIGGS; seen: the first feature of the test split stood under the label's name, and each other one beside its own."""
    split(tmp_path, rows, at)
    source = opened(tmp_path)
    assert (source.label, source.splits) == (f"f{at}", {"train": 300, "test": 120})
    [test] = [unit for unit in source.units if unit.split == "test"]
    own = [f"f{i}" for i in range(7) if i != at]
    assert list(source.decode(test, source.read(test)).columns) == own
    batch = next(iter(create_loader(str(tmp_path), "test", batch_size=4, shuffle=False)))
    assert (batch[f"f{at}"] == -1).all() and not batch[own[1]].isnan().all()


def test_columns_that_nothing_tells_apart_are_not_joined(tmp_path: Path) -> None:
    put(tmp_path / "train.csv", None, RNG.integers(0, 2, (300, 6)).tolist())
    put(tmp_path / "test.csv", None, RNG.integers(0, 2, (100, 5)).tolist())
    source = opened(tmp_path)
    assert source.splits == {"train": 300}
    assert "the values do not tell which" in " ".join(p.message for p in source.problems)


def test_a_damaged_row_or_a_header_moves_no_column(tmp_path: Path) -> None:
    """Columns with names are joined by these, and files of one width as they are."""
    put(tmp_path / "train.csv", [f"x{i}" for i in range(6)] + ["y"], [[*r, i % 2] for i, r in enumerate(measured(200))])
    put(tmp_path / "test.csv", [f"x{i}" for i in range(6)], measured(60))
    source = opened(tmp_path)
    assert (source.label, source.splits, source.problems) == ("y", {"train": 200, "test": 60}, [])
