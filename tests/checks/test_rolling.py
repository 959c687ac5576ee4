"""Rolling statistics: told where they hold the label's own or later values, look ahead, or change their window; else nothing is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.common.series_rows import Order
from dataloader_expert.checks.giveaways.windows import STATS, Window, around, candidates, over, statistics
from tests.checks.looking import Data, merged

DAYS, STORES = 200, 5
N = DAYS * STORES
rng = np.random.default_rng(8)
DAY = np.repeat(np.arange(DAYS), STORES)
STORE = np.tile(np.arange(STORES), DAYS)
DATE = [str(np.datetime64("2023-01-01") + int(d)) for d in DAY]
SHOP = [f"S{s}" for s in STORE]
SALES = rng.poisson(np.exp(2 + STORE / 3 + 0.3 * np.sin(DAY / 7 * 2 * np.pi))).astype(float)
TEMPERATURE = np.round(10 + 8 * np.sin(DAY / 60) + rng.normal(0, 2, N), 1)
RARE = (rng.random(N) < 0.1).astype(float)
SPLIT = ["train"] * (160 * STORES) + ["test"] * (40 * STORES)


def rolled(values: Any, first: int, last: int, of: Any = np.mean, decimals: int = 3) -> Any:
    """A statistic of the rows from ``first`` to ``last`` of the same store; fewer at the ends, NaN where there is none."""
    made = np.full(N, np.nan)
    for s in range(STORES):
        own = values[s == STORE]
        parts = [own[max(0, i + first) : max(0, i + last + 1)] for i in range(DAYS)]
        made[s == STORE] = [np.round(of(p), decimals) if len(p) else np.nan for p in parts]
    return made


def days(label: str | None = None, splits: Any = "", order: Any = None, **more: Any) -> Data:
    columns: dict[str, Any] = {"store": SHOP, "date": DATE, "sales": SALES, "temperature": TEMPERATURE} | more
    if order is not None:
        columns = {k: [v[i] for i in order] if isinstance(v, list) else v[order] for k, v in columns.items()}
    kinds = {"store": "category", **({label: "number"} if label else {})}
    return Data(columns, label, splits, kinds=kinds)


def known_mean(values: Any) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def within(mask: Any, one: Any, other: Any) -> Any:
    return np.where(mask, one, other)


BEFORE, WITH = rolled(SALES, -7, -1), rolled(SALES, -6, 0)
SHUFFLED = np.random.default_rng(2).permutation(N)
SLOW = np.repeat(rng.normal(0, 1, STORES)[None], DAYS, 0).ravel()

LABEL, DIFFERS, AHEAD = "label-leaked-by-field", "preprocessing-differs", "time-leakage"
SPEAKS: dict[str, tuple[Data, str, str]] = {
    "the mean of seven days with the day itself": (days("sales", sales_mean_7=WITH), LABEL, "warning"),
    "whatever the order of rows": (days("sales", order=SHUFFLED, sales_mean_7=WITH), LABEL, "warning"),
    "and its name": (days("sales", feature=WITH), LABEL, "warning"),
    "the largest of three days": (days("sales", peak_3=rolled(SALES, -2, 0, np.max)), LABEL, "warning"),
    "their deviation": (days("sales", std_14=rolled(SALES, -13, 0, lambda v: np.std(v, ddof=1) if len(v) > 1 else 0.0)), LABEL, "warning"),
    "the sum so far": (days("sales", sales_cum=rolled(SALES, -DAYS, 0, np.sum)), LABEL, "warning"),
    "how often a rare thing came of late": (days("rare", rare=RARE, rare_30=rolled(RARE, -29, 0, np.sum)), LABEL, "warning"),
    "the next day's label as that of the day before": (days("sales", sales_lag_1=rolled(SALES, 1, 1)), LABEL, "warning"),
    "a mean of days to come": (days(temperature_mean_24=rolled(TEMPERATURE, 0, 23)), AHEAD, "warning"),
    "a mean of days around": (days(temperature_smooth=rolled(TEMPERATURE, -3, 3)), AHEAD, "info"),
    "a lag the wrong way round": (days(temperature_lag_2=rolled(TEMPERATURE, 2, 2)), AHEAD, "warning"),
    "another window in the test": (days(splits=SPLIT, sales_mean_7=within(DAY < 160, WITH, BEFORE)), DIFFERS, "error"),
    "as long as another": (days(splits=SPLIT, m=within(DAY < 160, rolled(SALES, -14, -1), BEFORE)), DIFFERS, "error"),
    "in one store": (days(sales_mean_7=within(STORE == 2, WITH, BEFORE)), DIFFERS, "warning"),
    "in some weeks of a file store by store": (
        days(order=np.lexsort((DAY, STORE)), sales_mean_7=within((DAY > 90) & (DAY < 140), WITH, BEFORE)),
        DIFFERS,
        "warning",
    ),
    "in some weeks": (days(sales_mean_7=within((DAY > 90) & (DAY < 140), WITH, BEFORE)), DIFFERS, "warning"),
}  # fmt: skip
SILENT: dict[str, Data] = {
    "the mean of the days before": days("sales", sales_mean_7=BEFORE),
    "that of a feature with the day itself": days("sales", temperature_mean_7=rolled(TEMPERATURE, -6, 0)),
    "a lag": days("sales", sales_lag_7=rolled(SALES, -7, -7), sales_lag_1=rolled(SALES, -1, -1)),
    "a lag of a table without a label": days(sales_lag_1=rolled(SALES, -1, -1)),
    "what is to be predicted is a mean of days to come": days("target", target=rolled(SALES, 1, 7)),
    "and nobody said so": days(sales_next_7=rolled(SALES, 1, 7)),
    "the next state of a transition": days(next_temperature=rolled(TEMPERATURE, 1, 1)),
    "a counter of another column": days("sales", km=TEMPERATURE, odometer_total=rolled(TEMPERATURE, -DAYS, 0, np.sum)),
    "the sum of all before": days("sales", sales_cum=rolled(SALES, -DAYS, -1, np.sum)),
    "rare events before": days("rare", rare=RARE, rare_30=rolled(RARE, -30, -1, np.sum)),
    "a label that never changes": days("slow", slow=SLOW, slow_mean_7=rolled(SLOW, -6, 0)),
    "where a window of rows begins and ends": days(start=DAY * 10.0, end=DAY * 10.0 + 10, middle=DAY * 10.0 + 5),
    "a counter that is the label": days("cycle", cycle=DAY * 1.0, cycle_mean_3=DAY * 1.0 + 1),
    "a copy, and one with other values here and there": days(same=SALES, same_2=within(STORE == DAY % 6, SALES + 1, SALES)),
    "a level that only rises": days("level", level=np.cumsum(SALES), level_lag_1=np.cumsum(SALES) - SALES),
    "numbers that resemble the label": days("sales", stock_7=np.round(SALES * 3 + rng.normal(0, 2, N))),
    "no time and rows in either order": Data({"a": TEMPERATURE, "a_mean_5": np.round(np.convolve(TEMPERATURE, np.ones(5) / 5, "full")[4:], 3)}),
    "classes of few values": days("grade", grade=rng.integers(0, 3, N).astype(float), grade_2=rng.integers(0, 3, N).astype(float)),
    "a test whose windows begin anew": days(splits=SPLIT, sales_mean_7=within(DAY < 160, BEFORE, rolled(within(DAY < 160, np.nan, SALES), -7, -1, known_mean))),
}  # fmt: skip


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_statistics_of_earlier_rows(data: Data) -> None:
    """Not even an info; and of what is no statistic neither."""
    assert merged("rolling", data) == []


@pytest.mark.parametrize(("data", "code", "severity"), SPEAKS.values(), ids=SPEAKS)
def test_a_rolling_statistic_is_told_once(data: Data, code: str, severity: str) -> None:
    """With the window that gives it."""
    (found,) = merged("rolling", data)
    assert (found.code, found.severity) == (code, severity)
    assert "exactly" in found.message


@pytest.mark.parametrize("stat", STATS)
def test_windows_of_some_rows_are_those_of_all(stat: str) -> None:
    """What is tried on a few rows agrees with what is computed for all."""
    y = np.random.default_rng(3).normal(5, 2, 400)
    y[[20, 300]] = np.nan
    begin, end = np.repeat([0, 150], [150, 250]), np.repeat([150, 400], [150, 250])
    order = Order((), np.arange(400), begin, end)
    rows = np.array([0, 19, 100, 149, 150, 260, 399])
    first, last = candidates()
    tried = statistics(around(y, order, rows), first, last)[stat]
    for k in range(0, len(first), 97):
        whole = over(Window(stat, int(first[k]), int(last[k])), y, order)[rows]
        known = np.isfinite(tried[:, k])  # of windows around the row only means and the like are tried
        np.testing.assert_allclose(tried[known, k], whole[known], atol=1e-9)
