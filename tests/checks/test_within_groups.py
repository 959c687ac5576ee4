"""What rows of one person or thing keep to: one sex, visits in the order of time, one way of writing its code."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks.looking import Data, judged

N = 300
GROUP = np.arange(N) // 3
VISIT = np.arange(N) % 3 + 1
DRAW = np.random.default_rng(4)
SEX = DRAW.integers(0, 2, 100)[GROUP]
CODES = [f"P{g:04}" for g in GROUP]
DAYS = np.datetime64("2020-01-03") + DRAW.integers(0, 400, 100)[GROUP] + 23 * VISIT


def people(**columns: Any) -> Data:
    return Data({"patient_id": CODES, "visit": VISIT, **columns}, kinds=dict.fromkeys(columns, "category"))


def sexes(odd: int, name: str = "sex", at: int = 2, values: Any = SEX) -> Data:
    """One value a patient, but for a row of the first of them."""
    wrong = (odd > GROUP) & (at == VISIT)
    return people(**{name: [("F", "M")[v] for v in np.where(wrong, 1 - values, values)]})


def dates(days: Any, site: Any = GROUP % 3) -> Data:
    texts = [str(day) for day in days]
    columns = {"patient_id": CODES, "visit": VISIT, "visit_date": texts, "site": [f"site {s}" for s in site]}
    return Data(columns, kinds={"visit_date": "time", "site": "category"})


def day_as_month(days: Any, of: Any) -> list[str]:
    split = [str(day).split("-") for day in days]
    return [
        f"{y}-{d}-{m}" if here and int(d) <= 12 else f"{y}-{m}-{d}" for (y, m, d), here in zip(split, of, strict=True)
    ]


def coded(written: list[str]) -> Data:
    return Data({"case": written, "x": np.arange(float(len(written))) * 7 % 31}, kinds={"case": "category"})


CONSTANT_SILENT = {
    "one sex each": sexes(0),
    "what often changes": sexes(30),
    "what is the same by chance": people(rare=["yes" if i in (7, 100, 101, 250) else "no" for i in range(N)]),
    "one value for all": people(sex=["F"] * (N - 1) + ["M"]),
}
CONSTANT_SPEAKS = {
    "the sex of a few patients": (sexes(5), "columns-contradict", "warning"),
    "a value that comes back, of people": (sexes(5, "mood"), "columns-contradict", "info"),
    "a value that comes back, of things": (
        Data({"part_id": CODES, "visit": VISIT, "metal": sexes(5).columns["sex"]}, kinds={"metal": "category"}),
        "columns-contradict",
        "warning",
    ),
    "what may have changed": (sexes(5, "smoker", at=3), "columns-contradict", "info"),
}
ORDER_SILENT = {
    "visits in order": dates(DAYS),
    "visits in any order": dates(DRAW.permutation(DAYS)),
    "numbers of another kind": dates(DAYS[::-1]),
}
ORDER_SPEAKS = {
    "visits before the first one": (
        dates(np.where((GROUP < 8) & (VISIT == 3), DAYS - 90, DAYS)),
        "order-reversed",
        "warning",
    ),
    "days and months of one site": (
        dates(day_as_month(DAYS, GROUP % 10 == 0), GROUP % 10),
        "order-reversed",
        "warning",
    ),
}
CODES_SILENT = {
    "one way": coded(CODES),
    "without zeros throughout": coded([f"P{g}" for g in GROUP]),
    "names": coded([f"{'ab'[i % 2]}lpha {i % 40}" for i in range(N)]),
    "numbers with a sign": coded([f"{(-1) ** g * (g // 2 + 1)}" for g in GROUP]),
    "two codes": coded(["P0001", "P1", "P0002", "P2", *CODES[30:]]),
}
CODES_SPEAKS = {
    "zeros that some rows lack": (
        coded([c if v < 3 else f"P{int(c[1:])}" for c, v in zip(CODES, VISIT, strict=True)]),
        "label-twins",
        "warning",
    ),
    "separators of some rows": (
        coded([c if v < 3 else f"p-{c[1:]}" for c, v in zip(CODES, VISIT, strict=True)]),
        "label-twins",
        "warning",
    ),
}


def test_a_contradiction_is_shown() -> None:
    """Our promise: how many groups are wrong, one of them with its values, and that the others are not."""
    message = judged("group_constants", sexes(5))["columns-contradict"].message
    assert "5 of the 100 values of patient_id" in message
    assert "the other 95" in message
    assert "such as P0000 (" in message


def test_a_swap_of_day_and_month_is_named() -> None:
    """Seen: dates of one site, read with day and month swapped, whose visits are each in their own order only."""
    message = judged("out_of_order", ORDER_SPEAKS["days and months of one site"][0])["order-reversed"].message
    assert "where site is site 0" in message
    assert "With day and month swapped there, they are in order" in message


def test_a_category_that_comes_back_is_a_contradiction() -> None:
    """Our promise: where many rows of each product tell its category, one that few rows have and later ones do not is no change."""
    item = DRAW.integers(0, 20, 2000)
    shelf = np.where(DRAW.random(2000) < 0.002, (item + 1) % 5, item % 5)
    columns = {"product_id": [f"SKU{i:03}" for i in item], "shelf": [f"shelf {s}" for s in shelf]}
    assert judged("dependencies", Data(columns))["columns-contradict"].severity == "warning"
