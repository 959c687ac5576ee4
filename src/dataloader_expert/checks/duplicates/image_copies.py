"""Which of the images whose hashes are near are copies: they agree in shape and colour after alignment, more than others do."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, NamedTuple

from dataloader_expert.checks.common.picture_hashes import laid
from dataloader_expert.checks.duplicates.alignment import (
    NEVER,
    STRICT,
    USUAL,
    aligned,
    alike,
    blurred,
    likeness,
    unmoved,
)
from dataloader_expert.checks.duplicates.along_edges import agree_along_edges
from dataloader_expert.checks.duplicates.colours import CLEARLY, agree_in_colour
from dataloader_expert.checks.duplicates.crowded import beyond_chance
from dataloader_expert.checks.duplicates.near_hashes import (
    CANDIDATE,
    TURNED,
    Candidate,
    candidates,
    close,
    nearest,
    unit,
)
from dataloader_expert.checks.duplicates.own_looks import agree_beyond

RANK, LIKENESSES = 20, 2_000
UNLIKE, FAR_LESS = 0.25, 0.1
"""Unexplained variance of an image by its ``RANK``-th nearest beyond which it resembles few others; and the share of it that a
copy may have if it does not."""
NEIGHBOURS, FAR_CLOSER, ALIGNED = 5, 0.25, 500
"""Images with which a pair is compared after alignment, the share of their unexplained variance that its own may be, and how many
such pairs are looked at, closest first."""
OTHER_TINT = 12
"""Steps between the tints of two images beyond which they may show different things: two shirts on the same wall."""
SAME_GREY, SAME_CONTRAST = 12, 1.2
"""Steps of mean brightness, and the ratio of contrasts, up to which a grey image may be another without its colours."""
WHOLE = (0, 0, 32, 32)
SAME_FRAME, SAME_PLACE = 4, 1
"""Pixels of 32 by which a crop of a tenth, or a slight rotation, moves the frame that margins leave; and those by which encoding
or resizing does."""
FLAT, LEVELS, SMALL = 2.5, 16, 512
"""Bits of entropy, of as many levels of grey, and pixels of 32 x 32 within margins, below which an image says little without its
place and size: others have its shape by chance, such as arrows and letters."""
AT_ONCE = 256
"""Images that are compared together."""
CLOSE = 8
"""The most bits in which hashes of copies differ where nothing confirms them."""


class Images(NamedTuple):
    """What is compared of n images: hashes, as in ``NearPictures``; grey versions, [n, 32, 32]; tints, colours and frames; digests of the
    other fields, and of the labels."""

    hashes: Any
    grey: Any
    tints: Any
    colours: Any
    frames: Any
    rest: Any
    labels: Any


class Copies(NamedTuple):
    """The pairs of near copies; how many similar pairs were not looked at, and how many chance explains."""

    pairs: list[tuple[int, int]]
    left_out: int = 0
    by_chance: int = 0


def copies(images: Images) -> Copies:
    """The near copies among images."""
    grey, frames = images.grey, images.frames
    found, left_out = nearest(candidates(images.hashes, grey), images.rest, images.labels)
    little = {i for i in {i for c in found for i in c[:2]} if says_little(grey[i], frames[i])}
    found = [c for c in found if may_be_copies(c, images, little)]
    apart = standing_out(grey, found)
    rest = [c for c in {*found} - {*apart} if c[0] not in little and c[1] not in little]
    others = sorted(rest, key=lambda c: (c[3], c))[:ALIGNED]
    agreed = agreeing(grey, apart, little)
    own = beyond_common(grey, agreed)
    found = in_colour(images, in_shape(grey, own + closest(grey, agreeing(grey, others, little))))
    kept = nearer_than_by_chance(images, found)
    return Copies([(a, b) for a, b, _, _ in kept], left_out, len(found) - len(kept))


def copies_by_hash(hashes: Any, sketches: Any, tints: Any, frames: Any, rest: Any) -> Copies:
    """The near copies among so many images that only sketches of them are kept; other arguments as of ``Images``.

    Args:
        hashes: of the upright images, uint64 [n].
        sketches: as of ``low_frequencies``, int8 [n, 63].
    """
    import numpy as np

    def vectors(at: Any) -> Any:
        return unit(sketches[at].astype(np.float32))

    found = [
        (a, b)
        for a, b in close(hashes, CLOSE)
        if rest[a] == rest[b] and same_colours(tints[a], tints[b]) and same_frame(frames[a], frames[b], SAME_FRAME)
    ]
    if not found:
        return Copies([])
    pairs = np.array(found, np.int64)
    apart = 1 - (vectors(pairs[:, 0]) * vectors(pairs[:, 1])).sum(1)
    told = beyond_chance(hashes[:, None], vectors, pairs, apart)
    return Copies([(a, b) for a, b in pairs[told].tolist()], 0, int((~told).sum()))


def nearer_than_by_chance(images: Images, found: list[Candidate]) -> list[Candidate]:
    """The candidates without those that agree as others of a crowded set do."""
    import numpy as np

    def vectors(grey: Any) -> Any:
        return unit(blurred(grey.astype(np.float32)))

    if not found:
        return []
    a, b, way, _ = (np.array(part) for part in zip(*found, strict=True))
    apart = 1 - (vectors(images.grey[a]) * vectors(as_seen(images.grey, b, way))).sum(1)
    told = beyond_chance(images.hashes, lambda at: vectors(images.grey[at]), np.stack([a, b], 1), apart)
    return [candidate for candidate, kept in zip(found, told.tolist(), strict=True) if kept]


def in_shape(grey: Any, found: list[Candidate]) -> list[Candidate]:
    """The candidates without those of two shapes on a plain ground that are only drawn alike."""
    import numpy as np

    if not found:
        return []
    a, b, way, _ = (np.array(part) for part in zip(*found, strict=True))
    same = agree_along_edges(grey[a], as_seen(grey, b, way))
    return [candidate for candidate, agrees in zip(found, same.tolist(), strict=True) if agrees]


def in_colour(images: Images, found: list[Candidate]) -> list[Candidate]:
    """The candidates without those that agree only in gray: two flowers of one shape, and of other colours."""
    import numpy as np

    coloured = [c for c in found if not np.isnan(images.tints[[*c[:2]]]).any() and _of_one_extent(images.frames, c)]
    if not coloured:
        return found
    a, b, way, _ = (np.array(part) for part in zip(*coloured, strict=True))
    ones = images.colours[a]
    others = np.stack([laid(images.colours[i], k) for i, k in zip(b.tolist(), way.tolist(), strict=True)])
    same = agree_in_colour(ones, others, unmoved(len(a)), CLEARLY)
    rest = np.flatnonzero(~same)  # those of a crop lie elsewhere
    if len(rest):
        fits = aligned(images.grey[a[rest]], as_seen(images.grey, b[rest], way[rest]), NEVER)
        same[rest] = agree_in_colour(ones[rest], others[rest], np.concatenate([fit.warp for fit in fits]))
    unlike = {candidate for candidate, agrees in zip(coloured, same.tolist(), strict=True) if not agrees}
    return [candidate for candidate in found if candidate not in unlike]


def _of_one_extent(frames: Any, candidate: Candidate) -> bool:
    """Whether neither image of a candidate has margins: without these a gray version is enlarged, and colours are elsewhere."""
    return all(tuple(map(int, frames[i])) == WHOLE for i in candidate[:2])


def beyond_common(grey: Any, found: list[Candidate]) -> list[Candidate]:
    """The candidates that agree in more than what all images have in common."""
    import numpy as np

    if not found:
        return []
    a, b, way, _ = (np.array(part) for part in zip(*found, strict=True))
    same = agree_beyond(grey, spread_over(grey), grey[a], as_seen(grey, b, way))
    return [candidate for candidate, agrees in zip(found, same.tolist(), strict=True) if agrees]


def may_be_copies(candidate: Candidate, images: Images, little: Collection[int]) -> bool:
    """Whether colours and margins of two images may be those of copies; ``little``: those of which ``says_little`` is true."""
    a, b, way, _ = candidate
    grey, tints, frames = images.grey, images.tints, images.frames
    if math.isnan(tints[a][0]) != math.isnan(tints[b][0]):
        as_bright = abs(float(grey[a].mean()) - float(grey[b].mean())) <= SAME_GREY
        contrasts = float(grey[a].std()) + 1, float(grey[b].std()) + 1
        if not as_bright or max(contrasts) > SAME_CONTRAST * min(contrasts):
            return False
    within = SAME_PLACE if a in little or b in little else SAME_FRAME
    return same_colours(tints[a], tints[b]) and same_frame(frames[a], frames[b], within, way)


def same_colours(one: Any, other: Any) -> bool:
    """Whether the tints of two images may be those of copies: a brightened one is more colourful; grey ones have none to compare."""
    apart, most = math.hypot(*(one - other)), max(math.hypot(*one), math.hypot(*other))
    return not (apart > OTHER_TINT and apart > 0.5 * most)


def says_little(grey: Any, frame: Any) -> bool:
    """Whether an image has margins, and what these leave is small or of few levels of grey."""
    import numpy as np

    top, left, bottom, right = map(int, frame)
    if (top, left, bottom, right) == WHOLE:
        return False
    share = np.bincount(grey.ravel() // (256 // LEVELS), minlength=LEVELS) / grey.size
    return bool((bottom - top) * (right - left) < SMALL or -(share * np.log2(np.maximum(share, 1e-9))).sum() < FLAT)


def same_frame(one: Any, other: Any, within: int, way: int = 0) -> bool:
    """Whether margins leave both images the same place, up to so many pixels, if both have any: a copy keeps its margins, and
    drawings on an even ground are alike without them, whatever their size. A border may have been added to one."""
    top, left, bottom, right = map(int, one)
    if (top, left, bottom, right) == WHOLE or tuple(map(int, other)) == WHOLE:
        return True
    there = [int(end) for end in other]
    if way == 1:
        left, right = 32 - right, 32 - left
    for _ in range(1, way):  # by a quarter, what was at the right comes to the top
        there = [32 - there[3], there[0], 32 - there[1], there[2]]
    return all(abs(a - b) <= within for a, b in zip((top, left, bottom, right), there, strict=True))


def agreeing(grey: Any, found: list[Candidate], little: Collection[int]) -> list[Candidate]:
    """The candidates that correlate after alignment, more where an image says ``little``; ``grey``: [n, 32, 32]."""
    import numpy as np

    if not found:
        return []
    a, b, way, apart = (np.array(part) for part in zip(*found, strict=True))
    same, strict = np.zeros(len(a), bool), (apart > CANDIDATE) | (way >= TURNED) | np.isin([a, b], list(little)).any(0)
    for rows, bound in ((~strict, USUAL), (strict, STRICT)):
        same[rows] = alike(grey[a[rows]], as_seen(grey, b[rows], way[rows]), bound)
    return [candidate for candidate, agrees in zip(found, same.tolist(), strict=True) if agrees]


def as_seen(grey: Any, at: Any, way: Any) -> Any:
    """These images, each in its way of ``WAYS``."""
    import numpy as np

    chosen = grey[at]
    for k in np.unique(way[way > 0]).tolist():
        chosen[way == k] = laid(chosen[way == k], k)
    return chosen


def closest(grey: Any, found: list[Candidate]) -> list[Candidate]:
    """The pairs that are far more alike than either is to its ``NEIGHBOURS`` nearest, all after alignment: of images that resemble
    each other a copy that was cropped or turned stands out only then."""
    import numpy as np

    if not found:
        return []
    a, b, way, _ = (np.array(part) for part in zip(*found, strict=True))
    at = np.arange(len(a))
    own = 1 - likeness(grey[a], as_seen(grey, b, way))
    some = spread_over(grey)
    flat = unit(blurred(grey[some].astype(np.float32)))
    for swapped in (False, True):
        if not len(a):
            break
        one, other = (b, a) if swapped else (a, b)
        like = unit(blurred(grey[one].astype(np.float32))) @ flat.T
        like[(some == one[:, None]) | (some == other[:, None])] = -2  # itself, and what is compared with it
        near = np.argsort(-like, 1)[:, :NEIGHBOURS]
        # alignment brings neighbours nearer still: only what passes without is aligned
        rows = np.flatnonzero(own <= FAR_CLOSER * np.median(1 - np.take_along_axis(like, near, 1), 1))
        theirs = likeness(grey[one[rows].repeat(near.shape[1])], grey[some[near[rows]].ravel()])
        passes = rows[own[rows] <= FAR_CLOSER * np.median(1 - theirs.reshape(len(rows), near.shape[1]), 1)]
        a, b, own, at = a[passes], b[passes], own[passes], at[passes]
    return [found[i] for i in at.tolist()]


def standing_out(grey: Any, found: list[Candidate]) -> list[Candidate]:
    """The candidates without those of images that resemble many others as much, such as digits or X-rays: aligned, they all correlate.

    Both images of a pair must be far more like each other than like their ``RANK``-th nearest among at most ``LIKENESSES``
    images, unless even that one is unlike them.
    """
    import numpy as np

    if len(grey) <= 2 * RANK or not found:
        return found
    a, b, way, _ = (np.array(part) for part in zip(*found, strict=True))
    at, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    soft = blurred(grey[at].astype(np.float32))
    flat = unit(soft)
    some = unit(blurred(grey[spread_over(grey)].astype(np.float32)))
    # itself is the nearest if it is among these images
    crowd = [
        1 - np.partition(part @ some.T, -RANK - 1, 1)[:, -RANK - 1]
        for part in np.array_split(flat, len(at) // AT_ONCE + 1)
    ]
    nearest_of = np.concatenate(crowd)[place].reshape(2, -1).min(0)
    one, two = place.reshape(2, -1)
    apart = 1 - (flat[one] * unit(as_seen(soft, two, way))).sum(1)
    kept = (nearest_of > UNLIKE) | (apart <= FAR_LESS * nearest_of)
    return [candidate for candidate, keep in zip(found, kept.tolist(), strict=True) if keep]


def spread_over(grey: Any) -> Any:
    """At most ``LIKENESSES`` of the images, spread over all."""
    import numpy as np

    return np.linspace(0, len(grey) - 1, min(len(grey), LIKENESSES)).astype(int)
