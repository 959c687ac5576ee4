"""Numbers of the row before or after: told in one stretch of rows that do not resemble their neighbours, and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataloader_expert.checks.common.scores import normal_scores
from dataloader_expert.checks.series.shifted_numbers import shifted
from tests.checks.looking import Data, judged

N = 1200
rng = np.random.default_rng(11)
AREA = rng.gamma(8, 9, N)
PRICE = AREA * 4000 * np.exp(rng.normal(0, 0.3, N))
ROOMS = np.clip(np.round(AREA / 28 + rng.normal(0, 0.5, N)), 1, 9)


def moved(values: Any, first: int = 400, last: int = 700, by: int = 1) -> Any:
    made = values.copy()
    made[first:last] = np.roll(made[first:last], by)
    return made


def walk(seed: int, n: int = N) -> Any:
    return np.cumsum(np.random.default_rng(seed).normal(0, 1, n))


def flats(price: Any = PRICE, **more: Any) -> Data:
    return Data({"area": AREA, "rooms": ROOMS, "price": price, "floor": np.arange(N) * 7 % 9, **more})


ORDER = np.argsort(AREA)
SPEAKS = {
    "prices of the row before": flats(moved(PRICE)),
    "of the row after": flats(moved(PRICE, by=-1)),
    "to the end": flats(moved(PRICE, 900, N)),
    "two numbers": Data({"area": AREA, "price": moved(PRICE)}),
    "a number that falls with the other": Data({"area": AREA, "years": moved(1e6 / PRICE)}),
    "some of which are missing": Data({"area": AREA, "price": moved(np.where(rng.random(N) < 0.1, np.nan, PRICE))}),
    "beside numbers of another unit and marks": flats(
        moved(np.where(np.arange(N) % 7 == 0, PRICE / 1000, np.where(np.arange(N) % 50 == 3, -999, PRICE)))
    ),
}
SILENT = {
    "each with its own": flats(),
    "a few rows": flats(moved(PRICE, 400, 410)),
    "all rows": flats(moved(PRICE, 0, N)),
    "a series that lags for a while": Data({"x": walk(1), "y": moved(walk(1) + rng.normal(0, 1, N))}),
    "rows sorted by one of them": Data({"area": AREA[ORDER], "price": moved(PRICE[ORDER])}),
    "each row twice": Data({"area": AREA.repeat(2)[:N], "price": PRICE.repeat(2)[:N]}),
    "numbers that do not go together": Data({"x": rng.random(N), "y": moved(rng.random(N))}),
    "wrong in any order in a stretch": flats(np.r_[PRICE[:400], rng.permutation(PRICE[400:700]), PRICE[700:]]),
    "flags": Data({"a": (AREA > 70).astype(int), "b": (PRICE > 3e5).astype(int)}),
    "two kinds of rows": Data({"x": np.arange(N) % 2 + rng.normal(0, 0.1, N), "y": np.arange(N) % 2 * 1.0}),
    "few rows": Data({"area": AREA[:120], "price": moved(PRICE, 30, 90)[:120]}),
    "one value": Data({"area": AREA, "price": np.full(N, 7.0)}),
}


@pytest.mark.parametrize("data", [pytest.param(row, id=name) for name, row in SPEAKS.items()])
def test_shifted_numbers_are_told(data: Data) -> None:
    """Our promise: with the rows in which they are, to within a few, however samples were dealt out."""
    found = judged("shifted_numbers", data)["rows-shifted"]
    assert found.severity == "warning"
    assert abs((found.count or 0) - 300) < 40


@pytest.mark.parametrize("data", [pytest.param(row, id=name) for name, row in SILENT.items()])
def test_others_are_not(data: Data) -> None:
    assert judged("shifted_numbers", data) == {}


@given(st.integers(0, 1 << 32), st.floats(-0.95, 0.95), st.sampled_from(["normal", "skewed", "heavy", "few"]))
@settings(max_examples=60)
def test_chance_makes_no_stretch(seed: int, r: float, kind: str) -> None:
    """Our promise: numbers that go together in whatever way are not shifted."""
    drawn = np.random.default_rng(seed)
    x = drawn.normal(0, 1, 600)
    y = r * x + (1 - r * r) ** 0.5 * (drawn.standard_t(1.5, 600) if kind == "heavy" else drawn.normal(0, 1, 600))
    if kind == "skewed":
        y = np.exp(y) * (drawn.random(600) > 0.3)
    elif kind == "few":
        x, y = np.round(x), np.round(y)
    assert shifted(normal_scores(x), normal_scores(y)) is None


def test_scores_are_normal() -> None:
    """Our promise: ranks alone tell, and equal numbers have equal scores."""
    found = normal_scores(np.exp(rng.normal(0, 3, 4000)))
    assert abs(found.mean()) < 0.01
    assert abs(found.std() - 1) < 0.03
    assert len(np.unique(normal_scores(np.array([3.0, 1, 3, np.nan, 2])))[:-1]) == 3
