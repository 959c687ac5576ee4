"""Columns that add up in nearly all rows: told where they do not, and not where they need not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, merged

N = 900
rng = np.random.default_rng(8)
AT = np.arange(N)
FEW = AT % 60 == 11
NAMES = ["SiO2", "Al2O3", "CaO", "Na2O"]
PARTS = rng.dirichlet([9, 4, 3, 1], N) * 100
KIND = rng.choice(4, N, p=[0.4, 0.3, 0.25, 0.05])
MARKS = (KIND[:, None] == np.arange(4)).astype(int)
SPLIT = ["train"] * 700 + ["test"] * 200
COUNTS = rng.integers(0, 30, (N, 3))
MANY = (np.minimum(np.random.default_rng(2).geometric(0.12, N), 50)[:, None] == np.arange(1, 51)).astype(int)
SELDOM = (np.where(np.isin(AT, (1, 2, 5, 6, 8)), 4, KIND)[:, None] == np.arange(5)).astype(int)


def table(values: Any, names: list[str] = NAMES, splits: Any = "", **more: Any) -> Data:
    columns = {"x": rng.normal(0, 1, N)} | dict(zip(names, np.asarray(values).T, strict=True)) | more
    return Data(columns, splits=splits)


def without(values: Any, rows: Any, k: Any) -> Any:
    made = np.array(values, float)
    made[rows, k] = 0
    return made


def flags(marks: Any) -> Data:
    return table(marks, [f"char_{k}" for k in range(4)])


SPEAKS: dict[str, tuple[Data, str]] = {
    "shares without one of them": (table(without(PARTS.round(2), FEW, 1)), "Al2O3 is 0 in nearly all of these"),
    "rows without a class": (
        flags(without(MARKS, FEW, slice(None))),
        "add up to 1, but not in 15 of 900 samples: to 0",
    ),
    "a sum of other rows": (
        table(COUNTS, ["a", "b", "c"], total=np.where(FEW, COUNTS.sum(1) + 7, COUNTS.sum(1))),
        "a, b, c (3 columns) add up to total",
    ),
    "one split without a part": (
        table(without(PARTS.round(2), AT >= 700, 2), splits=SPLIT),
        "but not in 200 of 200 samples in test",
    ),
}
SILENT: dict[str, Data] = {
    "shares": table(PARTS.round(2)),
    "shares as whole numbers": table(np.rint(PARTS)),
    "one class a row": flags(MARKS),
    "several classes now and then, or none": flags(
        np.where(FEW[:, None], [0, 0, 0, 0], np.maximum(MARKS, AT[:, None] % 50 == 3))
    ),
    "marks of more classes than columns are kept": table(MANY, [f"kind_{k}" for k in range(50)]),
    "marks of a class that few rows have": table(SELDOM, [f"kind_{k}" for k in range(5)]),
    "numbers on their own": table(rng.uniform(0, 100, (N, 4)).round(1)),
    "rare marks": flags((rng.random((N, 4)) < 0.02).astype(int)),
    "a total with a tip now and then": table(
        COUNTS, ["a", "b", "c"], total=COUNTS.sum(1) + np.where(rng.random(N) < 0.2, 5, 0)
    ),
}
CASES = {name: (data, "columns-contradict", "warning") for name, (data, _) in SPEAKS.items()}


@pytest.mark.parametrize(("data", "said"), SPEAKS.values(), ids=SPEAKS)
def test_rows_that_break_a_total_are_told(data: Data, said: str) -> None:
    """Our promise: what adds up in all other rows needs no telling names."""
    found = merged("totals", data)
    assert [(f.code, f.severity) for f in found] == [("columns-contradict", "warning")]
    assert said in found[0].message


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_what_adds_up_or_need_not(data: Data) -> None:
    assert [f.message for f in merged("totals", data)] == []
