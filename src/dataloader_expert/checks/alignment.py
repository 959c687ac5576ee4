"""Whether two small grey images show the same once one is slightly shifted, scaled and rotated.

Method: an affine warp with a gain, fitted by Gauss-Newton steps (Lucas and Kanade, "An iterative image registration
technique with an application to stereo vision", 1981), from three scales. What counts is the correlation afterwards, and
the unexplained variance where the two agree least: two shirts on the same floor correlate, but differ on the shirts.
"""

from __future__ import annotations

from typing import Any

SIDE = 32
STEPS = 8
SCALES = (1.0, 0.9, 1.1)
ENOUGH = 0.95
"""The correlation above which no other scale is tried."""
HOPEFUL = 0.7
"""The correlation at the first scale below which no other scale is tried."""
OVERLAP = 0.7
"""The least share of an image that must lie within the other."""
STRETCH, SHEAR = 1.28, 0.12
"""The most that a copy may be scaled, and rotated or sheared (0.12: seven degrees)."""
DAMPING, GAINS = 10.0, (0.3, 3.0)
WINDOWS = 4
AT_ONCE = 128


def aligned(ones: Any, others: Any) -> Any:
    """The correlation of each pair in the best alignment, and the share of the variance that remains unexplained in the
    third-worst of ``WINDOWS`` x ``WINDOWS`` windows; float32 [n, 2].

    Args:
        ones, others: the images of the pairs, [n, 32, 32].
    """
    import numpy as np

    parts = [
        _scaled(ones[i : i + AT_ONCE].astype(np.float32), others[i : i + AT_ONCE].astype(np.float32))
        for i in range(0, len(ones), AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, 2), np.float32)


def _scaled(a: Any, b: Any) -> Any:
    import numpy as np

    found = np.tile(np.array([-1.0, np.inf], np.float32), (len(a), 1))
    for scale in SCALES:
        whole = found[:, 0]
        rows = np.flatnonzero((whole < ENOUGH) & ((whole >= HOPEFUL) | (scale == SCALES[0])))
        if len(rows):
            new = _fitted(a[rows], b[rows], scale)
            better = new[:, 0] > whole[rows]
            found[rows[better]] = new[better]
    return found


def _worst(left: Any, off: Any, inside: Any) -> Any:
    """The squares of ``left`` over the variance of ``off`` in the third-worst window, since a border spoils two."""
    import numpy as np

    side = SIDE // WINDOWS
    shape = (-1, WINDOWS, side, WINDOWS, side)
    squares, counts = ((x * inside).reshape(shape).sum((2, 4)) for x in (left * left, np.ones_like(left)))
    variance = (off * off).sum(1) / np.maximum(1, inside.sum(1))
    windows = (squares / (counts + side)).reshape(len(left), -1) / np.maximum(variance, 1e-6)[:, None]
    return np.sort(windows, 1)[:, -3]


def _centred(values: Any, inside: Any, count: Any) -> Any:
    """Minus their mean over the pixels inside, and 0 outside."""
    return (values - (values * inside).sum(1, keepdims=True) / count) * inside


def _blurred(a: Any) -> Any:
    import numpy as np

    p = np.pad(a, ((0, 0), (1, 1), (1, 1)), "edge")
    p = (p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]) / 4
    return (p[:, :, :-2] + 2 * p[:, :, 1:-1] + p[:, :, 2:]) / 4


def _fitted(a: Any, b: Any, scale: float) -> Any:
    """The best correlation over the steps, and what is unexplained there; -1 and infinity if the warp goes beyond what a copy
    may have."""
    import numpy as np

    n, middle = len(a), (SIDE - 1) / 2
    y, x = (g.ravel() for g in np.meshgrid(*[(np.arange(SIDE, dtype=np.float32) - middle) / middle] * 2, indexing="ij"))
    a, b = _blurred(a), _blurred(b)
    down, across = np.gradient(b, axis=(1, 2))
    target, best = a.reshape(n, -1), np.tile(np.array([-1.0, np.inf], np.float32), (n, 1))
    p = np.zeros((n, 6), np.float32)
    p[:, 0] = p[:, 4] = scale
    for step in range(STEPS + 1):
        u = middle + middle * (p[:, 0:1] * x + p[:, 1:2] * y + p[:, 2:3])
        v = middle + middle * (p[:, 3:4] * x + p[:, 4:5] * y + p[:, 5:6])
        inside = (u >= 0) & (u <= SIDE - 1) & (v >= 0) & (v <= SIDE - 1)
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
        better = np.flatnonzero(fits & (whole > best[:, 0]))
        if len(better):
            left = off_a[better] - np.clip(shared / (power + 1e-3), *GAINS)[better, None] * off_b[better]
            best[better] = np.stack([whole[better], _worst(left, off_a[better], inside[better])], 1)
        if step == STEPS:
            return best
        gain = np.clip(shared / (power + 1e-3), *GAINS)[:, None]
        dx, dy = sampler(across), sampler(down)
        slopes = np.stack([dx * x, dx * y, dx, dy * x, dy * y, dy], 2) * (middle * gain * inside)[:, :, None]
        slopes = slopes - slopes.sum(1, keepdims=True) / count[:, :, None] * inside[:, :, None]
        normal = np.einsum("nki,nkj->nij", slopes, slopes) + DAMPING * np.eye(6, dtype=np.float32)
        p = p + np.linalg.solve(normal, np.einsum("nki,nk->ni", slopes, off_a - gain * off_b)[:, :, None])[:, :, 0]
    return best


def _sampler(u: Any, v: Any) -> Any:
    """Samples images, [n, 32, 32], at these positions by bilinear interpolation, [n, 1024]."""
    import numpy as np

    left, top = (np.clip(np.floor(w), 0, SIDE - 2).astype(np.int32) for w in (u, v))
    right_share, low_share = np.clip(u - left, 0, 1), np.clip(v - top, 0, 1)
    at = top * SIDE + left

    def read(pictures: Any) -> Any:
        flat = pictures.reshape(len(pictures), -1)
        one, two, three, four = (np.take_along_axis(flat, at + k, 1) for k in (0, 1, SIDE, SIDE + 1))
        upper, lower = one + (two - one) * right_share, three + (four - three) * right_share
        return upper + (lower - upper) * low_share

    return read
