"""Images of one camera with red and blue swapped, beside those of cameras that see other colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

SIDE, IMAGES = 24, 160
CAMERAS = np.arange(IMAGES) % 4


def belts(tint: Any = (150, 120, 85)) -> Any:
    """Things of some colours on a brown belt, which each camera sees a little otherwise; uint8 [n, h, w, 3]."""
    rng = np.random.default_rng(4)
    tints = np.array(tint) * rng.uniform(0.92, 1.08, (4, 3))
    light = rng.uniform(0.6, 1.1, (IMAGES, 6, 6, 1)).repeat(4, 1).repeat(4, 2)
    x = tints[CAMERAS][:, None, None] * light
    for i in range(IMAGES):
        top, left = rng.integers(0, SIDE - 8, 2)
        x[i, top : top + 8, left : left + 8] = [(190, 50, 40), (60, 150, 70), (230, 220, 190)][i // 4 % 3]
    return (x + rng.normal(0, 6, x.shape)).clip(0, 255).astype(np.uint8)


def seen(x: Any, field: str = "camera", label: str | None = None) -> Data:
    named = [f"{field} {c}" for c in CAMERAS]
    return Data({"image": x, field: named}, label, kinds={"image": "image", field: "category"})


def by_one(change: Any, x: Any = None, cameras: Any = (2,), field: str = "camera", label: str | None = None) -> Data:
    x = belts() if x is None else x
    odd = np.isin(CAMERAS, cameras)
    x[odd] = change(x[odd])
    return seen(x, field, label)


def bgr(x: Any) -> Any:
    return x[..., ::-1]


def lit(*gains: float) -> Any:
    return lambda x: (x * np.array(gains)).clip(0, 255).astype(np.uint8)


SOUND = {
    "cameras alike": seen(belts()),
    "gray": by_one(bgr, belts().mean(3, keepdims=True).repeat(3, 3).astype(np.uint8)),
    "colder light": by_one(lit(0.75, 0.95, 1.3)),
    "warm and cold light on gray ground": by_one(lit(0.8, 1, 1.25), belts((140, 125, 112))),
    "darker": by_one(lit(0.4, 0.4, 0.4)),
    "a blue belt": by_one(lambda x: belts((60, 90, 170))[: len(x)]),
    "red and blue things": by_one(bgr, field="colour"),
    "classes of red and blue things": by_one(bgr, field="camera", label="camera"),
    "inverted": by_one(lambda x: 255 - x),
}


def sharded(*swapped: int) -> Data:
    """In files of 40 images each, the last one of validation."""
    x = belts()
    for k in swapped:
        x[40 * k : 40 * k + 40] = bgr(x[40 * k : 40 * k + 40])
    # a run of equal splits is a file here, and so is each half of the whole
    return Data(
        {"image": x}, splits=["train"] * 40 + ["extra"] * 40 + ["train"] * 40 + ["val"] * 40, kinds={"image": "image"}
    )


SOUND["shards alike"] = sharded()
SOUND["a split, which is compared elsewhere"] = sharded(3)
SPOILT = {
    "one shard of training": sharded(2),
    "one camera": by_one(bgr),
    "two of four cameras": by_one(bgr, cameras=(0, 3)),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_other_colours_are_not_swapped(data: Data) -> None:
    assert judged_alone("recoloured", data) == {}


@pytest.mark.parametrize("data", SPOILT.values(), ids=SPOILT)
def test_swapped_colours_are_told(data: Data) -> None:
    found = judged_alone("recoloured", data)["preprocessing-differs"]
    assert "where camera is" in found.message or "in image in part2" in found.message
    assert found.severity == "warning"


SPLITS = ["train"] * 100 + ["val"] * 60
KINDS = np.arange(IMAGES) % 3


def split(change: Any = None, rows: Any = (), x: Any = None) -> Data:
    """Images of three classes in two splits."""
    made = (belts() if x is None else x).copy()
    for i in rows:
        made[i] = change(made[i])
    return Data({"image": made, "label": KINDS}, "label", splits=SPLITS, kinds={"image": "image", "label": "category"})


def gray(x: Any) -> Any:
    return x.mean(2, keepdims=True).repeat(3, 2).astype(np.uint8)


def mixed() -> Any:
    """Red things and blue ones."""
    x = belts()
    x[::2] = x[::2, ..., ::-1]
    return x


def blank(x: Any) -> Any:
    return np.zeros_like(x)


IN_PART_SILENT = {
    "blank ones, which never had a colour": split(blank, range(0, 60, 2)),
    "colours alike": split(),
    "gray ones in both splits": split(gray, range(60, 140, 4)),
    "a whole split, which is compared elsewhere": split(bgr, range(100, 160)),
    "a few in both splits": split(bgr, range(60, 140, 4)),
    "red and blue things": split(bgr, range(0, 60), mixed()),
    "colder light": split(lit(0.75, 0.95, 1.3), range(0, 40)),
}
IN_PART = {
    "some of training in another order": (split(bgr, range(0, 60, 2)), "preprocessing-differs", "warning"),
    "some of a class": (split(bgr, range(0, 100, 6)), "preprocessing-differs", "warning"),
    "some without colour": (split(gray, range(0, 60, 2)), "preprocessing-differs", "warning"),
}


def test_some_images_of_a_split_in_another_order_are_told() -> None:
    """Seen: most training images of one class were written with red and blue swapped, and nothing was said."""
    found = judged_alone("part_colours", IN_PART["some of a class"][0])["preprocessing-differs"]
    assert found.message.startswith("17 of 100 images in train, all labelled 0, have red and blue swapped in image")
