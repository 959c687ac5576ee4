"""Recordings, several at a time, and their spectra: transforms of stacks take half as long as those of one recording after another."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

AT_ONCE = 1 << 17
"""Samples of recordings that are looked at together: they stay in the cache."""


def stacks(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Recordings of one length and type, [n, frames, channels], with their positions among ``values``; without what is none. They are not
    to be written to: a long one is not copied."""
    import numpy as np

    alike: dict[Any, list[int]] = {}
    for i, value in enumerate(values):
        if hasattr(value, "dtype") and value.dtype.kind in "iuf" and value.size:
            alike.setdefault((value.dtype, value.shape), []).append(i)
    for (_, shape), found in alike.items():
        step = max(1, AT_ONCE // math.prod(shape))
        for at in range(0, len(found), step):
            here = found[at : at + step]
            whole = values[here[0]][None] if len(here) == 1 else np.stack([values[i] for i in here])
            yield np.array(here), whole.reshape(len(here), shape[0], -1)


def mixed_down(recordings: Any) -> Any:
    """The means of channels, float32 [n, frames]."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):  # what float32 does not hold is no sound
        return (
            recordings.astype(np.float32).mean(2) if recordings.shape[2] > 1 else recordings[:, :, 0].astype(np.float32)
        )


@functools.lru_cache(maxsize=8)
def window(n: int) -> Any:
    """Hann's window of so many samples, float32 [n]; made once."""
    import numpy as np

    return np.hanning(n).astype(np.float32)


def power(stretches: Any, n: int | None = None) -> Any:
    """The energies of frequencies along the last axis, with zeros up to ``n`` samples."""
    import numpy as np

    found = np.fft.rfft(stretches, n)
    return found.real**2 + found.imag**2


@functools.lru_cache(maxsize=64)
def fast(n: int, step: int = 1) -> int:
    """The next number of samples, at least so many, whose transform is fast: it has no factor beyond seven. ``step`` -1: at most so many."""
    while True:
        rest = n
        for factor in (2, 3, 5, 7):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return n
        n += step
