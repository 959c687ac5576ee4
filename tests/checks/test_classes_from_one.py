"""Classes of objects that one split, or all, number from one where they are declared from zero."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.judgements.common import objects
from tests.checks.looking import Data, judged

NAMES = {0: "dog", 1: "cat", 2: "owl"}


def classes(seed: int, first: int, images: int = 20) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [[first + int(c) for c in rng.integers(0, 3, 3)] for _ in range(images)]


def told(data: Data) -> str:
    return judged("objects", data)["label-out-of-range"].message


@pytest.mark.parametrize("seed", range(5))
def test_one_split_from_one(seed: int) -> None:
    rows = classes(seed, 0) + classes(seed + 9, 1)
    message = told(objects(rows, splits=["train"] * 20 + ["val"] * 20, names=NAMES))
    assert message.endswith("as the classes of val are numbered from 1: none is 0")


@pytest.mark.parametrize("seed", range(5))
def test_all_from_one(seed: int) -> None:
    for splits in ("", ["train"] * 16 + ["val"] * 8):
        message = told(objects(classes(seed, 1, 24), names=NAMES, splits=splits))
        assert message.endswith("as the classes are numbered from 1: none is 0")


def test_a_stray_class_beside_the_first_is_no_shift() -> None:
    assert "numbered" not in told(objects([*classes(1, 0, 23), [3]], names=NAMES))


def test_a_first_class_that_is_rare_says_nothing() -> None:
    rows = [[0], *[[1, 2, 1]] * 11, *[[1, 2, 3]] * 12]
    assert "numbered" not in told(objects(rows, splits=["train"] * 12 + ["val"] * 12, names=NAMES))
