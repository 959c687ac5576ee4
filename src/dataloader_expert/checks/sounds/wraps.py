"""Whether a recording wraps around: samples beyond full scale, cast to integers without a limit, come out at the other end of the range."""

from __future__ import annotations

from typing import Any

FAR, LOUD = 1.0, 0.9
"""The least jump, and the least peak at either end, as shares of full scale."""
FEWEST, OF_ALL, OUTWARDS, STEP = 6, 0.35, 0.8, 0.005
"""The fewest jumps; their largest share of all samples; and the share of them that must follow a step of at least ``STEP`` towards the end of the range."""
SMOOTHER, BEYOND = 0.1, 2.0
"""How rough the unwrapped wave may be, as a share of its roughness before, and how far from zero it may reach: an unwrapped sawtooth rises without end."""


def wraps_around(value: Any) -> bool:
    """In a channel, the wave jumps from one end of the range to the other where it would go on smoothly beyond it."""
    if value.dtype.kind not in "if" or len(value) < FEWEST:
        return False
    full = 1.0 if value.dtype.kind == "f" else float(2.0 ** (8 * value.dtype.itemsize - 1))
    if not (value.max() > LOUD * full and value.min() < -LOUD * full):
        return False
    return any(_wraps(channel / full) for channel in value.reshape(len(value), -1).T)


def _wraps(x: Any) -> bool:
    import numpy as np

    steps = np.diff(x)
    jumps = np.abs(steps) > FAR
    n = int(jumps.sum())
    if not FEWEST <= n <= OF_ALL * len(x):
        return False
    at = np.flatnonzero(jumps[1:]) + 1
    if (-np.sign(steps[at]) * steps[at - 1] >= STEP).mean() < OUTWARDS:
        return False  # a rectangular wave rests before it jumps
    through = steps - 2 * np.sign(steps) * jumps
    reach = np.abs(x[0] + np.cumsum(through)).max()
    return bool(reach <= BEYOND and _rough(through) <= SMOOTHER * _rough(steps))


def _rough(steps: Any) -> float:
    import numpy as np

    return float(np.square(np.diff(steps)).sum())
