"""Images that are negatives of the others, beside ones that only look otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image, ImageOps

from tests.checks.looking import Data, judged
from tests.checks.scenes import SIZE, chest, scene, street

IMAGES = 120
Make = Callable[[int], Any]


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
