"""To which steps numbers are rounded."""

from __future__ import annotations

from typing import Any

DECIMALS, FIRST = 9, 30
"""The most decimals of steps, and how many numbers are looked at before the others."""
ALL = 0.995
"""The least share of numbers on a grid."""
BITS = 2e-4
"""The share of a step that floats of 32 bits may miss it by, on both sides."""


def step_of(numbers: Any) -> float:
    """The widest step, a power of ten or five times one, of which nearly all numbers are multiples; 0 if there is none."""
    import numpy as np

    size = float(np.abs(numbers).max())
    if not 0 < size < 1e15:
        return 0.0
    for power in range(int(np.floor(np.log10(size))), -DECIMALS - 1, -1):
        for step in (5 * 10.0**power, 10.0**power):
            if on_grid(numbers[:FIRST], step) >= ALL and on_grid(numbers, step) >= ALL:
                return step
    return 0.0


def on_grid(numbers: Any, step: float) -> float:
    """The share of numbers that are multiples of a step, to within the errors of floats."""
    import numpy as np

    steps = numbers / step
    return float((np.abs(steps - np.rint(steps)) <= BITS / 2 + 1e-12 * np.abs(steps)).mean())
