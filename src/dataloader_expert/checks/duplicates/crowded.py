"""Which near pairs of a crowded set chance explains: of shapes on a plain ground, digits or blots, some always nearly agree.

Method: the number of images within a distance of one grows as a power of it, whose exponent is the dimension of the set, however dense the
images are there. So the distance to a copy is judged by that to the nearest image that is no copy, and the dimension by the ratios of such
distances (``nearest_two``). Pairs are told from chance at a rate of false discoveries (Benjamini and Hochberg, "Controlling the false
discovery rate", 1995).

Not judged are images of which few others have similar hashes, unless most of those in pairs are in crowds; and sets whose near pairs follow
one another or that fall into groups, such as clips: their frames are near each other by nature and copies all the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

from dataloader_expert.checks.duplicates.near_hashes import CANDIDATE, FAR, LIKENESS, bits
from dataloader_expert.checks.duplicates.nearest_two import dimension_of

CROWD = 10
"""Images that are no copies and have similar hashes, from more than which on an image is in a crowd."""
COMPARED = 1 << 14
"""The most images, spread over all, among which neighbours are looked for."""
TYPICAL = 1_000
"""The most images that tell the dimension."""
FALSE = 0.01
"""The share of the pairs told from chance that may be chance."""
LEAST = 1e-4
"""The unexplained variance that rounding leaves."""
MANY = 50
"""Images in a pair with one from which on they are a crowd themselves, and not all versions of one image."""
NEXT, FOLLOW, FEWEST = 2, 0.2, 3
"""How far apart images of the set follow one another, and the least share and number of pairs that do if the set is in order."""
TOGETHER = 0.75
"""The least share of images that hang together in a set that is one crowd."""
AT_ONCE = 256
"""Images that are compared together."""


class Beside(NamedTuple):
    """What is near images beside their copies, each [n]: the distances to the nearest two, how many were left out as copies, and how many of
    those compared have similar hashes."""

    first: Any
    second: Any
    left_out: Any
    similar: Any


def beyond_chance(hashes: Any, vectors: Callable[[Any], Any], pairs: Any, apart: Any) -> Any:
    """Which pairs are nearer than chance explains; bool [n].

    Args:
        hashes: of the images in each of ``WAYS`` or upright only, uint64 [images, ways].
        vectors: the images at some positions, as vectors of unit length, float32 [n, numbers].
        pairs: positions of the two images of all near pairs, [n, 2]; at least one.
        apart: unexplained variance of each pair as it is, float [n].
    """
    import numpy as np

    told = np.ones(len(pairs), bool)
    some = np.linspace(0, len(hashes) - 1, min(len(hashes), COMPARED)).astype(int)
    usual = some[np.linspace(0, len(some) - 1, min(len(some), TYPICAL)).astype(int)]
    if _in_order(pairs) or not _hang_together(hashes[usual], vectors(usual)):
        return told
    each = len(hashes) / len(some)
    near = _partners(pairs)
    members, place = np.unique(pairs, return_inverse=True)
    place = place.reshape(pairs.shape)
    beside = _beside(hashes, vectors, members, some, near)
    crowd = beside.similar * each > CROWD
    # where most are in a crowd, those at its rim are near others by chance, too
    crowded = np.flatnonzero(crowd[place].any(1) | (2 * crowd.sum() > len(crowd)))
    if not len(crowded):
        return told
    typical = _beside(hashes, vectors, usual, some, near)
    dimension = dimension_of(typical.first / typical.second)
    place = place[crowded]
    within = np.sqrt(np.maximum(apart[crowded], LEAST))[:, None] / beside.first[place]
    expected = (1 + beside.left_out[place]) * np.minimum(within, 1) ** dimension
    told[crowded] = told_apart(expected.max(1) * each * len(hashes))
    return told


def _in_order(pairs: Any) -> bool:
    """Whether many of the pairs follow one another in the set, as frames of clips and versions of one image do: chance knows no order."""
    import numpy as np

    following = (np.abs(pairs[:, 0] - pairs[:, 1]) <= NEXT).sum()
    return bool(following >= max(FEWEST, FOLLOW * len(pairs)))


def _hang_together(hashes: Any, vectors: Any) -> bool:
    """Whether nearly all images are similar to others that are similar to others, and so on: clips and versions of images keep to themselves."""
    import numpy as np

    similar = (bits(hashes[:, :1] ^ hashes[:, 0]) <= FAR) & (vectors @ vectors.T >= LIKENESS)
    left, most = np.ones(len(hashes), bool), 0
    while left.sum() > most:
        reached = np.zeros(len(hashes), bool)
        reached[int(np.flatnonzero(left)[0])] = True
        size = 0
        while reached.sum() > size:
            size = int(reached.sum())
            reached |= similar[reached].any(0)
        left &= ~reached
        most = max(most, size)
    return most >= TOGETHER * len(hashes)


def _similar(hashes: Any, others: Any, like: Any) -> Any:
    """Which images have similar hashes in one of their ways, as candidates do; bool [images, others]."""
    import numpy as np

    ways = [bits(hashes[:, :1] ^ way) for way in others.T]
    return (np.minimum.reduce(ways) <= CANDIDATE) | ((ways[0] <= FAR) & (like >= LIKENESS))


def told_apart(expected: Any) -> Any:
    """Which pairs, of which chance brings as many that are as near as these numbers, are more than chance; bool [n]."""
    import numpy as np

    ranked = np.sort(expected)
    passes = np.flatnonzero(ranked <= FALSE * np.arange(1, len(ranked) + 1))
    return expected <= (ranked[passes[-1]] if len(passes) else -1)


def _partners(pairs: Any) -> dict[int, set[int]]:
    """The images with which each is in a pair."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for a, b in pairs.tolist():
        found[a].add(b)
        found[b].add(a)
    return found


def _beside(hashes: Any, vectors: Callable[[Any], Any], of: Any, some: Any, near: dict[int, set[int]]) -> Beside:
    """What of ``some`` is near to images, beside those in a pair with them and those in a pair with these: an image may have several copies,
    of which not all are found."""
    import numpy as np

    flat, at = vectors(some), {int(i): k for k, i in enumerate(some.tolist())}
    two, left_out, similar = np.empty((len(of), 2), np.float32), np.zeros(len(of), int), np.zeros(len(of), int)
    for first in range(0, len(of), AT_ONCE):
        own = of[first : first + AT_ONCE]
        part = slice(first, first + len(own))
        like = vectors(own) @ flat.T
        alike = _similar(hashes[own], hashes[some], like)
        for row, i in enumerate(own.tolist()):
            copies = near.get(i, set())
            versions = (near[k] for k in copies) if len(copies) <= MANY else ()
            out = [at[j] for j in {i}.union(copies, *versions) if j in at]
            like[row, out], alike[row, out] = -1, False
            left_out[first + row] = len(out) - (i in at)
        two[part] = -np.sort(np.partition(-like, 1, 1)[:, :2], 1)
        similar[part] = alike.sum(1)
    distances = np.sqrt(np.maximum(1 - two, LEAST))
    return Beside(distances[:, 0], distances[:, 1], left_out, similar)
