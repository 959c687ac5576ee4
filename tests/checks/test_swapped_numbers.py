"""Numbers swapped, or copied, in a stretch of rows whose ranges overlap; and those that are so by nature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataloader_expert.checks.columns.swapped_numbers import copied_stretch, swapped_stretch
from dataloader_expert.checks.common.ranges import turned
from tests.checks.looking import Data, judged

N = 1500
rng = np.random.default_rng(17)
HEIGHT = rng.normal(170, 9, N).round()
SITE = rng.integers(0, 3, N)
WEIGHT = (rng.normal(27, 4.5, N) * (HEIGHT / 100) ** 2 * np.where(SITE == 2, 2.2, 1)).round(1)
"""Of one site in pounds."""
STRETCH = (np.arange(N) >= 700) & (np.arange(N) < 800)


def people(
    rows: Any = STRETCH, one: Any = HEIGHT, other: Any = WEIGHT, names: Any = ("height", "weight"), **more: Any
) -> Data:
    """Two numbers, swapped in these rows."""
    columns = {
        names[0]: np.where(rows, other, one),
        names[1]: np.where(rows, one, other),
        "age": rng.integers(20, 90, N),
    }
    return Data(columns | {"site": [f"s{k}" for k in SITE]} | more)


def overwritten(rows: Any = STRETCH, other: Any = WEIGHT) -> Data:
    return people(np.zeros(N, bool), other=np.where(rows, HEIGHT, other))


def walk(seed: int) -> Any:
    return np.cumsum(np.random.default_rng(seed).normal(0, 1, N))


TWICE = np.arange(N) // 2
CROSSING = np.r_[rng.normal(100, 2, N // 2), rng.normal(120, 2, N // 2)]
SALE = HEIGHT - np.where(STRETCH, 0, rng.integers(1, 9, N))
SPEAKS = {
    "height and weight": (people(), "fields-swapped"),
    "twenty rows": (people((np.arange(N) >= 40) & (np.arange(N) < 62)), "fields-swapped"),
    "two rows of each": (people(one=HEIGHT[TWICE], other=WEIGHT[TWICE]), "fields-swapped"),
    "the height as weight": (overwritten(), "equal-fields"),
    "at the end": (overwritten(np.arange(N) >= 1400), "equal-fields"),
}
SILENT = {
    "each in its place": people(np.zeros(N, bool)),
    "a few rows": people((np.arange(N) >= 40) & (np.arange(N) < 46)),
    "numbers of one kind": people(one=rng.normal(50, 9, N), other=rng.normal(50, 9, N)),
    "pictures on their sides": people(
        one=rng.integers(800, 1000, N), other=rng.integers(500, 900, N), names=("width", "height")
    ),
    "two prices that cross": people(np.zeros(N, bool), CROSSING, CROSSING[::-1].copy(), ("a", "b")),
    "two series": people(np.zeros(N, bool), walk(3), walk(4), ("a", "b")),
    "a stretch of another kind": people(kind=["child" if odd else "adult" for odd in STRETCH]),
    "counts that change in the course of years": people(
        np.zeros(N, bool),
        rng.gamma(0.4, np.linspace(30, 3, N)).round(),
        rng.gamma(0.4, np.linspace(3, 30, N)).round(),
        ("triples", "home_runs"),
    ),
    "sorted rows": people(STRETCH, np.sort(HEIGHT), WEIGHT[np.argsort(HEIGHT)]),
    "prices without a discount for a while": people(np.zeros(N, bool), HEIGHT, SALE, ("price", "sale_price")),
    "flags": people(one=SITE, other=1 - SITE // 2, names=("a", "b")),
}


@pytest.mark.parametrize(("data", "code"), [pytest.param(*row, id=name) for name, row in SPEAKS.items()])
def test_swapped_numbers_are_told(data: Data, code: str) -> None:
    """Our promise: in the rows in which they are, to within a few, however samples were dealt out."""
    found = judged("swapped_numbers", data)
    assert {*found} == {code}
    assert found[code].severity == "warning"
    assert 18 <= (found[code].count or 0) <= 106


@pytest.mark.parametrize("data", [pytest.param(row, id=name) for name, row in SILENT.items()])
def test_others_are_not(data: Data) -> None:
    assert judged("swapped_numbers", data) == {}


@given(st.integers(0, 1 << 32), st.floats(-2, 2), st.floats(-0.9, 0.9), st.sampled_from(["normal", "skewed", "few"]))
@settings(max_examples=60)
def test_chance_swaps_nothing(seed: int, apart: float, r: float, kind: str) -> None:
    """Our promise: two numbers that go together in whatever way are not swapped, and no copies."""
    drawn = np.random.default_rng(seed)
    x = drawn.normal(0, 1, 800)
    y = apart + r * x + (1 - r * r) ** 0.5 * drawn.normal(0, 1, 800)
    if kind == "skewed":
        x, y = np.exp(x), np.exp(y)
    elif kind == "few":
        x, y = np.round(2 * x), np.round(2 * y)
    assert swapped_stretch(x, y, 1) is None
    assert copied_stretch(x, y, 1) is None


def test_sides_of_a_thing_are_known_by_their_names() -> None:
    assert turned("image_width", "image_height")
    assert turned("x", "y")
    assert not turned("height_cm", "weight_kg")
    assert not turned("height", "age")
