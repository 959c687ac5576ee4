"""Where the checks of splits say nothing, and where they speak."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from tests.checks import test_renamed_values
from tests.checks.judgements.common import HALVES, LARGE_HALVES, NOISE, NUMBERS, PICTURES, objects, picture
from tests.checks.looking import Data


def written(one: str, two: str, same: int, others: int) -> list[str]:
    """Sixty patients by their numbers of five digits, then sixty written otherwise, some of whom are the same."""
    numbers = np.random.default_rng(5).permutation(90_000)[:200] + 10_000
    return [one.format(n) for n in numbers[:60]] + [
        two.format(n) for n in [*numbers[:same], *numbers[100 : 100 + others]]
    ]


def laid_out(i: int, first: bool = False) -> Any:
    """An image of 9 x 7 pixels, [h, w, c] or [c, h, w]."""
    pixels = np.random.default_rng([31, i]).random((9, 7, 3)).astype(np.float32)
    return pixels.transpose(2, 0, 1) if first else pixels


def reddish(seed: int, swapped: bool = False) -> Any:
    made = np.random.default_rng(seed).integers(0, 120, (48, 48, 3), np.uint8)
    made[..., 0] += 100
    return Image.fromarray(made[..., ::-1].copy() if swapped else made)


def loud() -> Data:
    """Twenty windows of each of thirteen speakers, of whom the one in the test is a hundred times as loud."""
    of = np.arange(13).repeat(20)
    x = np.random.default_rng(15).normal(size=(len(of), 40)) * np.where(of < 12, 1, 100)[:, None]
    splits = [*np.where(of < 12, "train", "test")]
    return Data({"x": x, "speaker": [f"speaker {k}" for k in of]}, splits=splits, kinds={"x": "array"})


SILENT: dict[str, dict[str, Any]] = {
    "renamed_values": test_renamed_values.SOUND,
    "drift": {
        "a target that doubles": Data(
            {"x": NOISE, "y": np.r_[NOISE[:200] + 8, (NOISE[200:] + 8) * 2]},
            "y",
            splits=LARGE_HALVES,
            kinds={"y": "category"},
        ),
        "a number that is mostly 0, in a small test split": Data(
            {"pixel": np.r_[np.tile([0.0] * 9 + [60.0, 180.0], 20), np.tile([0.0] * 16 + [30.0, 40.0], 3)]},
            splits=["train"] * 220 + ["test"] * 54,
        ),
        "objects whose classes are numbered in another place": objects(
            [[i % 3, (i + 1) % 3] for i in range(60)] + [[3 + i % 3, 3 + (i + 1) % 3] for i in range(60)],
            dict(enumerate(["cat", "dog", "owl", "Cat", "Dog", "Owl"])),
            splits=["train"] * 60 + ["val"] * 60,
        ),
        "training on sound samples alone": Data(
            {"x": NOISE, "label": ["good"] * 300 + ["scratch"] * 100}, "label", splits=LARGE_HALVES
        ),
        "layouts that vary within splits": Data(
            {"x": [laid_out(i, first=i % 2 == 0) for i in range(12)]}, splits=HALVES
        ),
        "two fields that drift": Data(
            {"a": np.r_[NOISE[:200] + 5, NOISE[200:] + 6], "b": np.r_[NOISE[:200] + 6, NOISE[200:] + 7]},
            splits=LARGE_HALVES,
        ),
        "halves of one set": Data({"x": NOISE, "label": ["a", "b"] * 200}, "label", splits=LARGE_HALVES),
        "patients of one class each, by chance more of one in one split": Data(
            {
                "x": NOISE,
                "patient": [f"P{i // 20:02d}" for i in range(400)],
                "label": ["a"] * 180 + ["b"] * 80 + ["a"] * 60 + ["b"] * 80,
            },
            "label",
            splits=["train"] * 260 + ["test"] * 140,
        ),
        "few rows": Data({"x": NUMBERS}, splits=HALVES),
        "a placeholder in one split": Data(
            {"x": np.where(np.arange(400) % 12 == 0, np.where(np.arange(400) < 200, -999.0, NOISE), NOISE)},
            splits=LARGE_HALVES,
        ),
        "mostly zeros, by chance more in one split": Data(
            {"x": np.r_[np.repeat([0.0, 8.0], [188, 12]), np.repeat([0.0, 1.0, 8.0], [184, 8, 8])]}, splits=LARGE_HALVES
        ),
        "pictures of many tints, by chance more red ones in one split": Data(
            {"image": [reddish(i, swapped=i % 12 >= (7 if i < 24 else 5)) for i in range(48)]},
            splits=["train"] * 24 + ["test"] * 24,
        ),
        "pictures of all sizes": Data({"image": [picture(i, size=48 + 6 * (i % 5)) for i in range(12)]}, splits=HALVES),
        "numbers of rows that begin anew in each split": Data(
            {"x": np.r_[np.arange(1, 301), np.arange(1, 101)]}, splits=["train"] * 300 + ["test"] * 100
        ),
        "a trend and its end": Data({"x": 200 + np.arange(400) + NOISE}, splits=["train"] * 320 + ["test"] * 80),
        "a country and one of its towns": Data({"x": 52 + np.r_[NOISE[:200], NOISE[200:] / 12]}, splits=LARGE_HALVES),
        "whole numbers that only one split has": Data(
            {"x": [np.float64(v) for v in (1.5, 2.5, 3.5) * 100] + [np.int64(v) for v in (1, 2, 3) * 100]},
            splits=["train"] * 300 + ["test"] * 300,
        ),
    },
    "folds": {
        "folds by group": Data({"patient": [f"P{i // 4}" for i in range(80)], "fold": [i // 4 % 5 for i in range(80)]}),
        "folds without groups": Data({"x": NOISE[:80], "fold": [i % 5 for i in range(80)]}),
        "one fold": Data({"patient": [f"P{i // 4}" for i in range(80)], "fold": [1] * 80}),
    },
    "leakage": {
        "splits that count from one, in tens, and one number far away": Data(
            {
                "patient": [f"P-{10 * i + 10}" for i in range(60)]
                + [f"pat{10 * i + 10}" for i in range(59)]
                + ["pat999999"]
            },
            splits=["train"] * 60 + ["test"] * 60,
        ),
        "splits that count from one": Data(
            {"patient": [f"P-{i + 1}" for i in range(60)] + [f"pat{i + 1}" for i in range(60)]},
            splits=["train"] * 60 + ["test"] * 60,
        ),
        "other patients written in another way": Data(
            {"patient": written("P-{:05}", "pat{}", 0, 60)}, splits=["train"] * 60 + ["test"] * 60
        ),
        "groups that keep to a split": Data({"group": ["a", "b"] * 3 + ["c", "d"] * 3}, splits=HALVES),
        "times in order": Data({"time": NUMBERS}, splits=HALVES),
        "months in order": Data({"when": ["12/2023"] * 6 + ["02/2024"] * 6}, splits=HALVES, context={"time": "when"}),
        "days that may be in order": Data(
            {"when": ["03/01/2024"] * 6 + ["02/04/2024"] * 6}, splits=HALVES, context={"time": "when"}
        ),
        "births, which are no times of samples": Data(
            {"birth_date": [f"1990-01-{d:02d}" for d in range(12, 0, -1)]}, splits=HALVES
        ),
        "groups without splits": Data({"group": ["a", "b"] * 6}),
        "groups that are absent": Data(
            {"group": np.array([0, 1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8])},
            splits=HALVES,
            nulls={"group": [i % 3 == 0 for i in range(12)]},
        ),
    },
}

SPEAKS: dict[str, dict[str, Any]] = {
    "renamed_values": test_renamed_values.SPEAKS,
    "drift": {
        "one speaker at another scale than twelve alike": (loud(), "preprocessing-differs", "error"),
        "a target in another unit in one split": (
            Data(
                {"x": NOISE, "y": np.r_[NOISE[:200] + 8, (NOISE[200:] + 8) * 14.5]},
                "y",
                splits=LARGE_HALVES,
                kinds={"y": "category"},
            ),
            "preprocessing-differs",
            "error",
        ),
        "a feature of a matrix in another unit in one split": (
            Data({"x": np.c_[NOISE, NOISE + 8, np.r_[NOISE[:200] + 8, (NOISE[200:] + 8) * 1000]]}, splits=LARGE_HALVES),
            "preprocessing-differs",
            "error",
        ),
        "a whole matrix": (
            Data({"x": np.r_[NOISE[:200, None] + [8, 9], (NOISE[200:, None] + [8, 9]) * 1000]}, splits=LARGE_HALVES),
            "preprocessing-differs",
            "error",
        ),
        "two fields swapped in one split": (
            Data(
                {
                    "a": np.r_[NOISE[:200] + 5, 2 * NOISE[200:] + 9],
                    "b": np.r_[2 * NOISE[:200] + 9, NOISE[200:] + 5],
                },
                splits=LARGE_HALVES,
            ),
            "preprocessing-differs",
            "error",
        ),
        "classes in other shares": (
            Data(
                {"x": NOISE, "label": ["a"] * 180 + ["b"] * 20 + ["a"] * 60 + ["b"] * 140}, "label", splits=LARGE_HALVES
            ),
            "label-drift",
            "warning",
        ),
        "classes in other shares, of many patients": (
            Data(
                {
                    "x": NOISE,
                    "patient": [f"P{i // 2:03d}" for i in range(400)],
                    "label": ["a"] * 180 + ["b"] * 20 + ["a"] * 60 + ["b"] * 140,
                },
                "label",
                splits=LARGE_HALVES,
            ),
            "label-drift",
            "warning",
        ),
        "one class of many gone": (
            Data(
                {"x": np.tile(NOISE, 5), "label": np.r_[np.arange(1000) % 10, np.maximum(1, np.arange(1000) % 10)]},
                "label",
                splits=["train"] * 1000 + ["test"] * 1000,
            ),
            "label-drift",
            "warning",
        ),
        "a shifted mean": (
            Data({"x": np.r_[NOISE[:200], NOISE[200:] + 1]}, splits=LARGE_HALVES),
            "feature-drift",
            "info",
        ),
        "a number that is the same throughout one split": (
            Data({"x": np.r_[NOISE[:200], np.full(200, 3.0)]}, splits=LARGE_HALVES),
            "feature-drift",
            "info",
        ),
        "a category spelt otherwise in one split": (
            Data({"sex": ["m", "f"] * 100 + ["male", "female"] * 100}, splits=LARGE_HALVES),
            "feature-drift",
            "info",
        ),
        "a category in other shares": (
            Data({"colour": ["a"] * 150 + ["b"] * 50 + ["a"] * 50 + ["b"] * 150}, splits=LARGE_HALVES),
            "feature-drift",
            "info",
        ),
        "another scale": (
            Data({"x": np.r_[NOISE[:200], NOISE[200:] / 255]}, splits=LARGE_HALVES),
            "preprocessing-differs",
            "error",
        ),
        "inches for centimetres": (
            Data({"x": np.r_[170 + 10 * NOISE[:200], (170 + 10 * NOISE[200:]) / 2.54]}, splits=LARGE_HALVES),
            "preprocessing-differs",
            "error",
        ),
        "one split normalised": (
            Data(
                {"x": np.r_[170 + 10 * NOISE[:200], (NOISE[200:] - NOISE[200:].mean()) / NOISE[200:].std()]},
                splits=LARGE_HALVES,
            ),
            "preprocessing-differs",
            "error",
        ),
        "logarithms in one split": (
            Data({"x": np.r_[np.exp(8 + NOISE[:200]), 8 + NOISE[200:]]}, splits=LARGE_HALVES),
            "preprocessing-differs",
            "error",
        ),
        "another dtype": (
            Data(
                {"x": [NOISE[:20].astype(np.float32)] * 200 + [NOISE[:20].astype(np.int64)] * 200},
                splits=LARGE_HALVES,
                kinds={"x": "array"},
            ),
            "preprocessing-differs",
            "error",
        ),
        "red and blue swapped": (
            Data(
                {"image": [reddish(i) for i in range(24)] + [reddish(i, swapped=True) for i in range(24, 48)]},
                splits=["train"] * 24 + ["test"] * 24,
            ),
            "preprocessing-differs",
            "error",
        ),
        "another layout": (
            Data(
                {"x": [laid_out(i) for i in range(6)] + [laid_out(i, first=True) for i in range(6, 12)]}, splits=HALVES
            ),
            "preprocessing-differs",
            "error",
        ),
        "another size": (
            Data(
                {"image": [picture(i) for i in range(6)] + [picture(i, size=60) for i in range(6, 12)]}, splits=HALVES
            ),
            "preprocessing-differs",
            "error",
        ),
    },
    "folds": {
        "folds by row": (
            Data({"patient": [f"P{i // 4}" for i in range(80)], "fold": [i % 5 for i in range(80)]}),
            "group-leakage",
            "warning",
        ),
    },
    "leakage": {
        "the last of each user": (
            Data(
                {
                    "user_id": [f"u{i % 20}" for i in range(80)],
                    "timestamp": [1_600_000_000 + 864_000 * (i % 20) + 3600 * (i // 20) for i in range(80)],
                },
                splits=["train"] * 60 + ["test"] * 20,
            ),
            "time-leakage",
            "info",
        ),
        "the last of each user but one": (
            Data(
                {
                    "user_id": [f"u{i % 20}" for i in range(80)],
                    "timestamp": [1_600_000_000 + 864_000 * (i % 20) + 3600 * (i // 20) for i in range(79)]
                    + [1_600_000_000],
                },
                splits=["train"] * 60 + ["test"] * 20,
            ),
            "time-leakage",
            "warning",
        ),
        "a named group in two splits": (
            Data({"who": ["a", "b"] * 6}, splits=HALVES, context={"group": "who"}),
            "group-leakage",
            "error",
        ),
        "a likely group in two splits": (
            Data({"speaker": ["a", "b", "c", "d"] * 3}, splits=HALVES),
            "group-leakage",
            "warning",
        ),
        "a named time that runs back": (
            Data({"when": NUMBERS[::-1].copy()}, splits=HALVES, context={"time": "when"}),
            "time-leakage",
            "error",
        ),
        "months that run back": (
            Data({"when": ["02/2024"] * 6 + ["12/2023"] * 6}, splits=HALVES, context={"time": "when"}),
            "time-leakage",
            "error",
        ),
        "a patient in two splits that a column names": (
            Data({"patient": [f"p{i // 2}" for i in range(12)], "split": ["train", "val"] * 6}),
            "group-leakage",
            "warning",
        ),
        "days before the last of training, in columns": (
            Data(
                {
                    "taken": [f"2024-01-{d:02d}" for d in range(1, 13)],
                    "part": ["training", "validation"] * 6,
                }
            ),
            "time-leakage",
            "warning",
        ),
        "dates before the last of training": (
            Data({"taken_at": [f"2024-01-{d:02d}" for d in range(12, 0, -1)]}, splits=HALVES),
            "time-leakage",
            "warning",
        ),
        "patients written in two ways": (
            Data({"patient": written("P-{:05}", "pat{}", 30, 30)}, splits=["train"] * 60 + ["test"] * 60),
            "group-leakage",
            "info",
        ),
        "dates of pictures": (
            Data(
                {"image": PICTURES * 3, "taken_at": [f"2024-01-{d:02d}" for d in range(24, 0, -1)]},
                splits=["train", "test"] * 12,
            ),
            "time-leakage",
            "info",
        ),
        "a likely time that runs back": (Data({"time": NUMBERS[::-1].copy()}, splits=HALVES), "time-leakage", "info"),
    },
}
