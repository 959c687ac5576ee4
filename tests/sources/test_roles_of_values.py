"""Names that suggest a time, and values that rule it out: durations are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.sources.base import Block, Column, Roles, Unit
from dataloader_expert.sources.roles import find_roles
from dataloader_expert.sources.table_fields import field_of

N = 400
DRAW = np.random.default_rng(41)
LASTED = DRAW.integers(1, 2000, N)
CLOCK = np.tile(np.arange(N // 4) * 0.02, 4)
"""Seconds since the beginning of each of four recordings."""


def roles(columns: dict[str, Any], rows: int | None = N) -> Roles:
    made = {name: Column(values) for name, values in columns.items()}
    fields = [field_of(name, column) for name, column in made.items()]
    return find_roles([Block(Unit(0, "", 0, N, 0), made)], fields, None, False, rows)


@pytest.mark.parametrize("name", ["time_days", "survival_time_months", "time_h", "response_time_ms", "timeSec"])
def test_a_time_in_a_unit_is_a_duration(name: str) -> None:
    assert roles({name: LASTED, "age": LASTED % 70}).time is None


TIMES = {
    "seconds since 1970": ("time_s", 1_600_000_000 + np.sort(LASTED)),
    "seconds since 1970 in any order": ("time_s", 1_600_000_000 + LASTED),
    "milliseconds since 1970": ("event_time_ms", (1_600_000_000 + LASTED) * 1000.0),
    "the time within each recording": ("time_s", CLOCK),
    "a time without a unit": ("time", LASTED),
    "a stamp": ("timestamp_ms", LASTED),
}


@pytest.mark.parametrize(("name", "values"), TIMES.values(), ids=TIMES)
def test_a_time_is_still_one(name: str, values: Any) -> None:
    time = roles({name: values, "age": LASTED % 70}).time
    assert time is not None and time.field == name


def test_numbers_in_quotes_are_neither_times_nor_codes() -> None:
    """Seen: JSON with numbers in quotes: 0.7553 was a month of the year 7553, and ages were codes of groups."""
    shares = [f"{value:.4f}" for value in DRAW.random(N)]
    ages = [str(value) for value in DRAW.integers(18, 80, N)]
    found = roles({"share": shares, "age": ages, "text": [f"words about {i}" for i in range(N)]})
    assert (found.time, found.group) == (None, None)


def test_codes_in_digits_still_group() -> None:
    """Our promise: a code keeps its leading zeros or is long, and stays one."""
    assert (
        roles({"unit": [f"{7 * i + 3:03d}" for i in DRAW.integers(0, 40, N)], "x": DRAW.normal(size=N)}).group
        is not None
    )
    assert (
        roles({"unit": [str(48213 + 7 * i) for i in DRAW.integers(0, 40, N)], "x": DRAW.normal(size=N)}).group
        is not None
    )
