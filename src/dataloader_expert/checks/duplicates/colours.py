"""Whether two images that agree in gray agree in their colours too.

Gray versions of two flowers of one shape agree, whatever their colours. What is compared is how much redder and bluer than gray each
place is, after alignment, so that neither a crop nor a brighter or less colourful copy matters.
"""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.duplicates.alignment import AT_ONCE, SIDE, blurred, relaid

APART, OF_SPREAD = 20, 0.7
"""Steps by which places of other things differ, and the least share of that of how much colours vary within the image."""
GAINS = (0.4, 2.5)
"""How much more colourful a copy may be."""
CLEARLY = 0.6
"""The part of what copies may differ by up to which images agree before they are aligned, too."""
WINDOWS, SPOILT = 8, 3
"""Windows along each side, and how many of them a border or a mark may spoil."""


def agree_in_colour(ones: Any, others: Any, warps: Any, share: float = 1.0) -> Any:
    """Which pairs may be copies by their colours; bool [n].

    Args:
        ones, others: colours of the images as of ``looks``, int8 [n, 2, 16, 16].
        warps: how the second image of each pair lies on the first, as of ``Fit``.
        share: the part of what copies may differ by that is allowed.
    """
    import numpy as np

    cut = (slice(i, i + AT_ONCE) for i in range(0, len(ones), AT_ONCE))
    same = [_agree(ones[part], others[part], warps[part], share) for part in cut]
    return np.concatenate([np.zeros(0, bool), *same])


def _agree(ones: Any, others: Any, warps: Any, share: float) -> Any:
    import numpy as np

    n = len(ones)
    moved, inside = relaid(_enlarged(others), warps.repeat(2, 0))
    there = inside[::2, None].astype(np.float32)
    a, b = _enlarged(ones).reshape(n, 2, -1), moved.reshape(n, 2, -1)
    count = there.sum(2, keepdims=True)
    a, b = ((part - (part * there).sum(2, keepdims=True) / count) * there for part in (a, b))
    gain = np.clip((a * b).sum((1, 2)) / ((b * b).sum((1, 2)) + 1e-6), *GAINS)
    left = a - gain[:, None, None] * b
    left = left.reshape(n, 2, WINDOWS, SIDE // WINDOWS, WINDOWS, SIDE // WINDOWS).mean((3, 5))  # without noise
    apart = np.sort(np.hypot(left[:, 0], left[:, 1]).reshape(n, -1), 1)[:, -1 - SPOILT]
    spread = np.sqrt(np.maximum(*((part * part).mean((1, 2)) for part in (a, b))))
    return apart <= share * np.maximum(APART, OF_SPREAD * spread)


def _enlarged(colours: Any) -> Any:
    """[2 * n, 32, 32], blurred: the pixels that tell colours are few."""
    import numpy as np

    return blurred(blurred(colours.reshape(-1, 16, 16).astype(np.float32).repeat(2, 1).repeat(2, 2)))
