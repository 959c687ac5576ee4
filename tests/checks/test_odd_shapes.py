"""Which shapes are unlike the others, and what is done about them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.checks.looking import Data, judged


@pytest.mark.parametrize(
    ("odd", "says", "fix"),
    [
        ((1, 8, 8), "but float32[1, 8, 8]", "convert these pictures to the channels of the others"),
        ((3, 9, 8), "but float32[3, 9, 8]", "resize, pad or crop"),
    ],
)
def test_an_unusual_shape_is_shown_with_its_cure(odd: tuple[int, ...], says: str, fix: str) -> None:
    """Seen: pictures of one channel among those of three, to be padded, with their shape left unsaid."""
    pictures = [np.random.default_rng(i).random(odd if i == 7 else (3, 8, 8), np.float32) for i in range(30)]
    found = judged("integrity", Data({"x": pictures}))["shape-drift"]
    assert says in found.message and found.fix.startswith(fix)
