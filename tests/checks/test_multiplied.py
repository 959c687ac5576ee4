"""Rows that a join or a logger multiplied, and one user with too many: where nothing is said, and where something is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.sources.base import Role, Roles
from tests.checks.looking import Data, judged

N = 2_000


def sales(
    again: int, other: tuple[str, ...] = ("condition",), name: str = "sale_id", label: str | None = "price"
) -> Data:
    """Sales with ids, of which some stand once more with other values of some columns."""
    draw = np.random.default_rng(7)
    columns: dict[str, Any] = {
        name: 7_130_000 + np.arange(N),
        "rooms": draw.integers(1, 9, N),
        "area": draw.normal(150, 40, N).round(),
        "year": draw.integers(1900, 2020, N),
        "condition": draw.integers(1, 4, N),
        "price": draw.normal(500, 80, N).round(1),
    }
    rows = np.concatenate([np.arange(N), draw.choice(N, again, replace=False)])
    columns = {key: values[rows] for key, values in columns.items()}
    for key in other:
        columns[key][N:] += 1
    order = draw.permutation(len(rows))
    return Data({key: values[order] for key, values in columns.items()}, label)


SALES_SILENT = {
    "ids of one row": sales(0),
    "several things that are seen of one object": sales(300, ("condition", "area")),
    "two labels of one object": sales(300, ("price",)),
    "nearly all ids recur, as where each value is a row": sales(1_900),
    "visits of patients": sales(300, name="patient_id"),
    "rows written twice": sales(300, ()),
}
SALES_SPEAK = {
    "a fan-out of a tenth": (sales(240), "duplicate-keys", "warning"),
    "of another kind of id": (sales(500, ("rooms",), "listing_key"), "duplicate-keys", "warning"),
}
ROLES = Roles(group=Role("user_id", "by its name"), time=Role("at", "by its name"))


def events(twice: int = 0, later: int = 0, step: float = 3_600.0, user: int = 0, constant: bool = True) -> Data:
    """Ratings of users, of which some are repeated a second later, or days later, and one user may have many more."""
    draw = np.random.default_rng(8)
    who, what = draw.integers(0, 100, N), draw.integers(0, 100_000, N)
    at = 1.6e9 + np.cumsum(draw.exponential(step, N))
    stars = draw.integers(1, 6, N)
    rows = np.concatenate([np.arange(N), some := draw.choice(N, twice + later, replace=False)])
    at = np.concatenate(
        [at, at[some] + np.where(np.arange(twice + later) < twice, draw.integers(1, 3, twice + later), 9e4)]
    )
    columns = {"user_id": who[rows], "item": what[rows], "stars": stars[rows], "at": at}
    bot = {
        "user_id": np.full(user, 999),
        "item": draw.integers(0, 100_000, user),
        "stars": np.full(user, 5) if constant else draw.integers(1, 6, user),
        "at": 1.6e9 + (np.arange(user) * 10.0 if constant else np.sort(draw.uniform(0, at[N - 1] - 1.6e9, user))),
    }
    columns = {key: np.concatenate([values, bot[key]]) for key, values in columns.items()}
    order = np.argsort(columns["at"], kind="stable")
    return Data({key: values[order] for key, values in columns.items()}, context={"roles": ROLES})


def sensors() -> Data:
    """Readings a second of sensors whose values hardly change."""
    n = np.arange(4_000)
    value = np.cumsum(np.random.default_rng(9).random(4_000) < 0.05) // 4
    return Data({"user_id": n % 4, "item": value, "at": 1.6e9 + n // 4}, context={"roles": ROLES})


TWICE_SILENT = {
    "once": events(),
    "things that are done again days later": events(later=300),
    "again within seconds and later": events(twice=60, later=60),
    "sensors that report what has not changed": sensors(),
    "a handful": events(twice=3),
}
TWICE_SPEAK = {"a tenth twice": (events(twice=200), "near-duplicates", "warning")}
ACTIVE_SILENT = {
    "users who are as active": events(),
    "guests under one name": events(user=400, constant=False),
    "one who is a little more active": events(user=60),
}
ACTIVE_SPEAK = {"a program that gives five stars": (events(user=250), "outliers", "warning")}


def test_what_differs_between_the_rows_of_one_id_is_said() -> None:
    """Seen: 12 % of sales stood twice after a join, with another condition, and nothing was said: the id no longer seemed to be a key."""
    assert "in everything but condition" in judged("fan_outs", sales(240))["duplicate-keys"].message


@pytest.mark.parametrize("twice", [200, 300])
def test_all_rows_that_were_logged_again_are_counted(twice: int) -> None:
    assert judged("logged_twice", events(twice=twice))["near-duplicates"].count == twice
