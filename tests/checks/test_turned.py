"""Images of one split or device that lie otherwise than all others, beside those that only look otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

SIDE, IMAGES = 32, 120
Turn = Callable[[Any], Any]


def same(images: Any) -> Any:
    return images


def fans(n: int = IMAGES, seed: int = 1, rough: float = 20) -> Any:
    """Pictures of one scene: a bright fan off the middle, brighter with depth, and a dark thing somewhere in it; uint8."""
    rng = np.random.default_rng(seed)
    down, across = np.mgrid[:SIDE, :SIDE]
    x, y = rng.uniform(8, 24, (2, n, 1, 1))
    light = 60 + 3 * down + rng.normal(0, rough, (n, SIDE, SIDE))
    light[:, np.abs(across - 20) > down * 0.5 + 4] = 10
    light[(across - x) ** 2 + (down - y) ** 2 < 25] -= 50
    return light.clip(0, 255).astype(np.uint8)


def gradients(n: int = IMAGES) -> Any:
    """Pictures that are lit from above, with round shadows at their corners."""
    rng = np.random.default_rng(2)
    down, across = np.mgrid[:SIDE, :SIDE] / SIDE - 0.5
    light = 120 - 120 * down - 90 * (down**2 + across**2)
    return (light + rng.normal(0, 15, (n, SIDE, SIDE))).clip(0, 255).astype(np.uint8)


def shapes(n: int = IMAGES) -> Any:
    """Pictures that have nothing in common."""
    coarse = np.random.default_rng(3).integers(0, 256, (n, 5, 5))
    return coarse.repeat(7, 1).repeat(7, 2)[:, :SIDE, :SIDE].astype(np.uint8)


def by_split(turn: Turn, images: Any = None) -> Data:
    """Every third of the images is a test image, and was turned."""
    x = fans() if images is None else images
    test = np.arange(len(x)) >= 2 * len(x) // 3
    x = np.where(test[:, None, None], turn(x), x)
    return Data({"x": x}, splits=["test" if t else "train" for t in test], kinds={"x": "image"})


def by(field: str, turn: Turn, label: bool = False) -> Data:
    """The images of one of four values of a field were turned."""
    x, values = fans(), np.arange(IMAGES) % 4
    x = np.where((values == 2)[:, None, None], turn(x), x)
    named = [f"{field} {v}" for v in values]
    return Data({"x": x, field: named}, field if label else None, kinds={"x": "image", field: "category"})


def augmented() -> Any:
    """Of training images every second one was mirrored."""
    x = fans()
    x[: 2 * IMAGES // 3 : 2] = x[: 2 * IMAGES // 3 : 2, :, ::-1]
    return x


def transposed(images: Any) -> Any:
    return images.swapaxes(1, 2)


def moved(images: Any) -> Any:
    """Another framing: what lies outside the picture does not come back."""
    out = np.full_like(images, 90)
    out[:, :, 12:] = images[:, :, :-12]
    return out


SOUND = {
    "nothing was done": by_split(same),
    "nothing in common": by_split(transposed, shapes()),
    "light from below": by_split(lambda x: x[:, ::-1], gradients()),
    "light from the side": by_split(transposed, gradients()),
    "another framing": by_split(moved),
    "darker": by_split(lambda x: (x // 2).astype(np.uint8)),
    "negatives": by_split(lambda x: 255 - x),
    "mirrored as training images are": by_split(same, augmented()),
    "left and right eyes": by("device", lambda x: x[:, :, ::-1]),
    "classes of arrows": by("direction", transposed, label=True),
    "kinds of things": by("direction", transposed),
    "few images": by_split(transposed, fans(45)),
}
SPOILT = {
    "transposed": by_split(transposed),
    "upside down": by_split(lambda x: x[:, ::-1]),
    "mirrored": by_split(lambda x: x[:, :, ::-1]),
    "turned": by_split(lambda x: x[:, ::-1, ::-1]),
    "a quarter": by_split(lambda x: transposed(x)[:, ::-1]),
    "rolled": by_split(lambda x: np.roll(x, 15, 2)),
    "one device upside down": by("device", lambda x: x[:, ::-1]),
    "one device transposed": by("device", transposed),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_images_that_look_otherwise_are_not_turned(data: Data) -> None:
    assert judged_alone("turned", data) == {}


@pytest.mark.parametrize("data", SPOILT.values(), ids=SPOILT)
def test_turned_images_are_told(data: Data) -> None:
    found = judged_alone("turned", data)["preprocessing-differs"]
    assert found.severity == "warning"
    assert found.count == (IMAGES // 3 if "device" not in data.columns else IMAGES // 4)
    assert ("in test" if "device" not in data.columns else "where device is device 2") in found.message
