"""Each check's judgement, as two tables: where it says nothing, and where it speaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.checks.looking import Data, judged

rng = np.random.default_rng(29)
NOISE = rng.normal(0, 1, 400)
RATE = 8000


def picture(seed: int, low: int = 0, high: int = 256, mode: str = "RGB", size: int = 48) -> Any:
    coarse = np.random.default_rng(seed).integers(low, high, (6, 6, 3), np.uint8)
    return Image.fromarray(coarse.repeat(size // 6, 0).repeat(size // 6, 1)).convert(mode)


def turned() -> Any:
    image = picture(1)
    image.getexif()[274] = 6
    return image


def sound(scale: float = 5000.0, middle: float = 0.0, n: int = 900) -> Any:
    return (NOISE[np.arange(n) % 400] * scale / 3 + middle).clip(-32768, 32767).astype(np.int16)[:, None]


def sounds(*values: Any, rates: list[int] | None = None) -> Data:
    held = list(values)
    return Data({"audio": held, "sample_rate": np.array(rates or [RATE] * len(held))}, kinds={"audio": "audio"})


def silent_half() -> Any:
    value = sound()
    value[len(value) // 2 :] = 0
    return value


def clipped() -> Any:
    value = sound()
    value[10:14] = 32767
    return value


PICTURES = [picture(i) for i in range(8)]
TEXTS = [f"the {w} sat on the mat number {i}" for i, w in enumerate(["cat", "dog", "owl", "yak"] * 3)]
HALVES = ["train"] * 6 + ["test"] * 6
NUMBERS = np.arange(12.0)


def tabled(label: Any, **more: Any) -> Data:
    return Data({"x": NOISE[: len(label)].copy(), "label": label}, "label", **more)


def ragged(*shapes: tuple[int, ...], kind: str = "sequence", dtype: str = "float32") -> Data:
    values: list[Any] = [np.zeros(s, dtype) for s in shapes]
    return Data({"x": values}, kinds={"x": kind})


SILENT = {
    "statistics": {
        "numbers without holes": Data({"x": NOISE}),
        "a label that is constant in one class": tabled(["a"] * 12),
        "texts of one length that differ": Data({"x": ["aa", "bb"] * 6}),
        "a rate that all sounds share": sounds(sound(), sound()),
    },
    "classes": {
        "ten to one": tabled(["a"] * 20 + ["b"] * 2),
        "names that differ in more than case": tabled(["cat", "cats", "Dog", "owl"] * 3),
        "numbers within the declared classes": tabled(np.array([0, 1, 2] * 4), classes=("a", "b", "c")),
        "every class in every split": tabled(["a", "b"] * 6, splits=HALVES),
        "a target that is no class": tabled(NOISE[:12]),
    },
    "duplicates": {
        "distinct rows": Data({"x": NOISE}),
        "distinct pictures": Data({"image": PICTURES}),
        "one text with one label": Data({"text": TEXTS, "label": ["a", "b"] * 6}, "label", kinds={"text": "text"}),
        "flat pictures that are not compared": Data(
            {"image": [Image.new("RGB", (48, 48), (i * 20, 0, 0)) for i in range(4)]}, context={"near": True}
        ),
    },
    "integrity": {
        "one shape": Data({"x": np.zeros((12, 3, 4), np.float32)}),
        "whole numbers among decimals": Data({"x": [1, 2.5, 3]}, kinds={"x": "number"}),
        "big-endian among little-endian": Data(
            {"x": [np.zeros(4, "<f4"), np.zeros(4, ">f4"), np.zeros(4, "<f4")]}, kinds={"x": "array"}
        ),
        "texts of any length": Data({"text": TEXTS}, kinds={"text": "text"}),
    },
    "pictures": {
        "one mode": Data({"image": PICTURES}),
        "only gray pictures": Data({"image": [picture(i, mode="L") for i in range(4)]}),
        "arrays that are not on the scale of pixels": Data(
            {"x": rng.integers(0, 17, (6, 8, 8), np.uint8)}, kinds={"x": "image"}
        ),
    },
    "sounds": {
        "alike": sounds(sound(), sound(3000)),
        "a peak without a run": sounds(sound(), sound(9000)),
        "a quiet one": sounds(sound(), sound(60)),
    },
    "structure": {
        "independent columns": Data({"a": NOISE[:200], "b": NOISE[200:]}),
        "equal columns of few rows": Data({"a": NUMBERS, "b": NUMBERS}),
        "a constant beside a column": Data({"a": NOISE, "b": np.ones(400)}),
    },
    "texts": {
        "words": Data({"text": TEXTS}, kinds={"text": "text"}),
        "an absent one": Data({"text": [*TEXTS[:5], None]}, kinds={"text": "text"}),
    },
    "leakage": {
        "groups that keep to a split": Data({"group": ["a", "b"] * 3 + ["c", "d"] * 3}, splits=HALVES),
        "times in order": Data({"time": NUMBERS}, splits=HALVES),
        "months in order": Data({"when": ["12/2023"] * 6 + ["02/2024"] * 6}, splits=HALVES, context={"time": "when"}),
        "days that may be in order": Data(
            {"when": ["03/01/2024"] * 6 + ["02/04/2024"] * 6}, splits=HALVES, context={"time": "when"}
        ),
        "groups without splits": Data({"group": ["a", "b"] * 6}),
        "groups that are absent": Data(
            {"group": np.array([0, 1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8])},
            splits=HALVES,
            nulls={"group": [i % 3 == 0 for i in range(12)]},
        ),
    },
    "labels": {"anything, for it only keeps": tabled(["a", "b"] * 6)},
}
SPEAKS = {
    "statistics": {
        "a NaN": (Data({"x": np.array([1, np.nan, 3.0])}), "nan", "error"),
        "an infinity": (Data({"x": np.array([1, -np.inf, 3.0])}), "inf", "error"),
        "an absent number": (
            Data({"x": NUMBERS}, nulls={"x": [i == 2 for i in range(12)]}),
            "missing-values",
            "warning",
        ),
        "a constant": (Data({"x": np.full(12, 4.0), "y": NUMBERS}), "constant-field", "warning"),
        "a far value": (Data({"x": np.append(NOISE, 1e6)}), "outliers", "info"),
        "numbers that are standard already": (
            Data({"x": np.tile((NOISE - NOISE.mean()) / NOISE.std(), 3)}),
            "already-normalized",
            "info",
        ),
    },
    "classes": {
        "eleven to one": (tabled(["a"] * 22 + ["b"] * 2), "severe-imbalance", "warning"),
        "a class of one sample": (tabled(["a", "b"] * 5 + ["c"]), "label-singleton", "info"),
        "case and blanks": (tabled(["cat", "Cat ", "dog", "dog"] * 3), "label-twins", "warning"),
        "a blank": (tabled(["a", " ", "b"] * 4), "label-blank", "error"),
        "beyond the declared classes": (
            tabled(np.array([0, 1, 7] * 4), classes=("a", "b", "c")),
            "label-out-of-range",
            "error",
        ),
        "a class in one split only": (
            tabled(["a", "b"] * 3 + ["a"] * 6, splits=HALVES),
            "class-missing-in-split",
            "warning",
        ),
    },
    "duplicates": {
        "a row twice": (Data({"x": np.append(NOISE, NOISE[3])}), "duplicate-samples", "warning"),
        "a row in two splits": (Data({"x": np.append(NOISE[:11], NOISE[3])}, splits=HALVES), "splits-overlap", "error"),
        "a picture with two labels": (
            Data({"image": [*PICTURES, PICTURES[0]], "label": [*"abcdabcd", "d"]}, "label"),
            "label-conflict",
            "error",
        ),
        "a row with two labels": (
            Data({"x": np.append(NOISE[:11], NOISE[0]), "label": [*"abcdabcdabc", "d"]}, "label"),
            "label-conflict",
            "warning",
        ),
        "a picture of lesser quality": (
            Data({"image": [*PICTURES, PICTURES[0].resize((40, 40)).resize((48, 48))]}),
            "near-duplicates",
            "warning",
        ),
        "a near picture in another split": (
            Data(
                {"image": [*PICTURES, PICTURES[0].resize((40, 40)).resize((48, 48))]},
                splits=["train"] * 8 + ["test"],
            ),
            "splits-near-overlap",
            "warning",
        ),
        "a text in other case": (
            Data({"text": [*TEXTS, TEXTS[0].upper()]}, kinds={"text": "text"}),
            "near-duplicates",
            "warning",
        ),
    },
    "integrity": {
        "one shape unlike the others": (ragged(*[(3, 4)] * 30, (5, 4, 1)), "shape-drift", "error"),
        "one width unlike the others": (
            ragged(*[(n, 4) for n in range(1, 30)], (9, 5)),
            "shape-drift",
            "error",
        ),
        "lengths that vary": (ragged((3, 4), (5, 4), (6, 4), (7, 4)), "ragged", "info"),
        "images of many sizes": (Data({"image": [picture(i, size=12 + 6 * i) for i in range(8)]}), "ragged", "warning"),
        "doubles among singles": (
            Data({"x": [np.zeros(4, np.float32), np.zeros(4), np.zeros(4, np.float32)]}, kinds={"x": "array"}),
            "dtype-drift",
            "warning",
        ),
        "a text among numbers": (Data({"x": [1.5, "2.5", 3.5]}, kinds={"x": "number"}), "dtype-drift", "warning"),
    },
    "pictures": {
        "a gray one among coloured": (Data({"image": [*PICTURES, picture(9, mode="L")]}), "mode-drift", "warning"),
        "one turned by its tag": (Data({"image": [turned(), picture(2)]}), "rotated-by-exif", "warning"),
        "a dark one": (Data({"image": [*PICTURES, picture(9, 0, 40)]}), "dark", "info"),
        "a light one": (Data({"image": [*PICTURES, picture(9, 230, 256)]}), "light", "info"),
        "a flat one": (Data({"image": [*PICTURES, Image.new("RGB", (48, 48), (99, 9, 9))]}), "flat", "warning"),
    },
    "sounds": {
        "silence": (sounds(sound(), sound(0.0)), "silent-audio", "warning"),
        "one of many cut off": (
            sounds(*(sound(n=800 + i) for i in range(30)), silent_half()),
            "silent-audio",
            "warning",
        ),
        "no frame": (sounds(sound(), sound(n=0)), "silent-audio", "warning"),
        "a run at full scale": (sounds(sound(), clipped()), "clipped-audio", "warning"),
        "off the middle": (sounds(sound(), sound(middle=9000)), "dc-offset", "warning"),
        "another rate": (sounds(sound(), sound(), rates=[8000, 16000]), "rate-drift", "warning"),
        "two channels": (sounds(sound(), np.repeat(sound(), 2, 1)), "channel-drift", "warning"),
    },
    "structure": {
        "one column twice": (Data({"a": NOISE, "b": 3 * NOISE + 1}), "collinear-fields", "info"),
        "one column mirrored": (Data({"a": NOISE, "b": -NOISE}), "collinear-fields", "info"),
    },
    "texts": {"blanks": (Data({"text": [*TEXTS, " \n"]}, kinds={"text": "text"}), "blank-text", "warning")},
    "leakage": {
        "a named group in two splits": (
            Data({"who": ["a", "b"] * 6}, splits=HALVES, context={"group": "who"}),
            "group-leakage",
            "error",
        ),
        "a likely group in two splits": (Data({"speaker": ["a", "b"] * 6}, splits=HALVES), "group-leakage", "warning"),
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
        "a likely time that runs back": (Data({"time": NUMBERS[::-1].copy()}, splits=HALVES), "time-leakage", "info"),
    },
}


def rows(table: dict[str, dict[str, Any]]) -> list[Any]:
    return [
        pytest.param(check, row, id=f"{check}: {name}") for check, named in table.items() for name, row in named.items()
    ]


@pytest.mark.parametrize(("check", "data"), rows(SILENT))
def test_a_check_says_nothing_when(check: str, data: Data) -> None:
    """Our promise: what is as it should be raises nothing above an info."""
    found = judged(check, data)
    assert {f.code: f.message for f in found.values() if f.severity != "info"} == {}


@pytest.mark.parametrize(("check", "row"), rows(SPEAKS))
def test_a_check_speaks_when(check: str, row: tuple[Data, str, str]) -> None:
    """Our promise: the code and its severity, however the samples were dealt out to processes."""
    data, code, severity = row
    found = judged(check, data)
    assert code in found, found
    assert found[code].severity == severity
    assert found[code].evidence


def test_every_check_has_both_tables() -> None:
    """Our promise: a check that is added comes with rows where it is silent; one that judges, with rows where not."""
    from dataloader_expert.checks.base import all_checks

    checks = all_checks()
    assert set(SILENT) == set(checks)
    assert set(SPEAKS) == {name for name, check in checks.items() if check.ids}
