"""What an image has of its own, where all images of a set show the same thing: X-rays of hands, faces, one street.

Such images correlate without being copies, the more so if a few of them are inverted or have a mark in common. The mean image and the few
ways in which the images vary most (principal components, as of eigenfaces: Turk and Pentland, 1991) are removed; copies still agree in what is
left, others do not. They are removed after alignment: what all have in common lies elsewhere in a cropped copy.
"""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.duplicates.alignment import NEVER, USUAL, Bound, aligned, blurred

COMPONENTS, EACH = 8, 20
"""The most ways in which images vary that are removed, and the images to each: of few images they would be the images themselves."""
FEW, ROUNDS = 400, 8
"""Images of which all such ways are found at once, and the rounds in which the strongest are found of more (subspace iteration)."""
COMMON = 0.7
"""The least share of an image that the mean and these explain where it is what it has in common with the others."""
RIDGE = 1e-12
"""In parts of the trace of the normal equations: where an image covers little of another, what they have in common may be alike there."""
OWN, ROUGHLY = 0.8, 0.5
"""The least correlation, after alignment, of what is left of copies; and that where they are aligned as well as near copies must be."""


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
    for one, other in ((ones, others), (others, ones)):  # either may be the crop
        for bound in (USUAL, NEVER):
            own = _own(one[rows], other[rows], bound, mean, ways)
            same[rows] = own >= OWN
            rows = rows[(own >= ROUGHLY) & (own < OWN)]  # these may agree once they are aligned to the last pixel
        rows = np.flatnonzero((explained >= COMMON) & ~same)
    return same


def _own(ones: Any, others: Any, bound: Bound, mean: Any, ways: Any) -> Any:
    """The correlation of what is left of each pair where the second image, aligned, lies on the first; float64 [n]."""
    import numpy as np

    common = np.stack([np.ones_like(mean), mean, *ways], 1).astype(np.float64)
    products = (common[:, :, None] * common[:, None]).reshape(len(common), -1)
    first = blurred(ones.astype(np.float32)).reshape(len(ones), len(mean))
    found, at = [np.zeros(0)], 0
    for fit in aligned(ones, others, bound):
        inside = fit.inside[:, None].astype(np.float64)
        pairs = np.stack([first[at : at + len(inside)], fit.laid], 1) * inside
        gram = (inside @ products).reshape(len(inside), common.shape[1], -1)
        gram += RIDGE * np.trace(gram, axis1=1, axis2=2)[:, None, None] * np.eye(common.shape[1]) + 1e-30
        mixes = np.linalg.solve(gram, (pairs @ common).transpose(0, 2, 1)).transpose(0, 2, 1)
        off = (pairs - mixes @ common.T) * inside
        sizes = np.sqrt((off * off).sum(2)).prod(1)
        found.append((off[:, 0] * off[:, 1]).sum(1) / (sizes + 1e-6))
        at += len(inside)
    return np.concatenate(found)


def _common(images: Any, k: int) -> tuple[Any, Any]:
    """The mean of images, [n, pixels], and the ``k`` directions in which they vary most, [k, pixels]."""
    import numpy as np

    mean = images.mean(0)
    off = images - mean
    if len(off) < FEW:
        strengths, mixes = np.linalg.eigh(off @ off.T)
        return mean, (off.T @ mixes[:, -k:] / np.sqrt(np.maximum(strengths[-k:], 1e-12))).T
    # of many, all directions would take as long as the rest of the comparison: those that vary most grow with each round
    ways = np.random.default_rng(0).standard_normal((off.shape[1], 2 * k)).astype(off.dtype)
    for _ in range(ROUNDS):
        ways, _ = np.linalg.qr(off.T @ (off @ ways))
    along = off @ ways
    _, mixes = np.linalg.eigh(along.T @ along)
    return mean, (ways @ mixes[:, -k:]).T


def _left(images: Any, mean: Any, ways: Any) -> Any:
    off = images - mean
    return off - (off @ ways.T) @ ways


def _unit(images: Any) -> Any:
    """Images as vectors of zero mean and unit length, [n, pixels]."""
    import numpy as np

    flat = blurred(images.astype(np.float32)).reshape(len(images), -1)
    flat = flat - flat.mean(1, keepdims=True)
    return flat / (np.sqrt((flat * flat).sum(1, keepdims=True)) + 1e-6)
