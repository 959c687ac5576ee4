"""Clouds whose points repeat, or whose axes are swapped in one split, beside clouds and series that are as they are by nature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

N = 120
RNG = np.random.default_rng(37)
SPLITS = ["train"] * 80 + ["test"] * 40


def clouds(wide: Any = (1.0, 0.9, 0.4), n: int = N) -> Any:
    """Points around the middle, wider along some axes, float32 [n, points, 3]."""
    each = np.array(wide) * RNG.uniform(0.7, 1.4, (n, 1, 3))
    return (RNG.normal(0, 1, (n, 200, 3)) * each).astype(np.float32)


def of(x: Any, splits: Any = "", name: str = "points") -> Data:
    return Data({name: x}, splits=splits, kinds={name: "array"})


def in_test(change: Any) -> Any:
    x = clouds()
    x[80:] = change(x[80:])
    return of(x, SPLITS)


def repeated(some: slice, beside: bool = False) -> Any:
    x = clouds()
    x[some] = x[some, :40].repeat(5, 1) if beside else np.tile(x[some, :40], (1, 5, 1))
    return of(x)


def padded(x: Any, name: str) -> Data:
    """Every sixth sample begins and ends in rows of zeros."""
    x = x.copy()
    x[::6, :12] = x[::6, -12:] = 0
    return of(x, name=name)


def walks() -> Any:
    """Recordings of three leads, float32 [n, steps, 3]: each step is near the last."""
    return np.cumsum(RNG.normal(0, 0.1, (N, 200, 3)), axis=1).astype(np.float32)


PADDED = padded(clouds(), "sample")
SWAPPED = in_test(lambda x: x[..., [0, 2, 1]])
FEW = repeated(slice(0, N, 6))
SOUND = {
    "clouds": of(clouds(), SPLITS),
    "clouds that are all filled up": repeated(slice(0, N)),
    "steps of a series that stand still": repeated(slice(0, N, 6), beside=True),
    "a split of flatter things": in_test(lambda x: x * np.array([1, 1, 0.5], np.float32)),
    "a split of smaller things": in_test(lambda x: x * np.float32(0.5)),
    "balls, with axes swapped": of(
        np.concatenate([clouds((1, 1, 1), 80), clouds((1, 1, 1), 40)[..., [0, 2, 1]]]), SPLITS
    ),
    "recordings of three leads, some of them padded": padded(walks(), "tracings"),
    "one cloud that repeats its points": repeated(slice(0, 1)),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_clouds_are_as_they_are(data: Data) -> None:
    assert judged_alone("point_clouds", data) == {}


def test_repeated_points_and_swapped_axes_are_told() -> None:
    """Our promise: how many points are left, and which axes of which split."""
    found = judged_alone("point_clouds", FEW)["constant-samples"]
    assert (found.count, found.severity) == (20, "warning")
    assert "about 40 of 200" in found.message
    found = judged_alone("point_clouds", SWAPPED)["preprocessing-differs"]
    assert "y and z seem to be swapped in points in test" in found.message
    found = judged_alone("point_clouds", PADDED)["constant-samples"]
    assert (found.count, found.severity) == (20, "warning")
    assert "end in points of sample that are all 0, about 12 of 200" in found.message
    assert "constant-samples" in judged_alone("point_clouds", padded(walks(), "scan_points"))
