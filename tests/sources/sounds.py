"""Small recordings."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np


def write_wav(path: Path, values: np.ndarray, rate: int = 8_000) -> None:
    """Mono, 16 bits, of values between -1 and 1."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(values, -1, 1) * 32767).astype("<i2").tobytes())
