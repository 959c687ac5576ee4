"""Which pairs of near images are no nearer than unlike images of the same set come by chance: shapes on a plain ground, blots, digits.

Method: the images nearest to one tell how many lie within a distance of it, as a power of that distance whose exponent is the local
dimension (Levina and Bickel, "Maximum likelihood estimation of intrinsic dimension", 2004). That gives the number of pairs of the whole set
expected to be as near as a pair is. Pairs are told from chance at a rate of false discoveries (Benjamini and Hochberg, "Controlling the
false discovery rate", 1995).
"""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.duplicates.alignment import blurred
from dataloader_expert.checks.duplicates.near_hashes import unit

NEIGHBOURS, CLOSEST = 20, 4
"""Images nearest to each of a pair that tell how many are near by chance, but for the closest of them, which may be further copies."""
RICH = 10
"""Dimensions, in the median, from which a set has so much content that alignment decides: chance brings none so near."""
FALSE = 0.01
"""The share of pairs told from chance that may be chance."""
AT_ONCE = 256
"""Images that are compared with all others together."""
LEAST = 1e-6
"""The unexplained variance below which images are equal but for rounding."""


def more_than_chance(grey: Any, some: Any, a: Any, b: Any, seen: Any) -> Any:
    """Which pairs are nearer than chance explains, bool [n]; all of them where the images are too few or too rich in content to tell.

    Args:
        grey: all images, [images, 32, 32]; ``some``: those among which neighbours are looked for.
        a, b: the images of the pairs; ``seen``: the second images, [n, 32, 32], mirrored or turned as the first ones are.
    """
    import numpy as np

    if not len(a) or len(some) <= 2 * NEIGHBOURS:
        return np.ones(len(a), bool)
    flat = unit(blurred(grey[some].astype(np.float32)))
    near = [_distances(grey, some, flat, x, y) for x, y in ((a, b), (b, a))]
    free = [dimensions(distances) for distances in near]
    usual = np.median(free)
    if usual >= RICH:
        return np.ones(len(a), bool)
    one, two = (unit(blurred(images.astype(np.float32))) for images in (grey[a], seen))
    own = _distance((one * two).sum(1))
    pairs = len(grey) / 2 * len(grey) / len(some)
    return told_apart(
        pairs * np.max([within(own, at, np.minimum(d, usual)) for at, d in zip(near, free, strict=True)], 0)
    )


def dimensions(near: Any) -> Any:
    """Those of the neighbourhoods of images, float64 [n], from the distances to the nearest, ascending, [n, k]."""
    import numpy as np

    k = near.shape[1]
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, k))])
    ranks = np.arange(CLOSEST, k - 1)
    farther = np.log(near[:, -1:] / near[:, ranks]).sum(1)
    return (harmonic[k - 1] - harmonic[ranks]).sum() / np.maximum(farther, 1e-9)


def within(own: Any, near: Any, dimension: Any) -> Any:
    """How many images are expected within these distances, [n], of one; the others as of ``dimensions``."""
    import numpy as np

    return near.shape[1] * np.minimum(own / near[:, -1], 1) ** dimension


def told_apart(counts: Any) -> Any:
    """Which pairs, of which chance explains as many as these ``counts``, are more than chance; bool [n]."""
    import numpy as np

    ranked = np.sort(counts)
    passes = np.flatnonzero(ranked <= FALSE * np.arange(1, len(ranked) + 1))
    return counts <= ranked[passes[-1]] if len(passes) else np.zeros(len(counts), bool)


def _distances(grey: Any, some: Any, flat: Any, of: Any, but: Any) -> Any:
    """From images to their ``NEIGHBOURS`` nearest, ascending, [n, NEIGHBOURS]; themselves and ``but`` are left out."""
    import numpy as np

    found = [np.zeros((0, NEIGHBOURS), np.float32)]
    for first in range(0, len(of), AT_ONCE):
        own, other = of[first : first + AT_ONCE], but[first : first + AT_ONCE]
        like = unit(blurred(grey[own].astype(np.float32))) @ flat.T
        like[(some == own[:, None]) | (some == other[:, None])] = -1
        found.append(np.sort(np.partition(-like, NEIGHBOURS - 1, 1)[:, :NEIGHBOURS], 1))
    return _distance(-np.concatenate(found))


def _distance(correlation: Any) -> Any:
    import numpy as np

    return np.sqrt(np.maximum(1 - correlation, LEAST))
