"""Images that are negatives of the others, beside ones that only look otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from tests.checks.looking import Data, judged

SIZE, IMAGES = 64, 120
Make = Callable[[int], Any]


def chest(seed: int) -> Any:
    """Two dark fields that vary in size and place, on a brighter ground."""
    rng = np.random.default_rng(seed)
    down, across = np.mgrid[:SIZE, :SIZE] / SIZE
    light = np.full((SIZE, SIZE), float(rng.uniform(120, 200)))
    for side in (0.28, 0.72):
        x, y = side + rng.normal(0, 0.03), 0.5 + rng.normal(0, 0.04)
        light -= rng.uniform(60, 90) * np.exp(-(((across - x) / 0.13) ** 2) - ((down - y) / rng.uniform(0.2, 0.3)) ** 2)
    return Image.fromarray(np.clip(light + rng.normal(0, 6, light.shape), 0, 255).astype(np.uint8))


def street(seed: int, night: bool = False) -> Any:
    """A bright sky over a darker road; at night a dark one over a road in the light of lamps."""
    rng = np.random.default_rng(seed)
    light = np.linspace(*((12, 60) if night else (210, 90)), SIZE)[:, None] + rng.normal(0, 6, (SIZE, SIZE))
    return Image.fromarray(np.clip(light + rng.uniform(-10, 10), 0, 255).astype(np.uint8))


def scene(seed: int) -> Any:
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), np.uint8)
    return Image.fromarray(coarse).resize((SIZE, SIZE))


def told(make: Make, odd: Make, n: int = 6) -> list[int]:
    data = Data({"image": [odd(i) if 20 <= i < 20 + n else make(i) for i in range(IMAGES)]})
    found = judged("negatives", data).get("scale-drift")
    return [] if found is None else [int(str(place["sample"])) for place in found.where]


SOUND: dict[str, tuple[Make, Make]] = {
    "all alike": (chest, chest),
    "streets at night": (street, lambda seed: street(seed, night=True)),
    "scenes": (scene, lambda seed: ImageOps.invert(scene(seed))),
    "others among them": (chest, scene),
    "nothing to be seen": (chest, lambda _: Image.new("L", (SIZE, SIZE), 90)),
}


@pytest.mark.parametrize(("make", "odd"), SOUND.values(), ids=SOUND)
def test_images_that_look_otherwise_are_no_negatives(make: Make, odd: Make) -> None:
    assert told(make, odd) == []


def test_negatives_are_told() -> None:
    assert told(chest, lambda seed: ImageOps.invert(chest(seed))) == [20, 21, 22, 23, 24, 25]


def test_a_second_kind_of_image_is_no_fault() -> None:
    """Half of the images may be stored so by design."""
    assert told(chest, lambda seed: ImageOps.invert(chest(seed)), 50) == []
