"""Numbers of other rows, in a group or a stretch: told where both are distributed as elsewhere and nothing else explains it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataloader_expert.checks.columns.misjoined import swapped_run
from dataloader_expert.checks.common.scores import normal_scores
from tests.checks.looking import Data, merged

N = 2400
rng = np.random.default_rng(5)
SITE = rng.integers(0, 6, N)
HEIGHT = rng.normal(170, 9, N)
WEIGHT = HEIGHT * 0.9 - 85 + rng.normal(0, 3, N)
AGE = rng.integers(18, 90, N)


def patients(weight: Any = WEIGHT, height: Any = HEIGHT, order: Any = None, **more: Any) -> Data:
    columns: dict[str, Any] = {
        "height": height,
        "weight": weight,
        "age": AGE,
        "site": [f"site {s}" for s in SITE],
    } | more
    if order is not None:
        columns = {k: [v[i] for i in order] if isinstance(v, list) else v[order] for k, v in columns.items()}
    return Data(columns, kinds={"site": "category"})


def scrambled(values: Any, where: Any) -> Any:
    made = values.copy()
    made[where] = np.random.default_rng(1).permutation(made[where])
    return made


def those(mask: Any, other: Any, usual: Any = WEIGHT) -> Any:
    return np.where(mask, other, usual)


ROWS = np.arange(N)
DAYS, STORES, ITEMS = 120, 5, 4
M = DAYS * STORES * ITEMS
DAY, STORE, ITEM = (a.ravel() for a in np.indices((DAYS, STORES, ITEMS)))
PROMO = (rng.random(M) < 0.3).astype(int)
SALES = rng.poisson((5 + 4 * ITEM) * np.exp(0.6 * PROMO))
WALK = np.cumsum(rng.normal(0, 1, (DAYS, STORES * ITEMS)), 0).ravel()


def shop(promo: Any = PROMO, sales: Any = SALES, order: Any = None) -> Data:
    columns: dict[str, Any] = {
        "store": [f"S{s}" for s in STORE],
        "item": [f"I{i}" for i in ITEM],
        "date": [str(np.datetime64("2023-01-01") + int(d)) for d in DAY],
        "promo": promo,
        "sales": sales,
    }
    if order is not None:
        columns = {k: [v[i] for i in order] if isinstance(v, list) else v[order] for k, v in columns.items()}
    return Data(columns, kinds={"store": "category", "item": "category"})


def late(values: Any, where: Any, by: int = 1) -> Any:
    """Those of the day before in some stores; at first those of the day itself."""
    width = STORES * ITEMS
    made = values.copy()
    moved = np.r_[values[:width], values[:-width]] if by > 0 else np.r_[values[width:], values[-width:]]
    made[where] = moved[where]
    return made


SPEAKS: dict[str, tuple[Data, str, str]] = {
    "the second half": (patients(scrambled(WEIGHT, ROWS >= N // 2)), "rows-shifted", "warning"),
    "most rows": (patients(scrambled(WEIGHT, ROWS >= N // 4)), "rows-shifted", "warning"),
    "some rows": (patients(scrambled(WEIGHT, (ROWS >= 900) & (ROWS < 1100))), "rows-shifted", "warning"),
    "one site": (patients(scrambled(WEIGHT, SITE == 3)), "rows-shifted", "warning"),
    "the day before in one store": (shop(late(PROMO, STORE == 2)), "rows-shifted", "warning"),
    "the day after, whatever the order": (
        shop(late(PROMO, STORE == 4, -1), order=np.random.default_rng(3).permutation(M)),
        "rows-shifted",
        "warning",
    ),
}  # fmt: skip
SPELL = (ROWS >= 900) & (ROWS < 1300)
SILENT: dict[str, Data] = {
    "each with its own": patients(),
    "all rows": patients(scrambled(WEIGHT, ROWS >= 0)),
    "a stretch of children, of another size": patients(those(SPELL, rng.normal(35, 3, N)), those(SPELL, rng.normal(130, 4, N), HEIGHT)),
    "a stretch in which one is stuck": patients(those(SPELL, 70.0)),
    "or missing": patients(those(SPELL, np.nan)),
    "or noise of another spread": patients(those(SPELL, rng.normal(68, 30, N))),
    "a site of another kind": patients(those(SITE == 3, rng.normal(90, 4, N))),
    "sites of relations of their own": patients(WEIGHT + np.where(SITE % 2, 1, -1) * (HEIGHT - 170)),
    "weakly related": patients(scrambled(HEIGHT + rng.normal(0, 14, N), SPELL)),
    "walks that part for a while": Data({"x": np.cumsum(rng.normal(0, 1, N)), "y": np.cumsum(rng.normal(0, 1, N)), "z": np.sin(ROWS / 300)}),
    "what goes together by kind, sorted by it": Data({"length": np.repeat([1.0, 4, 6], 800) + rng.normal(0, 0.3, N), "width": np.repeat([0.2, 1.3, 2], 800) + rng.normal(0, 0.1, N), "kind": ["a"] * 800 + ["b"] * 800 + ["c"] * 800}),
    "a season, of which a few weeks say little": Data({"load": np.cos(ROWS / 380) + rng.normal(0, 0.2, N), "cold": np.cos(ROWS / 380) + rng.normal(0, 0.2, N)}),
    "promotions of their own day": shop(),
    "of the day before in all stores": shop(late(PROMO, STORE >= 0)),
    "a store without an effect": shop(sales=np.where(STORE == 2, rng.poisson(9, M), SALES)),
    "what changes slowly": shop(promo=np.round(WALK, 3), sales=late(np.round(WALK + rng.normal(0, 1, M), 3), STORE == 2)),
}  # fmt: skip


@pytest.mark.parametrize(("data", "code", "severity"), SPEAKS.values(), ids=SPEAKS)
def test_numbers_of_other_rows_are_told_once(data: Data, code: str, severity: str) -> None:
    """One event is one finding."""
    assert [(f.code, f.severity) for f in merged("misjoined", data)] == [(code, severity)]


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_numbers_of_their_own_rows(data: Data) -> None:
    """Nor of groups that differ, of what is stuck, and of what changes slowly."""
    assert [f.message for f in merged("misjoined", data)] == []


@given(st.integers(0, 1 << 32), st.floats(0.7, 0.99), st.sampled_from(["normal", "skewed", "heavy", "few"]))
@settings(max_examples=60)
def test_chance_makes_no_stretch(seed: int, r: float, kind: str) -> None:
    """Our promise: numbers that go together in whatever way are those of their own rows."""
    drawn = np.random.default_rng(seed)
    x = drawn.normal(0, 1, 1000)
    y = r * x + (1 - r * r) ** 0.5 * (drawn.standard_t(1.5, 1000) if kind == "heavy" else drawn.normal(0, 1, 1000))
    if kind == "skewed":
        y = np.exp(y) * (drawn.random(1000) > 0.3)
    elif kind == "few":
        x, y = np.round(x), np.round(y)
    assert swapped_run(normal_scores(x), normal_scores(y)) is None
