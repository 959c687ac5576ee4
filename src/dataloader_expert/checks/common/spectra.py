"""Spectra of stretches of recordings, as checks take them."""

from __future__ import annotations

import functools
from typing import Any


@functools.lru_cache(maxsize=8)
def window(n: int) -> Any:
    """Hann's window of so many samples, float32 [n]; made once."""
    import numpy as np

    return np.hanning(n).astype(np.float32)


def power(stretches: Any) -> Any:
    """The energies of frequencies along the last axis."""
    import numpy as np

    found = np.fft.rfft(stretches)
    return found.real**2 + found.imag**2
