"""Maps of classes are no measures: no outlier among them, and no treatment that would make classes of what is to be ignored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.base import STATISTICS
from dataloader_expert.checks.common.class_maps import CLASS_MAP
from dataloader_expert.facts import Facts
from tests.checks.looking import Data, blocks_of, context_of, judged, looked

RNG = np.random.default_rng(0)


def maps(classes: int = 5, void: int | None = 255, dtype: Any = np.int64, side: int = 16) -> list[Any]:
    made = [RNG.integers(0, classes, (side, side)).astype(dtype) for _ in range(40)]
    for one in made if void is not None else ():
        one[:4, :4] = void
    return made


def counts() -> list[Any]:
    """Events in each cell: whole numbers, a few of them large."""
    made = [RNG.poisson(3, (16, 16)) for _ in range(40)]
    made[7][0, 0] = 900
    return made


def is_map(name: str, values: list[Any]) -> bool:
    facts = Facts()
    data = Data({name: values, "y": ["a", "b"] * 20}, "y")
    for fact in looked(context_of(data), blocks_of(data))["statistics"].facts():
        facts.add(fact)
    found = facts.find(CLASS_MAP, field=name) is not None
    assert not found or facts.value(STATISTICS, field=name)["treatment"] is None
    return found


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("mask", maps()),
        ("mask", maps(void=None)),
        ("target_map", maps(2, None)),
        ("1", maps()),
        ("ground", maps(21, 255, np.int32)),
        ("ground", maps(9, -1)),
        ("ground", maps(9, -100)),
        ("tags", [row[0] for row in maps(7, -100)]),
    ],
    ids=["named", "nothing void", "binary", "no name", "int32", "minus one", "minus a hundred", "of steps"],
)
def test_a_map_of_classes_has_no_outliers(name: str, values: list[Any]) -> None:
    """Our promise: clipping would turn void into a class."""
    assert is_map(name, values)
    assert "outliers" not in judged("statistics", Data({name: values, "y": ["a", "b"] * 20}, "y"))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("events", counts()),
        ("grey", [RNG.integers(0, 256, (16, 16)) for _ in range(40)]),
        ("saturated", [np.minimum(RNG.integers(0, 400, (16, 16)), 255) for _ in range(40)]),
        ("signal", [RNG.integers(-300, 300, 64) for _ in range(40)]),
        ("difference", [RNG.integers(-3, 4, (16, 16)) for _ in range(40)]),
        ("heights", [RNG.normal(40, 9, (16, 16)) for _ in range(40)]),
        ("mask", [RNG.random((16, 16)) for _ in range(40)]),
    ],
    ids=["counts", "grey", "cut off", "signed", "small and signed", "floats", "soft"],
)
def test_measures_are_no_maps(name: str, values: list[Any]) -> None:
    assert not is_map(name, values)


def test_a_far_count_is_told_as_before() -> None:
    assert "outliers" in judged("statistics", Data({"events": counts(), "y": ["a", "b"] * 20}, "y"))
