"""Whether two images that agree in gray agree in their colours too.

Gray versions of two flowers of one shape agree, whatever their colours. What is compared is how much redder and bluer than gray each
place is, after alignment, so that neither a crop nor a brighter or less colourful copy matters.
"""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.duplicates.alignment import SIDE, blurred, relaid

APART, OF_SPREAD = 20, 0.7
"""Steps by which places of other things differ, and the least share of that of how much colours vary within the image."""
GAINS = (0.4, 2.5)
"""How much more colourful a copy may be."""
WINDOWS, SPOILT = 8, 3
"""Windows along each side, and how many of them a border or a mark may spoil."""


def agree_in_colour(ones: Any, others: Any, warps: Any) -> Any:
    """Which pairs may be copies by their colours; bool [n].

    Args:
        ones, others: colours of the images as of ``looks``, int8 [n, 2, 16, 16].
        warps: how the second image of each pair lies on the first, as of ``Fit``.
    """
    import numpy as np

    return np.array([_agree(*pair) for pair in zip(ones, others, warps, strict=True)], bool)


def _agree(one: Any, other: Any, warp: Any) -> bool:
    import numpy as np

    b, inside = relaid(_enlarged(other), np.stack([warp, warp]))
    a, there = _enlarged(one).reshape(2, -1), inside[0]
    a, b = (part - part[:, there].mean(1, keepdims=True) for part in (a, b))
    a[:, ~there] = b[:, ~there] = 0
    gain = np.clip((a * b).sum() / ((b * b).sum() + 1e-6), *GAINS)
    left = (a - gain * b).reshape(2, WINDOWS, SIDE // WINDOWS, WINDOWS, SIDE // WINDOWS).mean((2, 4))  # without noise
    apart = np.sort(np.hypot(*left).ravel())[-1 - SPOILT]
    spread = max(np.sqrt((part * part).mean()) for part in (a, b))
    return bool(apart <= max(APART, OF_SPREAD * spread))


def _enlarged(colours: Any) -> Any:
    """[2, 32, 32], blurred: the pixels that tell colours are few."""
    import numpy as np

    return blurred(blurred(colours.astype(np.float32).repeat(2, 1).repeat(2, 2)))
