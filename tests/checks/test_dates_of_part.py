"""Dates of one part that cannot be those of its rows, and those that may."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged, merged

N = 1500
rng = np.random.default_rng(17)
SITE = np.arange(N) % 5
DAYS = np.datetime64("2015-01-01") + rng.integers(0, 3000, N)
FIRST = DAYS.astype("M8[Y]").astype("M8[D]")
TRADED = np.array([d for d in np.datetime64("2020-01-01") + np.arange(440) if (d.astype(int) + 3) % 7 < 5])[:300]


def dated(days: Any, by: str = "institution", whose: Any = SITE) -> Data:
    seconds = np.asarray(days).astype("M8[s]").astype(float)
    columns = {by: [f"{by} {k}" for k in whose], "date": seconds, "x": np.arange(len(seconds)) % 97 + 0.5}
    return Data(columns, kinds={by: "category", "date": "time"})


def market(late: dict[int, int], days: Any = TRADED, shut: int = 0) -> Data:
    """Rows of five shares on each day of trading; ``late``: by how many days those of some are; ``shut``: days that share 3 lacks."""
    held = [np.delete(days, np.arange(shut) * 9) if k == 3 else days for k in range(5)]
    return dated(
        np.concatenate([held[k] + late.get(k, 0) for k in range(5)]),
        "share",
        np.repeat(range(5), [len(h) for h in held]),
    )


SPEAKS: dict[str, tuple[Data, str, str]] = {
    "only years at one institution": (dated(np.where(SITE == 2, FIRST, DAYS)), "missing-values", "warning"),
    "one year at one site of several": (
        dated(np.where(SITE == 2, np.datetime64("2017-01-01"), DAYS), "site"),
        "missing-values",
        "warning",
    ),
    "a share whose days are those after": (market({3: 1}), "scale-drift", "warning"),
    "a share whose days are those before": (market({1: -1}), "scale-drift", "warning"),
}
SILENT: dict[str, Data] = {
    "dates": dated(DAYS),
    "only years everywhere": dated(FIRST),
    "only years of one kind of things": dated(np.where(SITE == 2, FIRST, DAYS), "genus"),
    "years here and there": dated(np.where(rng.random(N) < 0.1, FIRST, DAYS)),
    "a file for each day, of which one is 1 January": dated(np.datetime64("2024-01-01") + SITE, "site"),
    "one market": market({}),
    "a share that is not traded every day": market({}, shut=30),
    "shares of another market": market({3: -1, 4: -1}),
    "every day": market({3: 1}, np.datetime64("2020-01-01") + np.arange(300)),
}


@pytest.mark.parametrize(("data", "code", "severity"), SPEAKS.values(), ids=SPEAKS)
def test_dates_that_cannot_be_are_told(data: Data, code: str, severity: str) -> None:
    assert [(f.code, f.severity) for f in merged("dates_of_part", data)] == [(code, severity)]


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_dates_that_may_be_are_not(data: Data) -> None:
    assert [f.message for f in merged("dates_of_part", data)] == []


def test_a_finding_names_the_part() -> None:
    """Our promise: the value of the field, and by how many days."""
    found = judged("dates_of_part", market({3: 1}))["scale-drift"]
    assert "1 day late where share is share 3" in found.message


def test_parsed_dates_with_day_and_month_swapped_are_told_in_a_season() -> None:
    """Seen: nothing, as they allow one reading and matches of a weekend are in no order."""
    days = np.sort(np.datetime64("2020-08-01") + rng.integers(0, 900, 900))
    days[10:-10:3] = days[11:-9:3]
    seasons = ((days - np.datetime64("2020-08-01")).astype(int) // 300).tolist()
    y, m, d = (np.array([int(str(day).split("-")[i]) for day in days]) for i in range(3))
    odd = (np.array(seasons) == 1) & (d <= 12)
    made = [f"{a}-{(c if o else b):02}-{(b if o else c):02}" for a, b, c, o in zip(y, m, d, odd, strict=True)]
    found = judged("swapped_days", dated(np.array(made, "M8[D]"), "season", seasons))["dtype-drift"]
    assert "season is season 1" in found.message
    assert judged("swapped_days", dated(days, "season", seasons)) == {}
