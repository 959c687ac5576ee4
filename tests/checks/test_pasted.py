"""Stretches that were copied within a series."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks.looking import Data, judged

N = 400
DRAW = np.random.default_rng(2)
LEVEL, WIND = (np.cumsum(DRAW.normal(0, 1, N)).round(2) for _ in range(2))


def series(level: Any = LEVEL, wind: Any = WIND, time: Any = None) -> Data:
    hours = 1.6e9 + 3600.0 * (np.arange(len(level)) if time is None else time)
    return Data({"time": hours, "level": level, "wind": wind}, kinds={"time": "time"})


def copied(values: Any, rows: int = 40) -> Any:
    made = values.copy()
    made[300 : 300 + rows] = values[100 : 100 + rows]
    return made


def day(values: Any) -> Any:
    return np.tile(values[:24], N // 24 + 1)[:N]


SILENT = {
    "a series": series(),
    "a few equal rows": series(copied(LEVEL, 6), copied(WIND, 6)),
    "a day that comes again and again": series(day(LEVEL), day(WIND)),
    "two weeks of one timetable": series(*(np.tile(x[:200], 2) for x in (LEVEL, WIND))),
    "one column": series(copied(LEVEL)),
    "nothing for a while, twice": series(*(np.where(np.arange(N) % 200 < 50, 0.0, x) for x in (LEVEL, WIND))),
    "steps of the same length": series(np.arange(N) % 97 // 30, np.arange(N) % 101 // 30),
}
SPEAKS = {
    "a stretch in all columns": (series(copied(LEVEL), copied(WIND)), "near-duplicates", "warning"),
    "a third of all, filled with the third before": (
        series(*(np.concatenate([x[:260], x[130:260], x[390:]]) for x in (LEVEL, WIND))),
        "near-duplicates",
        "warning",
    ),
}


def test_both_stretches_are_told() -> None:
    """Our promise: which rows are the copy, and of which."""
    [(_, found)] = judged("pasted", SPEAKS["a stretch in all columns"][0]).items()
    assert found.count == 40
    assert "samples 300 to about 339" in found.message
    assert "samples 100 to about 139" in found.message
