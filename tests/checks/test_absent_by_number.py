"""Values that are missing by design, as a number says: the area of a garage for no cars; and what to do about others."""

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
    "no cars": (houses(CARS, CARS == 0), "info", "depending on cars: only samples with 1, 2, 3 have it"),
    "no cars, in fractions": (houses(CARS.astype(float), CARS == 0), "info", "only samples with 1, 2, 3 have it"),
    "nothing spent": (
        houses(SPENT, SPENT == 0, "spent"),
        "info",
        "depending on spent: only samples with all but 0 have it",
    ),
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


def test_what_the_label_decides_is_left_out() -> None:
    """Our promise: how long a page was looked at, which only those who clicked have, gives the label away."""
    clicked = (DRAW.random(N) < 0.3).astype(int)
    found = judged(
        "statistics", Data({"clicked": clicked, "dwell": AREA}, "clicked", nulls={"dwell": list(clicked == 0)})
    )
    assert found["missing-values"].severity == "info"
    assert "gives the label away" in found["missing-values"].fix


CURES: dict[str, tuple[Any, str]] = {
    "area": (AREA, "impute"),
    "hadm_id": (DRAW.integers(10_000, 30_000, N), "a mean of ids is meaningless"),
    "fold": (DRAW.integers(1, 6, N), "to one fold"),
    "sentence": ([f"what {i} says of {i * i} is {i % 7} and more" for i in range(N)], "at its source"),
    "colour": (["red", "blue"] * (N // 2), "category of its own"),
}


@pytest.mark.parametrize(("name", "values", "said"), [(k, *v) for k, v in CURES.items()], ids=CURES)
def test_what_is_missing_is_supplied_by_what_it_is(name: str, values: Any, said: str) -> None:
    found = judged("statistics", Data({"other": AREA, name: values}, nulls={name: list(HALF)}))
    assert said in found["missing-values"].fix


def test_a_field_without_any_value_is_said_to_have_none() -> None:
    found = judged("statistics", Data({"other": AREA, "accents": AREA}, nulls={"accents": [True] * N}))
    assert found["extra-key"].message == "accents has no value in any sample"
