"""Small images of noise in files, for tests of how folders are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def picture(path: Path, rng: np.random.Generator) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8)).save(path)
