"""Values of masks that are no class: rare ones beyond numbers that no mask holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.checks.looking import Data, judged

Sets = Sequence[tuple[int, ...]]


def masks(levels: Sets, classes: tuple[str, ...] | None = None) -> Data:
    """Masks of 8 x 8 pixels, one for each of ``levels``, with stripes of these values."""
    drawn = [np.resize(np.array(values, np.uint8), (8, 8)) for values in levels]
    return Data({"mask": drawn}, kinds={"mask": "mask"}, classes=classes)


SOUND: dict[str, Sets] = {
    "a class that few masks have": [(0, 1, 2)] * 98 + [(0, 1, 3)] * 2,
    "rare classes at the end of a long list": [(0, 1, 2)] * 60 + [(0, 1, 2, 3)] * 9 + [(0, 1, 2, 3, 4)] * 2 + [(0, 6)],
    "a class left out, the last in many masks": [(0, 1, 2)] * 80 + [(0, 1, 2, 4)] * 20,
    "pixels to be ignored": [(0, 1, 2)] * 95 + [(0, 1, 2, 255)] * 5,
    "and masks without a class that others lack, too": [(0, 1, 2)] * 60 + [(0, 1)] * 35 + [(0, 1, 255)] * 5,
    "numbers of a longer list": [(0, 7, 8)] * 95 + [(0, 7, 26)] * 5,
    "nothing but a background": [(0,)] * 95 + [(0, 7)] * 5,
    "several rare ones": [(0, 1)] * 97 + [(0, 3), (0, 4), (0, 6)],
}


@pytest.mark.parametrize("levels", SOUND.values(), ids=SOUND)
def test_rare_classes_are_classes(levels: Sets) -> None:
    assert "label-out-of-range" not in judged("masks", masks(levels))


@pytest.mark.parametrize("usual", [(0, 1, 2, 3), (1, 2, 3), (0, 1), (0, 1, 2, 255)])
def test_a_rare_value_beyond_a_gap_is_no_class(usual: tuple[int, ...]) -> None:
    found = judged("masks", masks([usual] * 95 + [(*usual[:3], 7)] * 5))["label-out-of-range"]
    assert (found.severity, found.count) == ("warning", 5)
    assert "5 of 100 masks hold 7" in found.message
    assert [place["sample"] for place in found.where] == [95, 96, 97, 98, 99]


def test_masks_on_another_scale_are_no_classes_either() -> None:
    found = judged("masks", masks([(0, 1, 2, 3)] * 80 + [(0, 85, 170, 255)] * 15 + [(0, 1, 2, 3, 7)] * 5))
    assert (found["scale-drift"].count, found["label-out-of-range"].count) == (15, 5)


def test_a_declared_class_is_one_however_rare() -> None:
    levels: Sets = [(0, 1, 2)] * 95 + [(0, 7)] * 5
    assert "label-out-of-range" not in judged("masks", masks(levels, tuple("abcdefgh")))
