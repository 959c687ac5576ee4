"""Dates that no calendar has."""

from __future__ import annotations

import pytest

from tests.checks.looking import Data, judged_alone

DAYS = [f"2023-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(200)]


@pytest.mark.parametrize("odd", ["2023-02-30", "2023-13-05", "0000-00-00", "2023-06-31"])
def test_a_day_that_does_not_exist_is_told(odd: str) -> None:
    """Seen: the thirtieth of February among dates, which readers turn into a missing value or fail on."""
    found = judged_alone("forms", Data({"day": [*DAYS, odd, odd]}, kinds={"day": "category"}))["dtype-drift"]
    assert found.message == f"day has dates except for 2 texts such as '{odd}'" and found.severity == "warning"


@pytest.mark.parametrize(
    "form", ["{d:02}.{m:02}.2024", "{m}/{d}/24", "{d} March 2024", "2024-{m:02}-{d:02} 23:59:59.5+02:00", "2024-02-29"]
)
def test_dates_in_any_form_say_nothing(form: str) -> None:
    """Our promise: neither does the last day of February in a leap year."""
    days = [form.format(d=1 + i % 28, m=1 + i % 12) for i in range(200)]
    assert judged_alone("forms", Data({"day": days}, kinds={"day": "category"})) == {}
