"""How sharp images are: the detail of their central square."""

from __future__ import annotations

from typing import Any

BLURRED, LESS_SHARP = 0.25, 3.0
"""The spread of the Laplacian over that of the grey values below which an image is blurred (sharp ones have 0.5 or more), and
the factor by which it must be less than in the typical image: some data have little detail throughout."""


AT_ONCE = 8
"""Pictures that stay in the cache together."""


def sharpness(middles: list[Any]) -> list[float | None]:
    """The standard deviation of the Laplacian over that of the grey values, of pictures uint8 [h, w]; None for a flat one, and where there
    is none."""
    import numpy as np

    found: list[float | None] = [None] * len(middles)
    for shape in {m.shape for m in middles if m is not None and min(m.shape) >= 16}:
        every = [i for i, m in enumerate(middles) if m is not None and m.shape == shape]
        for at in (every[k : k + AT_ONCE] for k in range(0, len(every), AT_ONCE)):
            grey = np.stack([middles[i] for i in at]).astype(np.int16)
            inner = 4 * grey[:, 1:-1, 1:-1]
            for part in (grey[:, :-2, 1:-1], grey[:, 2:, 1:-1], grey[:, 1:-1, :-2], grey[:, 1:-1, 2:]):
                inner -= part
            for i, detail, spread in zip(at, _spreads(inner), _spreads(grey), strict=True):
                if spread >= 4:
                    found[i] = float(detail / spread)
    return found


def _spreads(values: Any) -> Any:
    """The standard deviation of each of ``values``, whole numbers [n, h, w]."""
    import numpy as np

    flat = values.reshape(len(values), -1).astype(np.float32)
    flat -= flat.mean(1, keepdims=True)
    return np.sqrt(np.array([row @ row for row in flat]) / flat.shape[1])
