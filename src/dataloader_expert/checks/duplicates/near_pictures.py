"""Images that are nearly the same: re-encoded, resized, brightened, mirrored, turned by quarters, cropped,
bordered.

Method: the signs of the low 8 x 8 DCT coefficients of a 32 x 32 grey image (Zauner, "Implementation and benchmarking
of perceptual image hash functions", 2010) give candidates, as do those of the image
mirrored or turned. The margin, which may be
most of an image and the same in many, is removed first. Each candidate is confirmed by aligning the grey images.
Pairs are not chained.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.picture_hashes import HASHED_FROM, WAYS, insides, laid, looks, picture_hashes
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
from dataloader_expert.checks.duplicates.own_looks import agree_beyond
from dataloader_expert.checks.duplicates.pairs import Seen, content_digests, judge_near, near_fact
from dataloader_expert.conclusions import Finding
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.sources.base import Block

CANDIDATE, FAR = 14, 18
"""The most bits of 64 in which the hashes of candidates may differ, and of those that must agree more after alignment: a crop away
from the middle changes many. Of unlike images, one pair in 200,000 and one in 3,000 differ in no more."""
TURNED = 2
"""The first of ``WAYS`` that is a turn: these must agree more, since there are three."""
LIKENESS = 0.75
"""The least correlation before alignment of candidates that differ in more than ``CANDIDATE`` bits."""
CLOSE = 8
"""The most bits if nothing can be confirmed because there are too many images to keep their grey versions."""
RANK, LIKENESSES = 20, 2_000
UNLIKE, FAR_LESS = 0.25, 0.1
"""Unexplained variance of an image by its ``RANK``-th nearest beyond which it resembles few others; and the share of it that a
copy may have if it does not."""
NEIGHBOURS, FAR_CLOSER, ALIGNED = 5, 0.25, 500
"""Images with which a pair is compared after alignment, the share of their unexplained variance that its own may be, and how many
such pairs are looked at, closest first."""
AT_ONCE, IN_CACHE = 256, 1 << 17
"""Images that are hashed together, and pairs of hashes that are compared together."""
DENSE = 1 / 16
"""The share of pairs from which on the likeness of all takes less time than that of some."""
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
CONFIRMED, FOUND = 4_000, 200_000
"""The most candidates that are aligned, closest first, at some milliseconds each; and the most pairs kept without alignment."""
MOST = 40_000
"""The most images that are all compared with each other and whose grey versions are kept."""
RULE = (
    f"found by perceptual hashes at most {CANDIDATE} of 64 bits apart, confirmed by a correlation of at least {USUAL.alike} after alignment, "
    f"or {STRICT.alike} for turned images and for hashes up to {FAR} bits apart"
)
MISSED = "near duplicates of images that are rotated by other angles than quarter turns, covered, or cropped by more than a tenth"


Candidate = tuple[int, int, int, int]
"""Two images, in which of ``WAYS`` the second is like the first, and the number of bits in which their hashes differ."""


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


class NearPictures(Check):
    ids = ("near-duplicates", "splits-near-overlap", "label-conflict")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.kept = Seen(context)
        self.fields = [
            f.name
            for f in context.fields
            if f.kind == "image"
            and f.name in self.kept.names
            and min(x or HASHED_FROM for x in f.shape[-3:-1] or f.shape or (99,)) >= HASHED_FROM
        ]
        self.others = [n for n in self.kept.names if n not in self.fields[:1]]
        self.rest: list[Any] = []
        """Digests of the other fields, which must be equal: an image may have several captions."""
        self.waiting: list[Any] = []
        self.n_waiting = 0
        self.hashes: list[Any] = []
        """Hashes of each sample's image in each of ``WAYS``; uint64 [n, WAYS], 0 if there is none."""
        self.grey: list[Any] = []
        """A 32 x 32 grey image of each sample, uint8; none beyond ``MOST``."""
        self.tints: list[Any] = []
        """As of ``looks``."""
        self.colours: list[Any] = []
        """As of ``looks``; none beyond ``MOST``."""
        self.frames: list[Any] = []
        """As of ``insides``."""

    def applies(self) -> bool:
        return self.context.near and bool(self.fields)

    def see(self, block: Block) -> None:
        import numpy as np

        n = block.samples
        self.seen += n
        if not n or not self.applies():
            return
        self.kept.see(block)
        if self.others:
            self.rest.append(content_digests(block, self.others))
        name = self.fields[0]
        if name in block.columns:
            seen = looks(block, name)
            inside, frames = insides(seen.small[:n])
            self.waiting.append(inside)
            self.frames.append(frames)
            self.tints.append(seen.tints[:n])
            self._colour(seen.colours[:n])
        else:
            self.waiting.append(np.zeros((n, 32, 32), np.uint8))  # which has no hash
            self.frames.append(np.zeros((n, 4), np.uint8))
            self.tints.append(np.full((n, 2), np.nan, np.float32))
            self._colour(np.zeros((n, 2, 16, 16), np.int8))
        self.n_waiting += n
        if self.n_waiting >= AT_ONCE:
            self._hash()

    def _colour(self, colours: Any) -> None:
        if self.seen <= MOST:
            self.colours.append(colours)
        else:
            self.colours.clear()

    def _hash(self) -> None:
        """Hashes the waiting images, since many at once is faster, and keeps them while there are few."""
        import numpy as np

        if not self.waiting:
            return
        grey, self.waiting, self.n_waiting = np.concatenate(self.waiting), [], 0
        self.hashes.append(picture_hashes(grey))
        self.grey = [*self.grey, grey] if self.seen <= MOST else []

    def merge(self, other: Check) -> None:
        assert isinstance(other, NearPictures)
        self._hash()
        other._hash()
        self.seen += other.seen
        self.kept.merge(other.kept)
        self.hashes += other.hashes
        self.tints += other.tints
        self.frames += other.frames
        self.rest += other.rest
        self.grey = self.grey + other.grey if self.seen <= MOST else []
        self.colours = self.colours + other.colours if self.seen <= MOST else []

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        self._hash()
        if not self.hashes:
            return
        rows = self.kept.all()
        hashes, digest = np.concatenate(self.hashes), rows.digest
        order = np.argsort(rows.index, kind="stable")  # whatever was seen first
        _, first = np.unique(digest[order], return_index=True)
        first = order[np.sort(first)]
        kept = first[hashes[first, 0] != 0]  # one of each content; flat images have no hash
        tints, frames = np.concatenate(self.tints)[kept], np.concatenate(self.frames)[kept]
        rest = (np.concatenate(self.rest) if self.rest else np.zeros(len(digest), np.uint64))[kept]
        if self.grey:
            grey = np.concatenate(self.grey)[kept]
            colours = np.concatenate(self.colours)[kept]
            near, left_out = copies(Images(hashes[kept], grey, tints, colours, frames, rest, rows.label[kept]))
            pairs = sorted({(int(kept[a]), int(kept[b])) for a, b in near})
            missed = f"{MISSED}; alignment of {left_out:,} further pairs of similar images" if left_out else MISSED
            yield near_fact(self.kept, rows, "pictures", pairs, RULE, self.evidence(), missed)
        else:
            alike = [
                (a, b)
                for a, b in close(hashes[kept, 0], CLOSE)
                if rest[a] == rest[b]
                and same_colours(tints[a], tints[b])
                and same_frame(frames[a], frames[b], SAME_FRAME)
            ]
            rule = f"DCT hashes within {CLOSE} of 64 bits, without alignment because there are over {MOST:,} images"
            pairs = [(int(kept[a]), int(kept[b])) for a, b in alike]
            yield near_fact(
                self.kept,
                rows,
                "pictures",
                pairs,
                rule,
                self.evidence(),
                f"mirrored or turned copies of images; {MISSED}",
            )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        return judge_near(facts, "pictures", sure=True)


