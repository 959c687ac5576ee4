"""Columns that are made of others: told where they are not in one part of the rows, and that alone explains which."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, merged

N = 1500
rng = np.random.default_rng(15)
DAYS = np.datetime64("2021-05-01") + np.arange(N) // 2
DATES = [str(day) for day in DAYS]
WINTER = [f"{2023 + (m < 3)}-{m:02d}-{1 + i % 28:02d}" for m in (11, 12, 1, 2) for i in range(300)]
WEEKDAY = (DAYS.astype(int) + 3) % 7
MONTH = DAYS.astype("M8[M]").astype(int) % 12 + 1
YEAR = DAYS.astype("M8[Y]").astype(int) + 1970
SITE = np.arange(N) % 4
NAMES = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
NIGHT = np.round(rng.gamma(3, 20, N), 2)
FOOD = np.round(rng.gamma(2, 9, N), 2)
GUESTS = rng.integers(1, 9, N)
SPELL = (np.arange(N) >= 700) & (np.arange(N) < 1000)
SINCE = np.arange(N) >= 1000
SPLIT = ["train"] * 1000 + ["test"] * 500
BORN = np.datetime64("2021-05-01") - rng.integers(7000, 30000, N)
AGE = np.floor((DAYS - BORN).astype(int) / 365.2425)


def visits(splits: Any = "", order: Any = None, **more: Any) -> Data:
    columns: dict[str, Any] = {"date": DATES, "x": NIGHT, "site": [f"site {s}" for s in SITE]} | more
    if order is not None:
        columns = {k: [v[i] for i in order] if isinstance(v, list) else v[order] for k, v in columns.items()}
    kinds = {"site": "category", "date": "time", "born": "time"} | {
        k: "category" for k in ("day", "month_name") if k in columns
    }
    return Data(columns, splits=splits, kinds={k: v for k, v in kinds.items() if k in columns})


def bill(total: Any, **more: Any) -> Data:
    return visits(night=NIGHT, food=FOOD, total=np.round(total, 2), **more)


def ratios(ratio: Any, power: Any, heat: Any, **more: Any) -> Data:
    return visits(power=power, heat=heat, cop=ratio, **more)


POWER = np.round(rng.uniform(800, 2400, N), 1)
HEAT = np.round(POWER * rng.uniform(2.5, 4.5, N), 1)
COP = np.round(HEAT / POWER, 2)
STRAYS = np.arange(N) % 100 == 7
TALL = np.round(rng.normal(170, 9, N), 1)
KILOS = np.round(rng.normal(76, 12, N), 1)
BMI = np.round(KILOS / (TALL / 100) ** 2, 1)
SHUFFLED = np.random.default_rng(4).permutation(N)
OTHER = rng.permutation(NIGHT + FOOD)
SPEAKS: dict[str, tuple[Data, str, str]] = {
    "the day of the week from a day on": (visits(weekday=np.where(SINCE, (WEEKDAY + 1) % 7, WEEKDAY)), "columns-contradict", "warning"),
    "whatever the order of rows": (visits(order=SHUFFLED, weekday=np.where(SINCE, (WEEKDAY + 1) % 7, WEEKDAY)), "columns-contradict", "warning"),
    "counted from Sunday, and by name": (visits(day=[NAMES[(w + 6 * s) % 7] for w, s in zip(WEEKDAY, SPELL, strict=True)]), "columns-contradict", "warning"),
    "unknown at one site": (visits(weekday=["Unk" if s == 2 else NAMES[w] for w, s in zip(WEEKDAY, SITE, strict=True)]), "columns-contradict", "warning"),
    "at one site": (visits(weekday=np.where(SITE == 2, (WEEKDAY + 1) % 7, WEEKDAY)), "columns-contradict", "warning"),
    "in the test": (visits(splits=SPLIT, weekday=np.where(SINCE, (WEEKDAY + 1) % 7 + 1, WEEKDAY + 1)), "columns-contradict", "warning"),
    "the month in a stretch": (visits(month=np.where(SPELL, MONTH - 1, MONTH)), "columns-contradict", "warning"),
    "most of the rows": (visits(month=np.where(np.arange(N) > 500, MONTH % 12 + 1, MONTH)), "columns-contradict", "warning"),
    "an age": (visits(born=[str(d) for d in BORN], age=np.where(SPELL, rng.permutation(AGE), AGE)), "columns-contradict", "warning"),
    "a total of other rows": (bill(np.where(SPELL, OTHER, NIGHT + FOOD)), "columns-contradict", "warning"),
    "a product at a site": (visits(guests=GUESTS, total=np.where(SITE == 1, OTHER, np.round(NIGHT * GUESTS, 2))), "columns-contradict", "warning"),
    "a ratio of other rows for a while": (ratios(np.where(SPELL, np.roll(COP, 1), COP), POWER, HEAT), "columns-contradict", "warning"),
    "a ratio here and there": (ratios(np.where(STRAYS, np.roll(COP, 3), COP), POWER, HEAT), "columns-contradict", "warning"),
    "pounds at a site, told by a ratio to the square": (visits(height_cm=TALL, weight=np.where(SITE == 2, KILOS / 0.45359, KILOS).round(1), bmi=BMI), "columns-contradict", "warning"),
}  # fmt: skip
SILENT: dict[str, Data] = {
    "parts of dates": visits(weekday=WEEKDAY, month=MONTH, year=YEAR, quarter=(MONTH + 2) // 3),
    "counted from one and from Sunday": visits(weekday=(WEEKDAY + 1) % 7 + 1),
    "a few wrong ones here and there": visits(weekday=np.where(rng.random(N) < 0.03, (WEEKDAY + 1) % 7, WEEKDAY)),
    "a financial year beside its months": visits(month=MONTH, quarter=(MONTH + 2) // 3, fiscal=YEAR + (MONTH >= 10)),
    "the hour in summer": Data({"time": [f"{d} {h:02}:10:00" for d, h in zip(DAYS, np.arange(N) * 7 % 24, strict=True)], "hour": (np.arange(N) * 7 + np.where(SPELL, 2, 1)) % 24, "x": NIGHT}),
    "what has nothing to do with dates": visits(grade=rng.integers(0, 7, N)),
    "what goes with seasons": visits(level=np.round(6 + 5 * np.sin(MONTH) + rng.normal(0, 1, N))),
    "a total": bill(NIGHT + FOOD),
    "with a tax at a site": bill((NIGHT + FOOD) * np.where(SITE == 2, 1.19, 1.0)),
    "with discounts for a while": bill((NIGHT + FOOD) * np.where(SPELL, rng.choice([0.8, 0.9, 0.95], N), 1.0)),
    "with tips now and then": bill(NIGHT + FOOD + np.where(rng.random(N) < 0.2, 5.0, 0.0)),
    "numbers on their own": bill(OTHER),
    "ratios": ratios(COP, POWER, HEAT, height_cm=TALL, weight=KILOS, bmi=BMI),
    "ratios to another unit": ratios(np.round(COP * 1.2, 2), POWER, HEAT),
    "one discount here and there": bill((NIGHT + FOOD) * np.where(STRAYS, 0.8, 1.0)),
    "marks of a coarse scale": visits(a=GUESTS, b=rng.integers(1, 6, N), c=rng.integers(1, 9, N)),
    "numbers of four months, as texts": Data({"date": WINTER, "month": [d[5:7].lstrip("0") for d in WINTER], "x": NIGHT[:1200]}, kinds={"date": "time", "month": "category"}),
    "mostly zeros": visits(a=np.where(SITE == 0, GUESTS, 0), b=np.where(SITE == 1, GUESTS, 0), c=np.where(SITE == 2, GUESTS, 0)),
    "a copy at some sites": visits(a=NIGHT, b=np.zeros(N), c=np.where(SITE == 2, OTHER, NIGHT)),
}  # fmt: skip


@pytest.mark.parametrize(("data", "code", "severity"), SPEAKS.values(), ids=SPEAKS)
def test_a_column_that_contradicts_its_source_is_told_once(data: Data, code: str, severity: str) -> None:
    """One event is one finding."""
    assert [(f.code, f.severity) for f in merged("derived", data)] == [(code, severity)]


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_nothing_is_said_where_nothing_tells_which_rows_are_odd(data: Data) -> None:
    """Nor of another way of counting, of taxes and of summer time."""
    assert [f.message for f in merged("derived", data)] == []
