"""Marks at a fixed place in all images of a class, beside content that is alike in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.checks.looking import Data, judged_alone

N, SIDE = 120, 48
Change = Callable[[Any], Any]


def scenes(rough: float = 45) -> Any:
    """Pictures of blotches, uint8 [n, h, w]."""
    rng = np.random.default_rng(9)
    coarse = rng.normal(120, rough, (N, 12, 12)).repeat(4, 1).repeat(4, 2)
    return (coarse + rng.normal(0, 4, coarse.shape)).clip(0, 255).astype(np.uint8)


def of_classes(change: Change, x: Any = None, classes: int = 3, share: float = 1.0) -> Data:
    """Images of which those of one class were changed, or a part of them."""
    x = scenes() if x is None else x
    y = np.arange(N) % classes
    odd = (y == 1) & (np.random.default_rng(10).random(N) <= share)
    x = np.where(odd[:, None, None], change(x), x).astype(np.uint8)
    return Data({"image": x, "label": [f"class {k}" for k in y]}, "label", kinds={"image": "image"})


def patch(top: int, left: int, height: int, width: int, noise: float = 1.0) -> Change:
    def put(x: Any) -> Any:
        made = x.copy().astype(float)
        stamp = np.random.default_rng(11).integers(0, 2, (height, width)) * 200.0 + 20
        made[:, top : top + height, left : left + width] = stamp
        made += np.random.default_rng(12).normal(0, noise, made.shape)
        return made.clip(0, 255)

    return put


def everywhere(x: Any) -> Any:
    return patch(2, 2, 6, 9)(x)


def wandering(x: Any) -> Any:
    """The same patch, at another place in each image."""
    made = []
    for i, one in enumerate(x):
        top, left = np.random.default_rng(i).integers(0, 36, 2).tolist()
        made.append(patch(top, left, 6, 9)(one[None])[0])
    return np.stack(made)


def bright_inside(x: Any) -> Any:
    """Things of about one colour in the middle."""
    made = x.astype(float)
    made[:, 16:32, 16:32] = np.random.default_rng(13).normal(200, 15, (N, 1, 1))
    return made.clip(0, 255)


def bars(width: int, value: float = 3.0) -> Change:
    """An even border to the left and to the right."""

    def put(x: Any) -> Any:
        made = x.astype(float).copy()
        made[:, :, :width] = made[:, :, SIDE - width :] = value
        return made

    return put


def on_even_ground(x: Any) -> Any:
    """A round thing on white."""
    down, across = np.mgrid[:SIDE, :SIDE] - 24
    return np.where((down**2 + across**2 < 20**2)[None], x, 255)


def soft(x: Any) -> Any:
    """As if enlarged from an eighth of the width."""
    return np.stack(
        [np.asarray(Image.fromarray(one[::8, ::8]).resize((SIDE, SIDE), Image.Resampling.BICUBIC)) for one in x]
    )


def photographs() -> Any:
    """Pictures of fine detail, as files hold them."""
    return np.random.default_rng(17).normal(120, 45, (N, SIDE, SIDE)).clip(0, 255).astype(np.uint8)


def files(x: Any, y: Any, splits: Any = "") -> Data:
    labels = [f"class {k}" for k in y]
    return Data(
        {"image": [Image.fromarray(one) for one in x], "label": labels},
        "label",
        splits=splits,
        kinds={"image": "image"},
    )


def blurred_where(odd: Any) -> Data:
    x = photographs()
    return files(np.where(odd[:, None, None], soft(x), x), CLASS)


def barred(splits: tuple[str, ...]) -> Data:
    """A black bar on an even ground with grain, in one class in these splits."""
    x = np.random.default_rng(18).normal(200, 6, (N, SIDE, SIDE)).clip(0, 255).astype(np.uint8)
    of = np.array(["train" if i % 4 else "test" for i in range(N)])
    x[(CLASS == 1) & np.isin(of, splits), 40:43, 20:38] = 0
    return files(x, CLASS, of.tolist())


CLASS = np.arange(N) % 3
SOUND = {
    "images that are all blurred": blurred_where(CLASS >= 0),
    "some of a class that are blurred": blurred_where((CLASS == 1) & (np.arange(N) % 2 == 0)),
    "some of all classes that are blurred": blurred_where(np.arange(N) % 4 == 0),
    "a border around images of all classes": of_classes(lambda x: x, bars(5)(scenes()).astype(np.uint8)),
    "a border around half of a class": of_classes(bars(5), share=0.5),
    "things of a class on white": of_classes(on_even_ground),
    "scenes": of_classes(lambda x: x),
    "a mark in all classes": of_classes(lambda x: x, everywhere(scenes()).astype(np.uint8)),
    "a mark in half of a class": of_classes(everywhere, share=0.5),
    "a patch that wanders": of_classes(wandering),
    "a class on a white ground": of_classes(
        lambda x: np.where(np.abs(np.arange(SIDE) - 24)[None, :, None] > 8, 255, x)
    ),
    "things in the middle": of_classes(bright_inside),
    "a lamp before a camera that stands still": of_classes(patch(2, 2, 6, 9), scenes()[:1].repeat(N, 0)),
    "a class of one picture": of_classes(lambda x: x[:1].repeat(N, 0)),
    "few images": of_classes(everywhere, classes=8),
    "an even picture": of_classes(lambda x: x * 0 + 90),
}
SPOILT = {
    "a class that is blurred": blurred_where(CLASS == 1),
    "a bar in training only": barred(("train",)),
    "a bar on an even ground": barred(("train", "test")),
    "a border to the left and to the right": of_classes(bars(5)),
    "bright borders of one of two classes": of_classes(bars(4, 250.0), classes=2),
    "a stamp": of_classes(everywhere),
    "a small mark": of_classes(patch(40, 30, 3, 3)),
    "one of two classes": of_classes(patch(0, 0, 5, 16), classes=2),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_content_is_no_mark(data: Data) -> None:
    assert judged_alone("marks", data) == {}


@pytest.mark.parametrize("data", SPOILT.values(), ids=SPOILT)
def test_marks_of_a_class_are_told(data: Data) -> None:
    found = judged_alone("marks", data)["label-leaked-by-field"]
    assert "class class 1 away" in found.message
    assert found.severity == "warning"
