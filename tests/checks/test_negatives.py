"""Images that are negatives of the others, beside ones that only look otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from tests.checks.looking import Data, judged, judged_alone
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


def test_negatives_among_arrays_are_told() -> None:
    """What holds of image files holds of images in NumPy files."""
    images = np.stack([np.asarray(chest(i)) for i in range(IMAGES)])
    images[7:30:4] = 255 - images[7:30:4]
    data = Data({"image": images}, kinds={"image": "image"})
    found = judged_alone("negatives", data)["scale-drift"]
    assert [place["sample"] for place in found.where] == [7, 11, 15, 19, 23, 27]


def test_other_arrays_are_no_negatives() -> None:
    images = np.stack([np.asarray(street(i, night=i % 9 == 0)) for i in range(IMAGES)])
    assert judged_alone("negatives", Data({"image": images}, kinds={"image": "image"})) == {}
    scaled = np.stack([np.asarray(chest(i)) for i in range(IMAGES)]) / 255.0
    scaled[7:30:4] = 1 - scaled[7:30:4]  # white is none of bytes
    assert judged_alone("negatives", Data({"image": scaled}, kinds={"image": "image"})) == {}
