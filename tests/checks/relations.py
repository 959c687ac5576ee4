"""Rows of the two tables of judgements for checks of what belongs together: fields of a sample, a field and its split, boxes and
their image."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from tests.checks.looking import Data

rng = np.random.default_rng(41)
N = 240
UP, DOWN = np.sort(rng.random((N, 2)), 1).T
SITES = [f"site {i % 6}" for i in range(N)]
LATER = ["train"] * (N // 2) + ["test"] * (N // 2)
NAMES = [f"film {i % 30}" for i in range(N)]
CODES = np.array([7 * (i % 30) + 3 for i in range(N)])
HERE = [
    f"the {a} {b} sees the {c}" for a, b, c in rng.choice(["red", "old", "dog", "cow", "man", "sea"], (N, 3)).tolist()
]
THERE = [
    f"der {a} {b} sieht das {c}"
    for a, b, c in rng.choice(["rote", "alte", "hund", "kuh", "mann", "meer"], (N, 3)).tolist()
]
TOKENS = [rng.integers(0, 500, 20) for _ in range(60)]


def two(one: Any, other: Any, names: tuple[str, str] = ("x", "y"), **more: Any) -> Data:
    return Data({names[0]: one, names[1]: other, "site": SITES}, **more)


def exchanged(rows: Any, one: list[str], other: list[str]) -> Data:
    """The two texts of each sample, exchanged in these rows."""
    a = [o if i in rows else t for i, (t, o) in enumerate(zip(one, other, strict=True))]
    b = [t if i in rows else o for i, (t, o) in enumerate(zip(one, other, strict=True))]
    return Data({"src": a, "tgt": b}, kinds={"src": "text", "tgt": "text"})


def labelled(shifts: list[int]) -> Data:
    labels = [np.roll(ids, -shift) for ids, shift in zip(TOKENS, shifts, strict=True)]
    return Data({"input_ids": TOKENS, "labels": labels}, kinds={"input_ids": "tokens", "labels": "tokens"})


def recorded(seconds: list[float], unit: float = 1.0) -> Data:
    """Recordings of 1 to 2 seconds at 8 kHz, and what a field gives as their lengths."""
    sounds = [np.zeros((8000 + 130 * i, 1), np.int16) for i in range(len(seconds))]
    given = [unit * s * len(sound) / 8000 for s, sound in zip(seconds, sounds, strict=True)]
    columns = {"audio": sounds, "sample_rate": np.full(len(sounds), 8000), "duration": np.array(given)}
    return Data(columns, kinds={"audio": "audio"})


def posed(kinds: list[str]) -> Data:
    """A person an image, with key points in the box, with x and y exchanged, or far away."""
    boxes, points = [], []
    for i, kind in enumerate(kinds):
        at = np.random.default_rng(i).random((5, 2)) * [20, 60] + [100 + i, 20]
        boxes.append(np.array([[100.0 + i, 20, 120 + i, 80]]))
        moved = {"in": at, "exchanged": at[:, ::-1], "away": 3 * at}[kind]
        points.append(np.concatenate([moved, np.full((5, 1), 2.0)], 1).astype(np.float32)[None])
    kept = {"boxes": "sequence", "keypoints": "sequence"}
    return Data({"boxes": boxes, "keypoints": points}, kinds=kept, context={"corners": True})


def filmed(scale: float, cameras: int = 2) -> Data:
    """Images of several splits with boxes all over them; in the second split they are scaled."""
    drawn = np.random.default_rng(7).random((80, 4))
    low, size = drawn[:, :2] * 60, 5 + drawn[:, 2:] * 35
    boxes = [
        np.concatenate([a, a + b])[None] * (scale if i >= 50 else 1)
        for i, (a, b) in enumerate(zip(low, size, strict=True))
    ]
    pictures = [Image.new("L", (100, 100)) for _ in boxes]
    return Data({"image": pictures, "boxes": boxes}, splits=["train"] * 50 + ["val"] * 30, context={"corners": True})


def counted(milliseconds: int, name: str = "event_time") -> Data:
    seconds = 1_700_000_000 + np.arange(60) * 977
    return Data({name: np.where(np.arange(60) < milliseconds, seconds * 1000, seconds)})


SILENT: dict[str, dict[str, Data]] = {
    "relations": {
        "numbers in no order": two(UP, rng.random(N)),
        "an order that a few break by chance": two(np.r_[DOWN[:2], UP[2:]], np.r_[UP[:2], DOWN[2:]]),
        "a start that is no time": two(rng.random(N), rng.random(N), ("start_lat", "end_lat")),
        "numbers that are the same in both splits": two(UP, UP, splits=LATER),
        "numbers that are never the same": two(UP, DOWN, splits=LATER),
        "one code a name": Data({"film": NAMES, "code": CODES}, splits=LATER),
        "a number of each row": Data({"film": NAMES, "code": np.arange(N)}, splits=LATER),
    },
    "swapped_texts": {
        "a text and its translation": exchanged((), HERE, THERE),
        "two texts of one language": exchanged(range(40), HERE, HERE[::-1]),
        "few": Data({"a": HERE[:20], "b": THERE[:20]}, kinds={"a": "text", "b": "text"}),
    },
    "shifted_labels": {
        "labels that are the tokens": labelled([0] * 60),
        "labels that are all shifted": labelled([1] * 60),
        "labels of something else": Data(
            {"input_ids": TOKENS, "labels": TOKENS[::-1]}, kinds={"input_ids": "tokens", "labels": "tokens"}
        ),
    },
    "durations": {
        "as long as is said": recorded([1.0] * 30),
        "in milliseconds": recorded([1.0] * 30, 1000.0),
        "a field of other lengths": recorded([0.1 + 0.1 * i for i in range(30)]),
    },
    "keypoints": {
        "within their boxes": posed(["in"] * 40),
        "boxes of something else": posed(["away"] * 40),
    },
    "box_scales": {
        "boxes all over the images of both splits": filmed(1.0),
        "slightly smaller ones": filmed(0.9),
    },
    "epoch_units": {
        "all in seconds": counted(0),
        "all in milliseconds": counted(60),
        "a mistake of one": counted(1),
        "numbers that are no times": counted(20, "population"),
    },
}
"""Nothing is found."""
SPEAKS: dict[str, dict[str, tuple[Data, str, str]]] = {
    "relations": {
        "an order that one site has the other way round": (
            two(
                np.where(np.arange(N) % 6 == 2, DOWN, UP),
                np.where(np.arange(N) % 6 == 2, UP, DOWN),
                ("score_rejected", "score_chosen"),
            ),
            "order-reversed",
            "warning",
        ),
        "the same of numbers whose names say nothing": (
            two(np.where(np.arange(N) % 6 == 2, DOWN, UP), np.where(np.arange(N) % 6 == 2, UP, DOWN)),
            "order-reversed",
            "info",
        ),
        "a few that end before they start": (
            two(np.r_[DOWN[:3], UP[3:]], np.r_[UP[:3], DOWN[3:]], ("start", "end")),
            "order-reversed",
            "warning",
        ),
        "the target itself in one split": (
            two(np.r_[UP[: N // 2], DOWN[N // 2 :]], DOWN, ("lag_1", "demand"), splits=LATER),
            "preprocessing-differs",
            "error",
        ),
        "names numbered anew in one split": (
            Data({"film": NAMES, "code": np.r_[CODES[: N // 2], (CODES * 11)[N // 2 :]]}, splits=LATER),
            "preprocessing-differs",
            "error",
        ),
    },
    "swapped_texts": {
        "a few": (exchanged(range(0, 30, 7), HERE, THERE), "fields-swapped", "warning"),
        "a third": (exchanged(range(0, N, 3), HERE, THERE), "fields-swapped", "warning"),
    },
    "shifted_labels": {
        "shifted in a few": (labelled([0] * 50 + [1] * 10), "shifted-labels", "error"),
        "not shifted in a few": (labelled([1] * 50 + [0] * 10), "shifted-labels", "error"),
    },
    "durations": {
        "half as long as is said": (recorded([1.0] * 25 + [2.0] * 5), "length-mismatch", "error"),
        "cut": (recorded([1.0] * 25 + [1.3, 1.9, 4.0]), "length-mismatch", "error"),
    },
    "keypoints": {
        "x and y exchanged": (posed(["in"] * 30 + ["exchanged"] * 8), "keypoints-outside", "error"),
        "of a larger image": (posed(["in"] * 30 + ["away"] * 8), "keypoints-outside", "warning"),
    },
    "box_scales": {"a split of half the size": (filmed(0.5), "box-scale", "warning")},
    "epoch_units": {"a third in milliseconds": (counted(20), "scale-drift", "error")},
}
"""What is found: its code and severity."""
