"""Samples that rows of several rooms are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from dataloader_expert.sources.base import Objects
from tests.checks.looking import Data

rng = np.random.default_rng(29)
NOISE = rng.normal(0, 1, 400)
RATE = 8000


def picture(seed: int, low: int = 0, high: int = 256, mode: str = "RGB", size: int = 48) -> Any:
    coarse = np.random.default_rng(seed).integers(low, high, (6, 6, 3), np.uint8)
    return Image.fromarray(coarse.repeat(size // 6, 0).repeat(size // 6, 1)).convert(mode)


MORE = np.random.default_rng(31).normal(0, 1, 900)


def sound(scale: float = 5000.0, middle: float = 0.0, n: int = 900) -> Any:
    return (NOISE[np.arange(n) % 400] * scale / 3 + middle).clip(-32768, 32767).astype(np.int16)[:, None]


def sounds(*values: Any, rates: list[int] | None = None) -> Data:
    held = list(values)
    return Data({"audio": held, "sample_rate": np.array(rates or [RATE] * len(held))}, kinds={"audio": "audio"})


def objects(classes: list[list[int]], names: dict[int, str] | None = None, step: int = 1, **more: Any) -> Data:
    """Samples with a box for each of these classes, each so many pixels to the right of the one before."""
    boxes = [
        np.array([[5.0 + step * k, 5, 20 + step * k, 20] for k in range(len(of))]).reshape(-1, 4) for of in classes
    ]
    made = {"boxes": boxes, "classes": [np.array(of, np.int64) for of in classes]}
    held = Objects("classes", {0: "owl", 1: "yak", 2: "gnu"} if names is None else names)
    return Data(made, context={"objects": held}, **more)


PICTURES = [picture(i) for i in range(8)]
PIXELS = list(np.random.default_rng(6).integers(0, 256, (120, 8, 8, 3), np.uint8))
TEXTS = [f"the {w} sat on the mat number {i}" for i, w in enumerate(["cat", "dog", "owl", "yak"] * 3)]
WINDOWS = np.random.default_rng(7).normal(0, 1, (100, 40, 3))
HALVES = ["train"] * 6 + ["test"] * 6
NUMBERS = np.arange(12.0)


def tabled(label: Any, **more: Any) -> Data:
    return Data({"x": NOISE[: len(label)].copy(), "label": label}, "label", **more)


def turns(i: int, *roles: str, **last: Any) -> list[dict[str, Any]]:
    """A conversation of the ``i``-th kind: turns of these roles, the last with other values."""
    made: list[dict[str, Any]] = [{"role": role, "content": f"{role} says {i} and {k}"} for k, role in enumerate(roles)]
    return [*made[:-1], {**made[-1], **last}]


def chats(*odd: Any, field: str = "messages") -> Data:
    """Forty conversations, with and without a system turn, before the odd ones."""
    sound = [turns(i, *["system"] * (i % 2), *["user", "assistant"] * (1 + i % 3)) for i in range(40)]
    return Data({field: [*sound, *odd]}, kinds={field: "other"}, context={"conversations": frozenset({field})})


def tagged(*odd: tuple[int, int] | dict[str, Any], quoted: bool = False) -> Data:
    """Sixty texts with a span around one of their words, before the odd ones, which are of the first text."""
    texts = [f"on day {i} the owl met {'a gnu' if i % 3 else 'yaks'} by the lake" for i in range(60)]
    found = [(text.index("owl"), text.index("owl") + 3) for text in texts]
    spans = [{"start": a, "end": b} | ({"text": "owl"} if quoted else {"label": "bird"}) for a, b in found]
    more = [span if isinstance(span, dict) else {"start": span[0], "end": span[1], "label": "bird"} for span in odd]
    values = [[span] for span in spans] + [[span] for span in more]
    return Data({"text": texts + texts[:1] * len(odd), "spans": values}, kinds={"text": "text", "spans": "other"})


LONG = [" ".join(f"word{(i * 31 + k * k * 7) % 997 if k != 7 else 7}" for k in range(60)) for i in range(12)]
CLASS = np.random.default_rng(5).integers(0, 2, 400)
LARGE_HALVES = ["train"] * 200 + ["test"] * 200
