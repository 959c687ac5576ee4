"""What an image has of its own, where all images of a set show the same thing: X-rays of hands, faces, one street.

Such images correlate without being copies, the more so if a few of them are inverted or have a mark in common. The mean image and the few
ways in which the images vary most (principal components, as of eigenfaces: Turk and Pentland, 1991) are removed; copies still agree in what is
left, others do not.
"""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.duplicates.alignment import blurred, likeness

COMPONENTS, EACH = 8, 20
"""The most ways in which images vary that are removed, and the images to each: of few images they would be the images themselves."""
COMMON = 0.7
"""The least share of an image that the mean and these explain where it is what it has in common with the others."""
CONTRAST = 1_000
"""What brings vectors of unit length to about the contrast of images of bytes, which alignment expects."""
OWN = 0.8
"""The least correlation, after alignment, of what is left of copies."""


def agree_beyond(grey: Any, some: Any, ones: Any, others: Any) -> Any:
    """Which pairs of images, [n, 32, 32] each, agree beyond what they have in common with all; bool [n].

    Args:
        grey: all images; ``some``: those of them that tell what is common.
    """
    import numpy as np

    k = min(COMPONENTS, len(some) // EACH)
    if not len(ones) or not k:
        return np.ones(len(ones), bool)
    mean, ways = _common(_unit(grey[some]), k)
    left = [_left(_unit(images), mean, ways) for images in (ones, others)]
    explained = np.minimum(*(1 - (part * part).sum(1) for part in left))
    same = np.ones(len(ones), bool)
    rows = np.flatnonzero(explained >= COMMON)
    same[rows] = likeness(*(part[rows].reshape(-1, *grey.shape[1:]) * CONTRAST for part in left)) >= OWN
    return same


def _common(images: Any, k: int) -> tuple[Any, Any]:
    """The mean of images, [n, pixels], and the ``k`` directions in which they vary most, [k, pixels]."""
    import numpy as np

    mean = images.mean(0)
    off = images - mean
    _, ways = np.linalg.eigh(off.T @ off)
    return mean, ways[:, -k:].T


def _left(images: Any, mean: Any, ways: Any) -> Any:
    off = images - mean
    return off - (off @ ways.T) @ ways


def _unit(images: Any) -> Any:
    """Images as vectors of zero mean and unit length, [n, pixels]."""
    import numpy as np

    flat = blurred(images.astype(np.float32)).reshape(len(images), -1)
    flat = flat - flat.mean(1, keepdims=True)
    return flat / (np.sqrt((flat * flat).sum(1, keepdims=True)) + 1e-6)
