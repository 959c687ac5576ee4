"""Whether images of little else than a shape on a plain ground agree along the edges of the shape.

Two drawings of one kind correlate once they are aligned: most of their variance is that a shape is darker than its ground, and that
they share. A copy leaves far less along the edges. What remains of it, in units of how steep the edges are, is a shift by a fraction
of a pixel; shapes that are drawn alike differ by more.
"""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.duplicates.alignment import AT_ONCE, NEVER, SIDE, aligned, blurred, settled

FEW = 0.2
"""The share of an image that effectively has all its edges, below which it is little else than a shape: photographs have more."""
SHIFT = 0.22
"""Pixels of 32 by which edges of a copy may lie elsewhere: what encoding, resizing, cropping and turning leave is less."""
NOISE = 1.0
"""Gray levels that encoding changes anyway."""


def agree_along_edges(ones: Any, others: Any) -> Any:
    """Which pairs of images, [n, 32, 32] each, agree along their edges, or are not both mere shapes; bool [n]."""
    import numpy as np

    same = np.ones(len(ones), bool)
    shapes = np.flatnonzero((edged(ones) < FEW) & (edged(others) < FEW))
    if len(shapes):
        fits = aligned(ones[shapes], others[shapes], NEVER)
        for first, fit in zip(range(0, len(shapes), AT_ONCE), fits, strict=True):
            part = shapes[first : first + AT_ONCE]
            same[part] = shifts(*settled(ones[part], others[part], fit.warp)) <= SHIFT
    return same


def edged(images: Any) -> Any:
    """The share of each image, [n, 32, 32], that effectively has its edges: one over the number of pixels to which their energy, if it was the
    same in each of these, would be confined (inverse participation ratio)."""
    import numpy as np

    down, across = np.gradient(blurred(images.astype(np.float32)), axis=(1, 2))
    energy = (down * down + across * across)[:, 1:-1, 1:-1].reshape(len(images), -1)
    return energy.sum(1) ** 2 / ((energy * energy).sum(1) + 1e-6) / energy.shape[1]


def shifts(first: Any, left: Any, within: Any) -> Any:
    """By how many pixels the edges of pairs lie apart, as what ``settled`` returns tells it, [n]; infinite where nothing is known."""
    import numpy as np

    images, inside = (x.reshape(-1, SIDE, SIDE) for x in (first, within))
    steep = np.zeros(len(images))
    for axis, there in ((1, inside[:, 1:] & inside[:, :-1]), (2, inside[:, :, 1:] & inside[:, :, :-1])):
        steep += (np.diff(images, axis=axis) ** 2 * there).sum((1, 2))
    remains = (left * left * within).sum(1) - NOISE**2 * within.sum(1)
    return np.where(within.any(1), np.sqrt(np.maximum(remains, 0) / (steep + 1e-6)), np.inf)
