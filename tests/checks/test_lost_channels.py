"""Images that have lost a colour channel, beside drawings in one colour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.checks.looking import Data, judged

SIZE = 64


def photograph(seed: int, lost: Iterable[int] = (), value: int = 255) -> Any:
    """Blurred noise, in which these channels have one value."""
    rng = np.random.default_rng(seed)
    pixels = np.asarray(Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).resize((SIZE, SIZE))).copy()
    for k in lost:
        pixels[..., k] = value
    return Image.fromarray(pixels)


def drawing(seed: int, colour: str, ground: str = "white") -> Any:
    """Forms of one colour with smooth edges."""
    rng = np.random.default_rng(seed)
    large = Image.new("RGB", (4 * SIZE, 4 * SIZE), ground)
    for _ in range(3):
        x, y = rng.integers(0, 3 * SIZE, 2).tolist()
        ImageDraw.Draw(large).ellipse([x, y, x + 80, y + 90], fill=colour)
    return large.resize((SIZE, SIZE), Image.Resampling.BOX)


def found(*odd: Any) -> bool:
    return "constant-samples" in judged("pictures", Data({"image": [photograph(i) for i in range(60)] + list(odd)}))


@pytest.mark.parametrize(
    ("colour", "ground"), [("red", "white"), ("yellow", "white"), ("cyan", "black"), ("lime", "red")]
)
def test_a_drawing_in_one_colour_has_lost_no_channel(colour: str, ground: str) -> None:
    assert not found(*(drawing(seed, colour, ground) for seed in range(4)))


@pytest.mark.parametrize("lost", [(0,), (2,), (0, 1)])
@pytest.mark.parametrize("value", [0, 255])
def test_a_photograph_without_a_channel_has_lost_it(lost: tuple[int, ...], value: int) -> None:
    assert found(photograph(70, lost, value))
