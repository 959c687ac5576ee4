"""Day and month swapped in the dates of one group: told by the order of rows, and only by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.columns.swapped_days import readings, swapped
from tests.checks.looking import Data, judged

rng = np.random.default_rng(8)
DAYS = np.datetime64("2021-01-01") + np.arange(360)
SHOPS = [f"shop {k}" for k in range(3)]


def text(day: Any, swapped: bool = False, clock: str = "") -> str:
    y, m, d = str(day).split("-")
    return (f"{m}/{d}/{y}" if swapped and int(d) <= 12 else f"{d}/{m}/{y}") + clock


def sold(days: Any = DAYS, swapped: tuple[str, ...] = (), clock: str = "", shops: list[str] | None = None) -> Data:
    """Rows of shops, one after another, in the order of these days."""
    shops = SHOPS if shops is None else shops
    dates = [text(day, shop in swapped, clock) for shop in shops for day in days]
    columns = {"date": dates, "shop": np.repeat(shops, len(days)).tolist(), "sold": rng.normal(9, 1, len(dates))}
    return Data(columns, kinds={"shop": "category"})


SPEAKS = {
    "one of three shops": sold(swapped=("shop 1",)),
    "with a time": sold(swapped=("shop 1",), clock=" 12:30"),
    "two of three": sold(swapped=("shop 0", "shop 2")),
    "newest first": sold(DAYS[::-1], swapped=("shop 1",)),
    "on some days only": sold(np.sort(rng.choice(DAYS, 150, replace=False)), swapped=("shop 2",)),
    "several rows a day": sold(np.repeat(DAYS[:200], 3), swapped=("shop 0",)),
    "all rows of one series": sold(swapped=("all",), shops=["all"]),
}
SILENT = {
    "with the day first": sold(),
    "in any order": sold(rng.permutation(DAYS), swapped=("shop 1",)),
    "sorted as text": sold(sorted(DAYS, key=text)),
    "the first of each month": sold(np.arange("2000-01", "2020-01", dtype="M8[M]").astype("M8[D]")),
    "twice a month": sold(
        np.sort(np.r_[[np.arange("2000-01", "2009-01", dtype="M8[M]").astype("M8[D]") + k for k in (0, 14)]].ravel())
    ),
    "ISO dates": Data({"date": DAYS.astype(str).tolist(), "x": rng.normal(0, 1, 360)}),
    "codes with slashes": Data({"code": [f"{i % 40:02}/{i % 12 + 1:02}/{i % 7}" for i in range(360)]}),
    "few rows": sold(DAYS[:14], swapped=("shop 1",)),
}


@pytest.mark.parametrize("data", [pytest.param(row, id=name) for name, row in SPEAKS.items()])
def test_swapped_days_are_told(data: Data) -> None:
    """Our promise: of the groups in which they are, however samples were dealt out."""
    found = judged("swapped_days", data)["dtype-drift"]
    swapped = [t for t in data.columns["date"] if t[:2] != t[3:5] and int(t[:2]) <= 12 and int(t[3:5]) <= 12]
    assert found.severity == "warning"
    assert 0 < (found.count or 0) <= len(swapped)


@pytest.mark.parametrize("data", [pytest.param(row, id=name) for name, row in SILENT.items()])
def test_others_are_not(data: Data) -> None:
    assert judged("swapped_days", data) == {}


@pytest.mark.parametrize("seed", range(30))
def test_days_in_any_order_tell_nothing(seed: int) -> None:
    """Our promise: chance puts no rows in order."""
    days = np.random.default_rng(seed).choice(DAYS, 60)
    assert not swapped(*readings([text(day, seed % 2 == 0) for day in days]))
