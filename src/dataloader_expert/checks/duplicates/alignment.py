"""Whether two small grey images show the same once one is slightly shifted, scaled and rotated.

Method: an affine warp with a gain, fitted by Gauss-Newton steps (Lucas and Kanade, "An iterative image registration
technique with an application to stereo vision", 1981), from three scales. What counts is the correlation afterwards, and
the unexplained variance where the two agree least: two shirts on the same floor correlate, but differ on the shirts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

SIDE = 32
STEPS = 8
SCALES = (1.0, 0.9, 1.1)


@dataclass(frozen=True)
class Bound:
    """What a near copy must reach after alignment: the least correlation, and the largest share of the variance that may remain
    unexplained where it agrees least.

    ``hopeful``: the correlation below which a pair is given up after ``EARLY`` steps, and no other scale is tried: a copy that
    is found at all has far more by then, since the steps converge quadratically.
    """

    alike: float
    left: float
    hopeful: float


USUAL = Bound(0.95, 0.12, 0.7)
STRICT = Bound(0.985, 0.04, 0.9)
"""For pairs that nothing but the alignment speaks for: two jackets on the same wall reach the usual bound now and then."""
NEVER = Bound(1.1, 0.0, 0.5)
"""Which no pair reaches: the fit goes on to its end, unless it is hopeless."""
EARLY = 2
OVERLAP = 0.7
"""The least share of an image that must lie within the other."""
STRETCH, SHEAR = 1.28, 0.12
"""The most that a copy may be scaled, and rotated or sheared (0.12: seven degrees)."""
DAMPING, GAINS = 10.0, (0.3, 3.0)
WINDOWS = 4
AT_ONCE = 128
WHITE = 250.0
RIM, FURTHER = 2, 4
"""Pixels at the edges of both images that the last steps leave out, and how many steps these are."""


class Fit(NamedTuple):
    """How pairs agree: whether they keep to a bound; their best correlation, -1 if no alignment is one that a copy may have; and in that
    one, the second image as it lies on the first, [n, pixels], the pixels where it does, and how it was moved, [n, 6]."""

    same: Any
    best: Any
    laid: Any
    inside: Any
    warp: Any


def alike(ones: Any, others: Any, bound: Bound = USUAL) -> Any:
    """Whether the pairs show the same: in some alignment they keep to the bound, in the third-worst of ``WINDOWS`` x ``WINDOWS``
    windows; bool [n].

    Args:
        ones, others: the images of the pairs, [n, 32, 32].
    """
    import numpy as np

    parts = [_scaled(a, b, bound).same for a, b in _parts(ones, others)]
    return np.concatenate(parts) if parts else np.zeros(0, bool)


def likeness(ones: Any, others: Any) -> Any:
    """The best correlation of each pair in any alignment, -1 if none is one that a copy may have; float32 [n]. Arguments as of ``alike``."""
    import numpy as np

    parts = [fit.best for fit in aligned(ones, others, NEVER)]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def aligned(ones: Any, others: Any, bound: Bound = USUAL) -> Iterator[Fit]:
    """The first alignment in which each pair keeps to the bound, or else its best, some pairs at a time; the images are blurred. Arguments as
    of ``alike``."""
    return (_scaled(a, b, bound) for a, b in _parts(ones, others))


def _parts(ones: Any, others: Any) -> Iterator[tuple[Any, Any]]:
    import numpy as np

    for i in range(0, len(ones), AT_ONCE):
        yield ones[i : i + AT_ONCE].astype(np.float32), others[i : i + AT_ONCE].astype(np.float32)


def _scaled(a: Any, b: Any, bound: Bound) -> Fit:
    import numpy as np

    a, b = blurred(a), blurred(b)
    whole = _none(len(a))
    for scale in SCALES:
        hopeful = (whole.best >= bound.hopeful) | (scale == SCALES[0])
        rows = np.flatnonzero(~whole.same & (whole.best < bound.alike) & hopeful)
        if len(rows):
            found = _fitted(a[rows], b[rows], scale, bound)
            whole.same[rows] = found.same
            better = found.best > whole.best[rows]
            for kept, new in zip(whole[1:], found[1:], strict=True):
                kept[rows[better]] = new[better]
    return whole


def _none(n: int) -> Fit:
    import numpy as np

    pixels = (n, SIDE * SIDE)
    laid, inside = np.zeros(pixels, np.float32), np.zeros(pixels, bool)
    return Fit(np.zeros(n, bool), np.full(n, -1, np.float32), laid, inside, np.zeros((n, 6), np.float32))


def _worst(left: Any, off: Any, inside: Any) -> Any:
    """The squares of ``left`` over the variance of ``off`` in the third-worst window, since a border spoils two."""
    import numpy as np

    side = SIDE // WINDOWS
    shape = (len(left), WINDOWS, side, WINDOWS, side)
    squares, counts = ((x * inside).reshape(shape).sum((2, 4)) for x in (left * left, np.ones_like(left)))
    variance = (off * off).sum(1) / np.maximum(1, inside.sum(1))
    windows = (squares / (counts + side)).reshape(len(left), WINDOWS * WINDOWS) / np.maximum(variance, 1e-6)[:, None]
    return np.sort(windows, 1)[:, -3]


def _centred(values: Any, inside: Any, count: Any) -> Any:
    """Minus their mean over the pixels inside, and 0 outside."""
    return (values - (values * inside).sum(1, keepdims=True) / count) * inside


def blurred(a: Any) -> Any:
    """Images, [n, h, w], each pixel averaged with its neighbours by 1, 2, 1 in both directions."""
    import numpy as np

    p = np.pad(a, ((0, 0), (1, 1), (1, 1)), "edge")
    p = (p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]) / 4
    return (p[:, :, :-2] + 2 * p[:, :, 1:-1] + p[:, :, 2:]) / 4


def _fitted(a: Any, b: Any, scale: float, bound: Bound) -> Fit:
    """How the pairs agree from this scale on; a warp beyond what a copy may have does not count.

    A pair that agrees is settled and takes no further step, nor does one that is not hopeful.
    """
    import numpy as np

    n = len(a)
    down, across = np.gradient(b, axis=(1, 2))
    target = a.reshape(n, -1)
    found = _none(n)
    same, best = found.same, found.best
    rows = np.arange(n)
    p = np.zeros((n, 6), np.float32)
    p[:, 0] = p[:, 4] = scale
    for step in range(STEPS + 1):
        u, v, inside = _moved(p)
        count = inside.sum(1, keepdims=True) + 1e-6
        sampler = _sampler(u, v)
        warped = sampler(b)
        off_a, off_b = _centred(target, inside, count), _centred(warped, inside, count)
        power, shared = (off_b * off_b).sum(1), (off_a * off_b).sum(1)
        whole = shared / np.sqrt((off_a * off_a).sum(1) * power + 1e-6)
        scales = np.abs(np.log(np.maximum(p[:, [0, 4]], 1e-3))).max(1)
        fits = (
            (count[:, 0] > OVERLAP * SIDE * SIDE) & (scales < np.log(STRETCH)) & (np.abs(p[:, [1, 3]]).max(1) < SHEAR)
        )
        better = fits & (whole > best[rows])
        at = rows[better]
        best[at], found.laid[at], found.inside[at], found.warp[at] = (
            part[better] for part in (whole, warped, inside, p)
        )
        gain = np.clip(shared / (power + 1e-3), *GAINS)[:, None]
        wrong = off_a - gain * off_b
        agreed = fits & (whole >= bound.alike)
        agreed[agreed] = _worst(wrong[agreed], off_a[agreed], inside[agreed]) <= bound.left
        same[rows[agreed]] = True
        on = ~agreed & ((step < EARLY) | (best[rows] >= bound.hopeful))
        if step == STEPS or not on.any():
            break
        if not on.all():
            rows, p, b, target, across, down = (part[on] for part in (rows, p, b, target, across, down))
            inside, count, gain, wrong = (part[on] for part in (inside, count, gain, wrong))
            sampler = _sampler(u[on], v[on])
        p = p + _step(sampler(across), sampler(down), gain * inside, inside / count, wrong)
    return found


def _step(across: Any, down: Any, weights: Any, shares: Any, wrong: Any) -> Any:
    """The Gauss-Newton step of the warps, [n, 6].

    Args:
        across, down: how steep the second images are where they lie on the first, [n, pixels].
        weights: by how much a step shows at each pixel; ``shares``: what each has in the mean.
        wrong: what remains of the first images.
    """
    import numpy as np

    y, x = _grid()
    weights = (SIDE - 1) / 2 * weights
    across, down = across * weights, down * weights
    slopes = np.stack([across * x, across * y, across, down * x, down * y, down], 1)
    slopes -= slopes.sum(2, keepdims=True) * shares[:, None]
    normal = slopes @ slopes.transpose(0, 2, 1) + DAMPING * np.eye(6, dtype=np.float32)
    return np.linalg.solve(normal, slopes @ wrong[:, :, None])[:, :, 0]


def settled(ones: Any, others: Any, warps: Any) -> tuple[Any, Any, Any]:
    """Aligns pairs further by what lies within both images, ``RIM`` pixels from their edges: a copy that was turned or bordered has
    something else there.

    Args:
        ones, others: the images of the pairs, [n, 32, 32].
        warps: how the second ones were moved so far, as of ``Fit``.

    Returns:
        The first images, blurred, [n, pixels], what remains of them without the second ones, and where that is known.
    """
    import numpy as np

    a, b = blurred(ones.astype(np.float32)), blurred(others.astype(np.float32))
    down, across = np.gradient(b, axis=(1, 2))
    target, p = a.reshape(len(a), -1), warps
    least = np.full(len(a), np.inf, np.float32)
    left, within = np.zeros_like(target), np.zeros(target.shape, bool)
    for step in range(FURTHER + 1):
        u, v, _ = _moved(p)
        inside = _from_rim(u) & _from_rim(v) & _core()
        sampler = _sampler(u, v)
        moved = sampler(b)
        told = _unclipped(target, moved, inside)
        count = told.sum(1, keepdims=True) + 1e-6
        off_a, off_b = (x - (x * told).sum(1, keepdims=True) / count for x in (target, moved))
        gain = np.clip((off_a * off_b * told).sum(1) / ((off_b * off_b * told).sum(1) + 1e-3), *GAINS)[:, None]
        wrong = (off_a - gain * off_b) * inside
        wrong[((target >= WHITE) & (wrong < 0)) | ((moved >= WHITE) & (wrong > 0))] = 0  # it was brighter than white
        unexplained = (wrong * wrong).sum(1) / ((off_a * off_a * inside).sum(1) + 1e-6)
        better = (unexplained < least) & (inside.sum(1) > SIDE * SIDE / 2)
        least[better], left[better], within[better] = unexplained[better], wrong[better], inside[better]
        if step < FURTHER:
            p = p + _step(sampler(across), sampler(down), gain * told, told / count, wrong * told)
    return target, left, within


def _unclipped(one: Any, other: Any, inside: Any) -> Any:
    """The pixels inside that are white in neither image, [n, pixels], unless these are few: white may have been brighter."""
    import numpy as np

    told = inside & (one < WHITE) & (other < WHITE)
    return np.where(4 * told.sum(1, keepdims=True) >= inside.sum(1, keepdims=True), told, inside)


def _from_rim(at: Any) -> Any:
    """Whether positions along a side lie so far from both of its ends."""
    return (at >= RIM) & (at <= SIDE - 1 - RIM)


def _core() -> Any:
    """The pixels of an image that do, bool [pixels]."""
    import numpy as np

    along = _from_rim(np.arange(SIDE))
    return (along[:, None] & along).ravel()


@cache
def _grid() -> tuple[Any, Any]:
    """Where pixels are, from -1 to 1: down and across."""
    import numpy as np

    at = np.linspace(-1, 1, SIDE, dtype=np.float32)
    y, x = np.meshgrid(at, at, indexing="ij")
    return y.ravel(), x.ravel()


def _moved(p: Any) -> tuple[Any, Any, Any]:
    """Where pixels come to lie: across and down, and whether that is inside; [n, pixels]."""
    y, x = _grid()
    middle = (SIDE - 1) / 2
    u = middle + middle * (p[:, 0:1] * x + p[:, 1:2] * y + p[:, 2:3])
    v = middle + middle * (p[:, 3:4] * x + p[:, 4:5] * y + p[:, 5:6])
    return u, v, (u >= 0) & (u <= SIDE - 1) & (v >= 0) & (v <= SIDE - 1)


def unmoved(n: int) -> Any:
    """The warps, as of ``Fit``, of images that lie where they are, [n, 6]."""
    import numpy as np

    return np.tile(np.array([1, 0, 0, 0, 1, 0], np.float32), (n, 1))


def relaid(pictures: Any, warp: Any) -> tuple[Any, Any]:
    """Further planes of images, [n, 32, 32], as these lie on others: moved as ``warp`` of a ``Fit`` says; and where they do, [n, pixels]."""
    u, v, inside = _moved(warp)
    return _sampler(u, v)(pictures), inside


def _sampler(u: Any, v: Any) -> Any:
    """Samples images, [n, 32, 32], at these positions by bilinear interpolation, [n, 1024]."""
    import numpy as np

    left, top = (np.clip(np.floor(w), 0, SIDE - 2) for w in (u, v))
    right_share, low_share = np.clip(u - left, 0, 1), np.clip(v - top, 0, 1)
    at = (top * SIDE + left).astype(np.intp)
    at += np.arange(0, at.size, at.shape[1])[:, None]  # among the pixels of all images

    def read(pictures: Any) -> Any:
        flat = pictures.ravel()
        one, two, three, four = (flat[k:].take(at) for k in (0, 1, SIDE, SIDE + 1))
        upper, lower = one + (two - one) * right_share, three + (four - three) * right_share
        return upper + (lower - upper) * low_share

    return read
