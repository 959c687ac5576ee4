"""What one wrong name in a table of annotations makes of a sample is told once."""

from __future__ import annotations

import csv
import random
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image

from tests.making.scanning import scan

DRAW = random.SystemRandom()


def test_a_name_that_is_not_there_is_told_with_its_file(tmp_path: Path) -> None:
    """Our promise: the image that it was meant for has no label and no values, which follows, and is not told for each field."""
    rng = np.random.default_rng(DRAW.randrange(2**32))
    rows = []
    (tmp_path / "images").mkdir()
    for i in range(60):
        Image.fromarray(rng.integers(0, 255, (16, 16, 3), np.uint8)).save(tmp_path / "images" / f"im{i:03}.png")
        rows.append([f"im{i:03}.png", i % 5, "ab"[i % 2], rng.integers(1, 99), f"site {i % 3}"])
    wrong = DRAW.randrange(60)
    rows[wrong][0] = f"im{wrong:03}x.png"
    with (tmp_path / "labels.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["filename", "fold", "label", "age", "site"], *rows])
    found = Counter(f.code for f in scan(tmp_path, tmp_path).findings if f.severity != "info")
    assert found == {"dangling-reference": 1, "missing-pair": 1}
