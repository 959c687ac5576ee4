"""Times and places that stand for none: told where their frequency shows it, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.columns.default_values import default_days, since_1970
from tests.checks.looking import Data, judged

N = 600
rng = np.random.default_rng(3)
BORN = rng.integers(-16_000, 12_000, N)
"""Days since 1970."""
ODD = np.arange(N) % 40 == 7


def dated(days: Any, name: str = "birth_date", form: str = "text") -> Data:
    """A column of days as texts, as times, or as numbers of a unit."""
    texts = days.astype("M8[D]").astype(str)
    if form == "text":
        return Data({name: texts.tolist()})
    if form == "European":
        return Data({name: [f"{t[8:]}.{t[5:7]}.{t[:4]}" for t in texts.tolist()]})
    if form == "time":
        return Data({name: days * 86_400.0}, kinds={name: "time"})
    return Data({name: days.astype(np.int64) * 86_400 * {"seconds": 1, "milliseconds": 1000}[form]})


def of(date: str) -> int:
    return int(np.datetime64(date, "D").astype(int))


def at(lat: Any, lon: Any, names: tuple[str, str] = ("lat", "lon")) -> Data:
    return Data({names[0]: lat, names[1]: lon})


RECENT = rng.integers(18_000, 19_500, N)
LAT, LON = 48 + rng.normal(0, 0.5, N), 16 + rng.normal(0, 0.5, N)
FIRSTS = np.array([of(f"{1880 + i % 60}-01-01") for i in range(N)])
SPEAKS = {
    "births in 1900": dated(np.where(ODD, of("1900-01-01"), BORN)),
    "births in 1900 among others of that time": dated(np.where(ODD, of("1900-01-01"), BORN - 12_000)),
    "days first": dated(np.where(ODD, of("1900-01-01"), BORN), form="European"),
    "years": Data({"year_made": np.where(ODD, 1900, 1991 + (BORN % 30))}),
    "the first second of 1970": dated(np.where(ODD, 0, RECENT), "created", "time"),
    "seconds": dated(np.where(ODD, 0, RECENT), "ts", "seconds"),
    "milliseconds": dated(np.where(ODD, 0, RECENT), "updated_at", "milliseconds"),
    "the end of time": dated(np.where(ODD, of("9999-12-31"), RECENT), "admitted"),
    "the year one": dated(np.where(ODD, of("0001-01-01"), RECENT), "admitted"),
    "places in the sea": at(np.where(ODD, 0, LAT), np.where(ODD, 0, LON)),
    "places in the sea, of which the longitude tells nothing": at(np.where(ODD, 0, LAT), np.where(ODD, 0, LON - 16)),
    "places without a word before, beside pairs with one": Data(
        {
            **{"start_lat": LAT, "end_lng": LON, "end_lat": LAT, "start_lng": LON},
            **{"lat": np.where(ODD, 0, LAT), "plate": LAT, "long": np.where(ODD, 0, LON)},
        }
    ),
    "pick-ups": at(np.where(ODD, 0, LAT), np.where(ODD, 0, LON), ("pickup_latitude", "pickup_longitude")),
}
SILENT = {
    "births": dated(BORN),
    "one birth in 1900": dated(np.where(np.arange(N) == 7, of("1900-01-01"), BORN)),
    "years as their first days": dated(FIRSTS),
    "a row a day from 1970 on": dated(np.arange(N), "date"),
    "several a day from 1970 on": dated(np.arange(N) // 20, "date"),
    "few days": dated(np.where(np.arange(N) % 5 == 1, 0, 18_000 + np.arange(N) % 5), "date"),
    "what has not ended": dated(np.where(ODD, of("9999-12-31"), RECENT), "valid_to"),
    "years of which each tenth is frequent": Data(
        {"year_built": np.where(np.arange(N) % 3 > 0, 1850 + BORN % 10 * 10, 1850 + BORN % 97)}
    ),
    "years until now, most of them late": Data({"year": 2023 - (rng.gamma(2, 9, N)).astype(int)}),
    "mostly none": dated(np.where(np.arange(N) % 3 > 0, 0, RECENT), "last_seen_date"),
    "numbers that count nothing since 1970": Data({"time": np.where(ODD, 0, rng.integers(5, 900, N))}),
    "places around (0, 0)": at(np.where(ODD, 0, LAT - 48), np.where(ODD, 0, LON - 16)),
    "places all over the world": at(
        np.where(ODD, 0, rng.uniform(-60, 70, N)), np.where(ODD, 0, rng.uniform(-180, 180, N))
    ),
    "buoys, of which one is at (0, 0)": at(np.arange(N) % 6 * 4.0, np.arange(N) % 6 * 5.0),
    "on the equator": at(np.where(ODD, 0, LAT - 48), LON),
    "sizes": at(np.where(ODD, 0, LAT), np.where(ODD, 0, LON), ("width", "height")),
}


@pytest.mark.parametrize("data", [pytest.param(row, id=name) for name, row in SPEAKS.items()])
def test_defaults_are_told(data: Data) -> None:
    """Our promise: however dates are stored, and however samples were dealt out."""
    found = judged("default_values", data)["missing-values"]
    assert (found.severity, found.count) == ("warning", int(ODD.sum()))


@pytest.mark.parametrize("data", [pytest.param(row, id=name) for name, row in SILENT.items()])
def test_what_is_no_default_is_not(data: Data) -> None:
    assert [f.message for f in judged("default_values", data).values() if f.severity != "info"] == []


def test_a_frequent_year_among_others_is_a_default() -> None:
    """Seen: 100 of 1,400 violins were made in 1900, ten times as many as in any other year."""
    years = np.where(np.arange(N) % 9 == 0, 1900, 1865 + BORN % 97 - 48)
    found = judged("default_values", Data({"year_made": years}))["missing-values"]
    assert found.message.startswith("year_made is 1900 in ")


def test_an_open_end_is_an_info() -> None:
    """Our promise: a validity until 9999 is no error, and is told since a model would take it for a time."""
    assert "no end yet" in judged("default_values", SILENT["what has not ended"])["missing-values"].message


def test_numbers_in_several_units_are_times() -> None:
    """Our promise: seconds and milliseconds since 1970 are the same time, and zero is its beginning."""
    found = since_1970(np.array([1.7e9, 1.7e12, 0.0, 1.6e9]))
    assert found.tolist() == [1.7e9, 1.7e9, 0.0, 1.6e9]
    assert np.isnan(since_1970(np.array([3.0, 0.0, 1.7e9]))).all()


def test_no_times_have_no_defaults() -> None:
    assert default_days(np.full(40, np.nan)) == []


def test_a_mistyped_year_is_told() -> None:
    """Our promise: a year with a wrong digit lies far outside of all others; ages and histories of objects thin out without a gap."""
    days = RECENT.copy()
    days[[30, 90]] = of("2203-04-05"), of("0223-01-09")
    found = judged("default_values", dated(days, "admitted"))["outliers"]
    assert (found.severity, found.count) == ("warning", 2) and "years or more from all others" in found.message
    old = np.sort(of("2020-01-01") - (20_000 * rng.pareto(1.5, N)).astype(int).clip(0, 600_000))
    assert "outliers" not in judged("default_values", dated(old, "made", "time"))
