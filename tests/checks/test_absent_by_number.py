"""Values that are missing by design, as a number says: the area of a garage for no cars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

N = 400
DRAW = np.random.default_rng(23)
CARS = DRAW.integers(0, 4, N)
SPENT = np.where(DRAW.random(N) < 0.4, 0.0, DRAW.uniform(5, 90, N).round(2))
AREA = DRAW.normal(30, 4, N)
HALF = DRAW.random(N) < 0.3


def houses(by: Any, absent: Any, name: str = "cars", **more: Any) -> Data:
    return Data({name: by, "area": AREA, **more}, nulls={"area": list(absent)})


TOLD: dict[str, tuple[Data, str, str]] = {
    "no cars": (houses(CARS, CARS == 0), "info", "cars decides: those of 1, 2, 3 have it"),
    "no cars, in fractions": (houses(CARS.astype(float), CARS == 0), "info", "those of 1, 2, 3"),
    "nothing spent": (houses(SPENT, SPENT == 0, "spent"), "info", "spent decides: those of all but 0 have it"),
    "a sensor that failed": (houses(np.where(SPENT == 0, 0, 20 + SPENT / 9), SPENT == 0, "temp"), "warning", ""),
    "some who spent nothing": (houses(SPENT, (SPENT == 0) & HALF, "spent"), "warning", ""),
    "at random": (houses(CARS, HALF), "warning", ""),
    "no cars and at random": (houses(CARS, (CARS == 0) | HALF), "warning", ""),
    "a number of many values without zero": (houses(AREA + 1, HALF, "other"), "warning", ""),
    "years without a measurement": (houses(2018 + CARS, CARS == 0, "year"), "warning", ""),
}


@pytest.mark.parametrize(("data", "severity", "said"), TOLD.values(), ids=TOLD)
def test_a_number_decides_whether_a_value_is_there(data: Data, severity: str, said: str) -> None:
    found = judged("statistics", data)["missing-values"]
    assert found.severity == severity
    assert said in found.message
