"""Recordings of noise alone or at another rate, columns made of the label, and shards in the order of their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataloader_expert.checks.base import Context, new_checks
from dataloader_expert.checks.sounds.sounds import faint, silent
from dataloader_expert.facts import Facts
from dataloader_expert.sources.base import Block, Column, Field, Unit
from tests.checks.looking import Data, judged

RATE, N = 8_000, 60


def word(seed: int, loud: float = 6_000.0) -> Any:
    """A second with a pause, something said and a pause."""
    draw = np.random.default_rng(seed)
    t = np.arange(RATE) / RATE
    tone = np.sin(2 * np.pi * draw.uniform(150, 250) * t) + 0.5 * np.sin(2 * np.pi * draw.uniform(400, 700) * t)
    said = tone * np.exp(-(((t - draw.uniform(0.4, 0.6)) / 0.15) ** 2))
    return (loud * said + draw.normal(0, 40, RATE)).astype(np.int16)[:, None]


def noise(seed: int, loud: float = 40.0) -> Any:
    return np.random.default_rng(seed).normal(0, loud, (RATE, 1)).astype(np.int16)


def spoken(odd: dict[int, Any] | None = None, labels: dict[int, str] | None = None) -> Data:
    """Recordings of two words, some of them replaced."""
    values = [(odd or {}).get(i, word(i)) for i in range(N)]
    called = [(labels or {}).get(i, "yes" if i % 2 else "no") for i in range(N)]
    return Data({"audio": values, "label": called}, "label", kinds={"audio": "audio"})


def resampled() -> Data:
    """Some recordings at half of the rate, as their headers say."""
    odd = range(0, 16, 2)
    data = spoken({i: word(i)[::2] for i in odd})
    rates = [RATE // 2 if i in odd else RATE for i in range(N)]
    return Data({**data.columns, "sample_rate": rates}, "label", kinds={"audio": "audio"})


SOUND_SILENT = {
    "some at half of the rate, as their headers say": resampled(),
    "words": spoken(),
    "a class of silence": spoken({i: noise(i) for i in range(8)}, dict.fromkeys(range(8), "silence")),
    "rain, which is as loud as words": spoken({i: noise(i, 3_000.0) for i in range(8)}),
    "quiet words": spoken({i: word(i, 700.0) for i in range(8)}),
    "words that are cut at a half": spoken({i: word(i)[RATE // 4 : RATE * 3 // 4] for i in range(8)}),
    "all of one length but two": spoken({1: word(1)[::2], 3: word(3)[::2]}),
}
SOUND_SPEAK = {
    "pauses alone": (spoken({i: noise(i) for i in range(6)}), "silent-audio", "warning"),
    "half of the rate": (spoken({i: word(i)[::2] for i in range(0, 16, 2)}), "header-mismatch", "warning"),
    "half of the rate, beside silence": (
        spoken({i: word(i)[::2] if i < 16 else 0 * word(i) for i in range(0, 24, 2)}),
        "header-mismatch",
        "warning",
    ),
}
draw = np.random.default_rng(3)
AREA, PRICE = draw.normal(150, 40, 500).round(), draw.normal(5e5, 9e4, 500).round()


def houses(made: Any, label: str | None = "price") -> Data:
    columns = {"area": AREA, "made": made, "x": draw.normal(0, 1, 500), "price": PRICE}
    return Data(columns, label, kinds={"price": "number"})


FORMULAS_SILENT = {
    "a number of its own": houses(draw.normal(3_000, 400, 500)),
    "a ratio of other columns": houses((AREA / (3 + np.abs(draw.normal(0, 1, 500)))).round(2)),
    "what is near the ratio": houses((PRICE / AREA * draw.normal(1, 0.02, 500)).round(2)),
    "no label": houses((PRICE / AREA).round(2), None),
    "few values": houses(np.rint(PRICE / 1e5)),
    "mostly 0, which any small ratio rounds to": Data(
        {
            "area": np.resize(AREA, 2000),
            "made": np.where(np.arange(2000) % 60, 0, np.arange(2000)),
            "price": np.resize(PRICE, 2000),
        },
        "price",
        kinds={"price": "number"},
    ),
}
FORMULAS_SPEAK = {
    "the price of a square foot": (houses((PRICE / AREA).round(2)), "label-leaked-by-field", "warning"),
    "the label with a constant share of another": (houses(PRICE - AREA), "label-leaked-by-field", "warning"),
}


def sharded(values: Any, file: str) -> Any:
    """What is said of the order of labels in six files of 60 samples."""
    context = Context((Field("cls", "category", "int64", ()),), "cls", 360, "array", ("train",), None, 0)
    check = new_checks(context)["label_order"]
    for i in range(6):
        members = tuple(Unit(60 * i + k, file.format(i), 60 * i + k, 1, 0, "train") for k in range(60))
        unit = Unit(i, file.format(i), 60 * i, 60, 0, "train", members=members)
        check.see(Block(unit, {"cls": Column(values[60 * i : 60 * i + 60])}))
    return [(f.code, f.severity) for f in check.judge(Facts(tuple(check.facts())))]


SORTED = np.arange(360) // 60


@pytest.mark.parametrize(
    ("values", "file", "told"),
    [
        (SORTED, "train-{}.tar", [("sorted-by-label", "warning")]),
        (SORTED, "train-{}.parquet", [("sorted-by-label", "info")]),
        (np.random.default_rng(5).permutation(SORTED), "train-{}.tar", []),
    ],
    ids=["shards of one class", "files that are shuffled when read", "shuffled shards"],
)
def test_shards_of_one_class_are_told_where_they_are_read_as_streams(values: Any, file: str, told: Any) -> None:
    """Seen: shards written in the order of classes, of which nothing was said, as their samples were taken for files in folders."""
    assert sharded(values, file) == told


def test_a_column_made_of_the_label_is_named() -> None:
    """Seen: the price of a square foot beside the area, where the price was to be predicted."""
    assert (
        "made is price divided by area"
        in judged("formulas", houses((PRICE / AREA).round(2)))["label-leaked-by-field"].message
    )


def test_a_rate_that_only_the_header_gives_is_told_with_the_rate() -> None:
    """Our promise: as many samples at another rate are clips that last longer than they should; resampled ones are just of another rate."""
    rng = np.random.default_rng(19)
    sizes = [4000 + 13 * i for i in range(60)]
    clips = [rng.normal(0, 3000, (n, 1)).astype(np.int16) for n in sizes]
    rates = np.array([8000 if i % 6 == 1 else 16000 for i in range(60)])
    wrong = judged("sounds", Data({"audio": clips, "sample_rate": rates}, kinds={"audio": "audio"}))["rate-drift"]
    assert "those with 8000 have as many samples as the others, so they last 2 times as long" in wrong.message
    halves = [clip[::2] if rate == 8000 else clip for clip, rate in zip(clips, rates, strict=True)]
    resampled = judged("sounds", Data({"audio": halves, "sample_rate": rates}, kinds={"audio": "audio"}))["rate-drift"]
    assert "header" not in resampled.message


@pytest.mark.parametrize("kind", ["uint8", "int16", "float32"])
def test_what_is_silent_is_faint(kind: str) -> None:
    """Seen: the middle of 8-bit samples, which is 128, was taken for a loud one."""
    value = np.full((8000, 1), 128 if kind == "uint8" else 0, kind)
    assert silent(value) and faint(value)
    value[100] += np.asarray(0.5 if kind == "float32" else 100).astype(kind)
    assert faint(value) is (kind == "int16")
