"""A slow number that stays as it is at one place for far longer than at others, in rows that are sorted by time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

HOURS, STATIONS = 600, 5
rng = np.random.default_rng(23)
WATER = np.round(15 + rng.normal(0, 0.06, (HOURS, STATIONS)).cumsum(0), 1)
"""Rounded, so that about half of the neighbours are equal."""


def measured(values: Any, by: str = "station", order: Any = None) -> Data:
    columns: dict[str, Any] = {
        "time": 1.6e9 + 3600.0 * np.repeat(np.arange(HOURS), STATIONS),
        by: np.tile(np.arange(STATIONS) + 41000, HOURS),
        "water": np.asarray(values).reshape(-1),
        "air": rng.normal(12, 3, HOURS * STATIONS),
    }
    order = np.arange(HOURS * STATIONS) if order is None else order
    return Data({k: v[order] for k, v in columns.items()}, kinds={"time": "time"})


def still(value: float | None, stations: list[int]) -> Any:
    made = WATER.copy()
    made[200:420, stations] = made[200, stations] if value is None else value
    return made


SILENT = {
    "slow numbers": measured(WATER),
    "none sold while a shop was closed": measured(still(0.0, [2]), "shop"),
    "ice at all stations": measured(still(-1.8, [0, 1, 2, 3, 4])),
    "a kind of things": measured(still(None, [2]), "grade"),
}


@pytest.mark.parametrize(
    "order", [None, np.random.default_rng(2).permutation(HOURS * STATIONS)], ids=["by time", "any"]
)
def test_a_sensor_that_stands_still_at_one_station_is_told(order: Any) -> None:
    """Seen: told where rows were sorted by station only. Our promise: with the station and the times."""
    found = judged_alone("still_since", measured(still(None, [2]), order=order))["stuck-values"]
    assert found.severity == "warning"
    assert "from 2020-09-21 20:26:40 to 2020-09-30 23:26:40 where station is 41002" in found.message


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_what_stands_still_by_nature_is_not(data: Data) -> None:
    assert judged_alone("still_since", data) == {}


def test_every_stretch_of_a_stuck_sensor_is_placed() -> None:
    """Seen: of four engines whose sensor was stuck, one was told."""
    noise = np.random.default_rng(5).normal(0, 1, 3000)
    for begin in (100, 600, 1500):
        noise[begin : begin + 120 + begin // 100] = noise[begin]
    found = judged_alone("stuck", Data({"x": noise}))["stuck-values"]
    assert [place["sample"] for place in found.where] == [1500, 600, 100]
    assert "; 2 further stretches keep one value" in found.message
