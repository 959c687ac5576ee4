"""Series that a few keep otherwise than the others: where nothing is said, and where something is."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks.looking import Data

METERS, HOURS = 6, 240
AT = np.tile(1_700_000_000.0 + 3600.0 * np.arange(HOURS), METERS)
WHO = np.repeat(np.arange(METERS), HOURS)
HOUR = np.tile(np.arange(HOURS), METERS)


def load(seed: int = 7) -> Any:
    """What six meters count an hour, more by day than by night."""
    day = 1 + 0.5 * np.sin(HOUR * np.pi / 12)
    return (day * np.random.default_rng(seed).lognormal(0, 0.3, METERS * HOURS)).round(3)


def at(meter: int | tuple[int, ...], first: int = 0, last: int = HOURS) -> Any:
    """The rows of meters in some of their hours."""
    return np.isin(WHO, meter) & (first <= HOUR) & (last > HOUR)


def metered(values: Any, name: str = "kwh", **more: Any) -> Data:
    kinds = {"meter": "category", "at": "time"} | {key: "category" for key, of in more.items() if isinstance(of, list)}
    return Data({"meter": [f"m{k}" for k in WHO], "at": AT, name: values, **more}, kinds=kinds)


def put(values: Any, rows: Any, new: Any) -> Any:
    made = values.copy()
    made[rows] = new
    return made


def added(meter: int, first: int = 0) -> Any:
    return put(load(), at(meter, first), np.cumsum(load()[at(meter, first)]).round(3))


def line(meter: int, first: int, last: int) -> Any:
    x = load()
    return put(x, at(meter, first, last), np.linspace(x[at(meter)][first], x[at(meter)][last], last - first).round(3))


def stores(shut: tuple[int, ...] = (), value: float | None = 0.0, first: int = 60, last: int = 100) -> Data:
    """A row a day for each of three items in each of four shops; some of these twelve stay at one value for some days."""
    day, what = np.tile(np.arange(200), 12), np.repeat(np.arange(12), 200)
    sold = np.random.default_rng(9).poisson(20, 2400).astype(float)
    for k in shut:
        sold[(what == k) & (day >= first) & (day < last)] = sold[what == k][first] if value is None else value
    columns = {
        "shop": [f"s{k // 3}" for k in what],
        "item": [f"i{k % 3}" for k in what],
        "at": 1.7e9 + 86_400.0 * day,
        "sold": sold,
    }
    return Data(columns, kinds={"shop": "category", "item": "category", "at": "time"})


SMOOTH = 10 + 8 * np.sin(2 * np.pi * (HOUR + 9 * WHO) / 200) + np.random.default_rng(8).normal(0, 0.01, METERS * HOURS)
SILENT = {
    "what meters count": metered(load()),
    "registers of all meters": metered(np.concatenate([np.cumsum(load()[at(k)]) for k in range(METERS)])),
    "a register of half of the meters": metered(
        np.concatenate([np.cumsum(load()[at(k)]) if k % 2 else load()[at(k)] for k in range(METERS)])
    ),
    "smooth seasons, each at its own time": metered(SMOOTH),
    "a trend at one meter": metered(
        put(load(), at(3), np.linspace(0.5, 1.5, HOURS) + np.random.default_rng(2).normal(0, 0.001, HOURS))
    ),
    "a count of what is rare": metered(
        np.concatenate([np.random.default_rng(k).poisson(0.1 if k == 3 else 40, HOURS).cumsum() for k in range(METERS)])
    ),
    "nothing in the same days of all meters": metered(put(load(), at((0, 1, 2, 3, 4, 5), 90, 150), 0.0)),
    "a shop that was shut": metered(put(load(), at(2, 90, 150), 0.0), open=np.where(at(2, 90, 150), 0, 1)),
    "a shop that was shut, in words": metered(
        put(load(), at(2, 90, 150), 0.0), state=["shut" if shut else "open" for shut in at(2, 90, 150)]
    ),
    "marks of missing values, which are told as such": metered(put(load(), at(2, 90, 150), -999.0)),
    "marks beside values that are not there": metered(put(put(load(), at(2, 90, 150), -999.0), at(4, 7, 9), np.nan)),
    "two marks at one end": metered(put(put(load(), at(2, 90, 150), -999.0), at(4, 7, 12), -9999.0)),
    "a meter that was not yet there": metered(put(load(), at(2, 0, 90), 0.0)),
    "an item that was out of stock": stores((4,)),
    "events that are rare": metered(np.random.default_rng(3).poisson(np.where(WHO == 1, 0.02, 0.3)).astype(float)),
    "a flag that one meter hardly has": metered(
        (np.random.default_rng(3).random(METERS * HOURS) < np.where(WHO == 1, 0.01, 0.5)).astype(int)
    ),
    "prices that stay": metered(
        np.repeat(np.random.default_rng(4).integers(90, 110, METERS * HOURS // 30), 30).astype(float)
    ),
    "weather of all meters": metered(load(), temperature=np.tile(SMOOTH[:HOURS], METERS)),
    "what two meters of one city share": metered(
        put(load(), at(1), load()[at(0)]), city=[["rome", "rome", "bern", "oslo", "kyiv", "lima"][k] for k in WHO]
    ),
    "temperatures that two meters share": metered(put(load(), at(1), load()[at(0)]), "temp_c"),
    "a few steps along a line": metered(line(2, 90, 108)),
}
SPEAKS: dict[str, tuple[Data, str]] = {
    "a register at one meter": (metered(added(3)), "scale-drift"),
    "a register from a day on": (metered(added(3, 150)), "scale-drift"),
    "a register that was read before": (metered(put(added(3), at(3), 48_000 + added(3)[at(3)])), "scale-drift"),
    "a gap that was drawn through": (metered(line(2, 60, 160)), "stuck-values"),
    "a gap that was drawn through in the only series": (
        Data({"at": AT[:HOURS], "kwh": line(0, 60, 130)[:HOURS]}, kinds={"at": "time"}),
        "stuck-values",
    ),
    "one value for days": (metered(put(load(), at(2, 60, 120), load()[at(2)][60])), "stuck-values"),
    "nothing for days at one meter": (metered(put(load(), at(2, 60, 120), 0.0)), "stuck-values"),
    "all items of a shop at what they were": (stores((3, 4, 5), None), "stuck-values"),
    "all items of a shop at nothing": (stores((3, 4, 5)), "stuck-values"),
    "the values of another meter": (metered(put(load(), at(4), load()[at(1)])), "duplicate-samples"),
    "the values of another meter for some days": (
        metered(put(load(), at(4, 48, 192), load()[at(1, 48, 192)])),
        "duplicate-samples",
    ),
}
