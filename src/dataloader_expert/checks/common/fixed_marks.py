"""Small marks at a fixed place in pictures, such as a stamp, a logo or a date that was burned in."""

from __future__ import annotations

from typing import Any

SAME, NEARLY = 6.0, 0.98
"""Steps of gray within which a mark is the same, and the share of the pictures of a class or a part in which it must be."""
ELSEWHERE = 0.01
"""The largest share of other images that may have it."""
SMALL, LARGE, FULL = 2, 0.1, 0.6
"""Pixels of 32 x 32 of the smallest mark, the share of the picture that the largest one is, and the share of the box around a mark that it
fills."""
VARIES, OUT = 8.0, 8.0
"""The least spread (interquartile range, median of the pixels around a mark) of what is around it, and steps of gray by which its pixels differ
from that in nearly all images."""
GRAIN, STILLER = 2.0, 4.0
"""The least spread that a camera's ground has, however even; and how many times the mark's own it must then be: what is drawn has none."""


def mark(own: Any, others: Any) -> tuple[int, int, int, int] | None:
    """The box (top, left, bottom, right) of a mark that a class's images, [n, 32, 32], have and the others do not; None without one."""
    import numpy as np

    order = np.sort(own, axis=0)
    out = int((1 - NEARLY) / 2 * len(own))
    middle, still = order[len(own) // 2], order[-1 - out] - order[out] <= SAME
    if still.sum() > still.size / 2:
        return None
    still[still] = (np.abs(others[:, still] - middle[still]) <= SAME).mean(0) <= 0.5
    if not SMALL <= still.sum() <= LARGE * still.size:
        return None
    down, across = np.flatnonzero(still.any(1)), np.flatnonzero(still.any(0))
    top, left, bottom, right = int(down[0]), int(across[0]), int(down[-1]) + 1, int(across[-1]) + 1
    area = (bottom - top) * (right - left)
    if still.sum() < FULL * area or area > LARGE * still.size:
        return None
    has = [(np.abs(part[:, still] - middle[still]) <= SAME).mean(1) >= 0.9 for part in (own, others)]
    if has[0].mean() < NEARLY or has[1].mean() > ELSEWHERE:
        return None
    around = np.zeros_like(still)
    around[max(0, top - 3) : bottom + 3, max(0, left - 3) : right + 3] = True
    around[max(0, top - 1) : bottom + 1, max(0, left - 1) : right + 1] = False  # whose pixels lie across its edge
    ring = own[:, around]
    spread = np.subtract(*np.quantile(ring, [0.75, 0.25], axis=0))
    apart = np.sqrt(np.square(own[:, still] - ring.mean(1, keepdims=True)).mean(1)) >= OUT
    varied = float(np.median(spread))
    drawn = varied >= GRAIN and varied >= STILLER * float(
        np.median(np.subtract(*np.quantile(own[:, still], [0.75, 0.25], axis=0)))
    )
    return (top, left, bottom, right) if (varied >= VARIES or drawn) and apart.mean() >= NEARLY - 0.03 else None
