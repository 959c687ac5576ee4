"""What to do with masks and images of another size: the fix fits the field."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

from dataloader_expert.checks.base import new_checks
from dataloader_expert.checks.files.integrity import Integrity
from dataloader_expert.errors import Unreadable
from dataloader_expert.facts import Facts
from tests.checks.looking import Data, context_of

COLUMNS: dict[str, Any] = {
    "image": [Image.new("RGB", (8, 8))] * 3,
    "mask": [np.zeros((8, 8), np.uint8)] * 3,
    "x": [np.zeros(4)] * 3,
}


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("mask", "nearest-neighbour"),
        ("image", "in the size that was annotated"),
        ("x", "one length"),
        (None, "one length"),
    ],
)
def test_the_fix_fits_the_field(field: str | None, words: str) -> None:
    check = new_checks(context_of(Data(COLUMNS, kinds={"mask": "mask"})))["integrity"]
    assert isinstance(check, Integrity)
    check.found(Unreadable("length-mismatch", "4 x 4 pixels, and its image 8 x 8", file="a.png", field=field))
    [found] = check.judge(Facts(tuple(check.facts())))
    assert found.code == "length-mismatch" and words in found.fix
