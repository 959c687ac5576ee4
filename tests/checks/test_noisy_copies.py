"""Samples of another split that are training samples with noise, or their rows in another order, are told; others are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.checks.looking import Data

SPLITS = ["train"] * 300 + ["test"] * 100


def measured(change: Any = None, shape: tuple[int, ...] = (8,), copies: int = 12) -> Data:
    """Samples of correlated numbers; the first of the test are training samples after ``change``."""
    rng = np.random.default_rng(0)
    size = int(np.prod(shape))
    mixing = rng.normal(size=(5, size))
    values = rng.normal(size=(400, 5)) @ mixing + 0.3 * rng.normal(size=(400, size))
    if change is not None:
        values[300 : 300 + copies] = change(values[:copies], rng)
    return Data({"x": values.reshape(400, *shape).astype(np.float32)}, splits=SPLITS)


def noisy(x: Any, rng: Any) -> Any:
    return x * rng.normal(1, 0.005, x.shape)


def halved(x: Any, rng: Any) -> Any:
    return x.astype(np.float16)


def walk() -> Data:
    """A series whose samples were dealt to the splits at random."""
    rng = np.random.default_rng(1)
    values = np.cumsum(rng.normal(size=(400, 6)), 0).astype(np.float32)
    order = rng.permutation(400)
    return Data({"x": values[order]}, splits=SPLITS)


def clouds(reordered: int = 0, kinds: int = 0) -> Data:
    """Point clouds, or molecules of a few kinds of atoms; some of the test are training clouds in another order."""
    rng = np.random.default_rng(2)
    made = rng.normal(size=(40, 32, 3)).astype(np.float32)
    if kinds:
        made = np.eye(3, dtype=np.float32)[rng.integers(0, kinds, (40, 32))]
        made[30:] = made[:10, ::-1]
    for i in range(reordered):
        made[30 + i] = made[i][rng.permutation(32)]
    return Data({"points": made}, splits=["train"] * 30 + ["test"] * 10)


SOUND = {
    "samples of their own": measured(),
    "a walk that was split at random": walk(),
    "equal ones, which are told as duplicates": measured(lambda x, rng: x),
    "equal ones of many numbers": measured(lambda x, rng: x, (60, 9)),
    "equal ones but for the last bits, as sums in another order, which are told as equal but for rounding": measured(
        lambda x, rng: x * rng.normal(1, 1e-7, x.shape)
    ),
    "rounded numbers": Data({"x": np.random.default_rng(3).normal(size=(400, 4)).round(1)}, splits=SPLITS),
}
SOUND["samples in another unit, all near 0"] = Data(
    {"x": np.where(np.arange(400)[:, None] % 5 == 0, 1e-8, 1) * measured(noisy).columns["x"]}, splits=SPLITS
)
SPEAKS = {
    "with noise": (measured(noisy), "splits-near-overlap", "warning"),
    "as half floats": (measured(halved), "splits-near-overlap", "warning"),
    "with next to no noise": (
        measured(lambda x, rng: x * rng.normal(1, 3e-6, x.shape), (60, 9)),
        "splits-near-overlap",
        "warning",
    ),
    "windows with noise": (measured(noisy, (20, 6)), "splits-near-overlap", "warning"),
}


def flagged() -> Data:
    """Sets of rows of flags: one of the test differs from one of training in a single row, whose flags are the opposite ones."""
    rows = np.random.default_rng(4).integers(0, 2, (40, 9, 16)).astype(np.float32)
    rows[30] = rows[0]
    rows[0, 8] = [0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0]
    rows[30, 8] = 1 - rows[0, 8]
    return Data({"points": rows}, splits=["train"] * 30 + ["test"] * 10)


def padded() -> Data:
    """Wide tables, of which some are empty."""
    tables = np.random.default_rng(6).normal(size=(40, 16, 80)).astype(np.float32)
    tables[20:26] = 0
    return Data({"table": tables}, splits=["train"] * 30 + ["test"] * 10, kinds={"table": "array"})


REORDERED = {
    "wide ones, some of them empty": padded(),
    "other points": clouds(),
    "molecules of the same atoms": clouds(kinds=3),
    "rows of flags, one of them another": flagged(),
}
REORDERED_SPEAKS = {
    "in another split": (clouds(4), "splits-near-overlap", "warning"),
    "the same points": (clouds(4), "near-duplicates", "warning"),
}
