"""Gaps in one series, counted in steps, however far apart its times are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks.looking import Data, judged

DRAW = np.random.default_rng(1)


def gaps(times: list[float]) -> dict[str, str]:
    told = judged("series", Data({"time": np.array(times), "x": np.arange(float(len(times)))}, kinds={"time": "time"}))
    return {code: f.message for code, f in told.items()}


def test_one_wrong_time_does_not_fill_the_memory() -> None:
    """Our promise: seconds up to one time in milliseconds would be 10^12 steps."""
    times = [1.6e9 + i for i in range(300)]
    assert "time-gap" in gaps([*times[:-1], times[-1] * 1000])
    assert "time-gap" not in gaps(times)


def test_steps_are_counted_from_the_beginning() -> None:
    """Our promise: 150 quarters of a second are lacking."""
    times = [1.6e9 + i / 4 for i in range(600) if not 300 <= i < 450]
    assert "150" in gaps(times)["time-gap"]


def hourly(drop: range = range(0), renamed: range = range(0)) -> dict[str, str]:
    """Readings of five stations with their year, month, day and hour."""
    hours = np.arange(np.datetime64("2023-12-20T00"), np.datetime64("2024-01-20T00"), np.timedelta64(1, "h"))
    rows = [(hour.item(), f"s{k}") for k in range(5) for i, hour in enumerate(hours) if k != 3 or i not in drop]
    rows = [(t, "s4" if i in renamed else s) for i, (t, s) in enumerate(rows)]
    columns: dict[str, Any] = {
        part: np.array([getattr(t, part) for t, _ in rows]) for part in ("year", "month", "day", "hour")
    }
    columns |= {"x": np.arange(len(rows)) * 7919 % 1009 / 7, "station": [s for _, s in rows]}
    return {code: f.message for code, f in judged("series", Data(columns, kinds={"station": "category"})).items()}


def test_days_that_are_in_no_calendar_are_none() -> None:
    """A climate model's year of 360 days: its 30th of February is no 2nd of March."""
    days = [(month, day) for month in range(1, 13) for day in range(1, 31)]
    columns = {
        "year": np.full(360, 2001),
        "month": np.array([m for m, _ in days]),
        "day": np.array([d for _, d in days]),
    }
    found = judged("series", Data(columns | {"x": np.arange(360) * 7919 % 1009 / 7}))
    assert "duplicate-keys" not in found


def test_the_parts_of_a_time_make_one() -> None:
    """Our promise: hours that a station lacks, and rows under the name of another, are seen without a column of times."""
    assert hourly() == {}
    assert "72 steps, between 2023-12-2" in hourly(drop=range(100, 172))["time-gap"]
    assert "the station and year-month-day-hour of an earlier row" in hourly(renamed=range(40, 71))["duplicate-keys"]


def stations(wrong: Any) -> tuple[str, str]:
    """How severe what is told of the steps of five stations is, and in which words, with the times of one of them changed."""
    hours = [1.6e9 + 3600.0 * np.arange(500) for _ in range(5)]
    hours[3] = wrong(hours[3])
    named = [f"s{k}" for k in range(5) for _ in hours[k]]
    columns = {"time": np.concatenate(hours), "station": named, "x": np.arange(len(named)) * 7919 % 1009 / 7}
    told = judged("series", Data(columns, kinds={"time": "time", "station": "category"})).get("time-gap")
    return ("", "") if told is None else (told.severity, told.message)


def test_a_step_unlike_all_others_is_told() -> None:
    """Our promise: a clock that was set is told from a row that is lacking, and a day that one station lacks is a warning."""
    assert stations(lambda t: t) == ("", "")
    severity, message = stations(lambda t: t + 3600.0 * (np.arange(500) >= 240))
    assert severity == "warning"
    assert "goes on by 2 hours once" in message
    assert "its clock seems to have been set" in message
    assert stations(lambda t: np.delete(t, 240))[0] == "info"
    assert stations(lambda t: np.delete(t, range(240, 264)))[0] == "warning"
    assert stations(lambda t: t + np.cumsum(DRAW.random(500) < 0.02) * 3600.0)[0] != "warning"


def test_months_of_a_partition_are_no_gap() -> None:
    """Seen: hours in folders of two months, of which the first of February was called a gap of 10^306 times any other."""
    columns = {"month": np.repeat([1.7040672e9, 1.7067456e9], 800), "x": np.arange(1600) * 7919 % 1009 / 7}
    assert judged("series", Data(columns, kinds={"month": "time"})) == {}