def copies(images: Images) -> tuple[list[tuple[int, int]], int]:
    """The pairs of near copies, and how many similar pairs were not looked at."""
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
    return [(a, b) for a, b, _, _ in found], left_out


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


def bits(x: Any) -> Any:
    """The number of set bits of each uint64."""
    import numpy as np

    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(x)
    table, low = _set_bits(), np.uint64(0xFFFF)
    d = table[x & low] + table[(x >> np.uint64(16)) & low]
    return d + table[(x >> np.uint64(32)) & low] + table[x >> np.uint64(48)]


@cache
def _set_bits() -> Any:
    """The number of set bits of each 16-bit number."""
    import numpy as np

    table = np.zeros(1, np.uint8)
    for _ in range(16):
        table = np.concatenate([table, table + 1])
    return table


def candidates(hashes: Any, grey: Any) -> Iterator[Any]:
    """Some at a time, int64 [4, n] as of ``Candidate``: pairs whose hashes ([n, WAYS], as in ``NearPictures``) differ in at most
    ``CANDIDATE`` bits, or in ``FAR`` if the images, [n, 32, 32], are somewhat alike and not turned."""
    import numpy as np

    if len(hashes) < 2:
        return
    of = [np.ascontiguousarray(hashes[:, way]) for way in range(WAYS)]
    small = grey.reshape(-1, 16, 2, 16, 2).mean((2, 4), dtype=np.float32)
    upright, mirrored = _unit(small), _unit(small[:, :, ::-1])
    step = max(1, IN_CACHE // len(hashes))
    for first in range(0, len(hashes) - 1, step):
        own, rest = of[0][first : first + step, None], slice(first + 1, None)
        for way, other in enumerate(of):
            apart = bits(other[rest] ^ own).ravel()
            at = np.flatnonzero(apart <= (FAR if way < TURNED else CANDIDATE))
            if not len(at):
                continue
            a, b = first + at // len(other[rest]), first + 1 + at % len(other[rest])
            alike = apart[at] <= CANDIDATE
            far = np.flatnonzero(~alike)
            seen = mirrored if way else upright
            if len(far) > DENSE * len(apart):
                every = upright[first : first + step] @ seen[rest].T
                alike[far] = every.ravel()[at[far]] >= LIKENESS
            elif len(far):
                alike[far] = (upright[a[far]] * seen[b[far]]).sum(1) >= LIKENESS
            yield np.stack([a, b, np.full(len(at), way), apart[at].astype(np.int64)])[:, alike & (a < b)]


def nearest(found: Iterable[Any], rest: Any, labels: Any) -> tuple[list[Candidate], int]:
    """The ``CONFIRMED`` closest candidates with equal ``rest``, and how many more there are. An image of another label that is
    mirrored or turned is no copy: left is not right, and 6 is not 9."""
    import numpy as np

    total, held = 0, [np.zeros((4, 0), np.int64)]
    for some in found:
        a, b, way, _ = some
        unlike = (way > 0) & (labels[a] != labels[b]) & (labels[a] != 0) & (labels[b] != 0)  # 0: without a label
        some = some[:, (rest[a] == rest[b]) & ~unlike]
        total += some.shape[1]
        held.append(some)
        if sum(part.shape[1] for part in held) >= 4 * CONFIRMED:
            held = [_closest(held)]
    kept = _closest(held)
    return [(a, b, way, apart) for a, b, way, apart in kept.T.tolist()], total - kept.shape[1]


def _closest(parts: list[Any]) -> Any:
    """The ``CONFIRMED`` closest of these candidates, int64 [4, n]."""
    import numpy as np

    every = np.concatenate(parts, 1)
    a, b, way, apart = every
    return every[:, np.lexsort((b, way, a, apart))[:CONFIRMED]]


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
    flat = _unit(blurred(grey[some].astype(np.float32)))
    for swapped in (False, True):
        if not len(a):
            break
        one, other = (b, a) if swapped else (a, b)
        like = _unit(blurred(grey[one].astype(np.float32))) @ flat.T
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
    flat = _unit(soft)
    some = _unit(blurred(grey[spread_over(grey)].astype(np.float32)))
    # itself is the nearest if it is among these images
    crowd = [
        1 - np.partition(part @ some.T, -RANK - 1, 1)[:, -RANK - 1]
        for part in np.array_split(flat, len(at) // AT_ONCE + 1)
    ]
    nearest_of = np.concatenate(crowd)[place].reshape(2, -1).min(0)
    one, two = place.reshape(2, -1)
    apart = 1 - (flat[one] * _unit(as_seen(soft, two, way))).sum(1)
    kept = (nearest_of > UNLIKE) | (apart <= FAR_LESS * nearest_of)
    return [candidate for candidate, keep in zip(found, kept.tolist(), strict=True) if keep]


def spread_over(grey: Any) -> Any:
    """At most ``LIKENESSES`` of the images, spread over all."""
    import numpy as np

    return np.linspace(0, len(grey) - 1, min(len(grey), LIKENESSES)).astype(int)


def _unit(images: Any) -> Any:
    """Images as vectors of zero mean and unit length, [n, pixels]."""
    import numpy as np

    flat = images.reshape(len(images), -1)
    flat = flat - flat.mean(1, keepdims=True)
    return flat / (np.sqrt((flat * flat).sum(1, keepdims=True)) + 1e-6)


def close(hashes: Any, most: int) -> list[tuple[int, int]]:
    """The same for very many hashes, [n]: two that differ in at most ``most`` (under 10) bits differ in at most one bit in
    one of five parts, so only those are compared."""
    import numpy as np

    found: set[tuple[int, int]] = set()
    for shift, width in ((0, 13), (13, 13), (26, 13), (39, 13), (52, 12)):
        keys = ((hashes >> np.uint64(shift)) & np.uint64((1 << width) - 1)).astype(np.int64)
        order = np.argsort(keys, kind="stable")
        starts = np.searchsorted(keys[order], np.arange((1 << width) + 1))
        members = [order[starts[k] : starts[k + 1]] for k in range(1 << width)]
        for k, mine in enumerate(members):
            if not len(mine):
                continue
            for other in (k, *(k ^ (1 << b) for b in range(width) if k < k ^ (1 << b))):
                theirs = members[other]
                for at in range(0, len(mine), AT_ONCE):
                    few = mine[at : at + AT_ONCE]
                    a, b = np.nonzero(bits(hashes[few][:, None] ^ hashes[theirs][None]) <= most)
                    pairs = zip(few[a].tolist(), theirs[b].tolist(), strict=True)
                    found.update((min(p), max(p)) for p in pairs if p[0] != p[1])
                    if len(found) >= FOUND:
                        return sorted(found)
    return sorted(found)


CHECK = NearPictures
