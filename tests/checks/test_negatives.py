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


def cell(seed: int, bright: bool = False) -> Image.Image:
    """A bright plate with dark lines, each in places of its own; ``bright``: dark with bright ones, and darker than a negative."""
    rng = np.random.default_rng(seed)
    pixels = rng.normal(120 + rng.normal(0, 8), 4, (SIZE, SIZE))
    for at in rng.integers(2, SIZE - 2, 5):
        pixels[:, at : at + 1] -= 70
        pixels[rng.integers(2, SIZE - 2), :] -= 70
    if bright:
        pixels = 60 - (pixels - 120)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def plates(odd: Make, rows: range, labels: list[str] | None = None) -> Data:
    """Of 80 images of training and 40 for validation."""
    images = [odd(i) if i in rows else cell(i) for i in range(IMAGES)]
    columns = {"image": images, **({} if labels is None else {"label": labels})}
    return Data(columns, None if labels is None else "label", splits=["train"] * 80 + ["val"] * 40)


def negative(seed: int) -> Image.Image:
    return ImageOps.invert(cell(seed))


def test_negatives_of_one_split_are_told_where_no_two_images_are_alike() -> None:
    """Seen: half of the images for validation were stored inverted, of cells whose lines lie elsewhere in each."""
    found = judged("negatives", plates(negative, range(90, 110)))["scale-drift"]
    assert (found.count, found.severity) == (20, "warning")
    assert "look like negatives of the others, bright where these are dark: all in val" in found.message


def test_other_images_of_one_split_are_no_negatives() -> None:
    """Our promise: images of another light, of a class of their own, or of both splits are not called so."""
    assert judged("negatives", plates(lambda seed: cell(seed, bright=True), range(90, 110))) == {}
    assert judged("negatives", plates(negative, range(60, 100))) == {}
    labels = ["etched" if i in range(90, 110) else "plain" for i in range(IMAGES)]
    assert judged("negatives", plates(negative, range(90, 110), labels)) == {}
    assert judged("negatives", plates(street, range(90, 110))) == {}
