"""Small images, recordings and texts of noise in files, for tests of how folders are read."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
from PIL import Image


def picture(path: Path, rng: np.random.Generator) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8)).save(path)


def written(path: Path, rng: np.random.Generator) -> None:
    """A picture, a recording or a text, by the suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".wav":
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, 8000, 0, "NONE", ""))
            file.writeframes(rng.integers(-9000, 9000, 200, np.int16).tobytes())
    elif path.suffix == ".txt":
        path.write_text(" ".join(rng.choice(["one", "two", "three", "four", "five"], 9)) + f" {path.stem}\n")
    else:
        picture(path, rng)
