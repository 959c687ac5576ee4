"""Whether two small grey pictures show the same once one is shifted, scaled and turned a little.

Method: an affine warp with a gain, fitted by Gauss-Newton steps (Lucas and Kanade, "An iterative image registration
technique with an application to stereo vision", 1981), from three scales; what counts is the correlation after it.
"""

from __future__ import annotations

from typing import Any

SIDE = 32
STEPS = 8
SCALES = (1.0, 0.9, 1.1)
ENOUGH = 0.95
"""The correlation beyond which no other scale is tried."""
OVERLAP = 0.7
"""The least share of a picture that must lie within the other."""
STRETCH, SHEAR = 1.28, 0.12
"""The most that a copy may be scaled, and turned or sheared (0.12: seven degrees)."""
DAMPING = 10.0
AT_ONCE = 1024


def aligned(ones: Any, others: Any) -> Any:
    """The correlation of each pair, aligned as well as can be; ``ones``, ``others``: [n, 32, 32]; float32 [n]."""
    import numpy as np

    parts = [
        _scaled(ones[i : i + AT_ONCE].astype(np.float32), others[i : i + AT_ONCE].astype(np.float32))
        for i in range(0, len(ones), AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _scaled(a: Any, b: Any) -> Any:
    import numpy as np

    found = np.full(len(a), -1.0, np.float32)
    a, b = _blurred(a), _blurred(b)
    for scale in SCALES:
        open_ = np.flatnonzero(found < ENOUGH)
        if len(open_):
            found[open_] = np.maximum(found[open_], _fitted(a[open_], b[open_], scale))
    return found


def _blurred(a: Any) -> Any:
    import numpy as np

    p = np.pad(a, ((0, 0), (1, 1), (1, 1)), "edge")
    p = (p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]) / 4
    return (p[:, :, :-2] + 2 * p[:, :, 1:-1] + p[:, :, 2:]) / 4


def _fitted(a: Any, b: Any, scale: float) -> Any:
    """The best correlation that the steps meet; -1 where a warp goes beyond what a copy may be."""
    import numpy as np

    n, middle = len(a), (SIDE - 1) / 2
    y, x = (g.ravel() for g in np.meshgrid(*[(np.arange(SIDE, dtype=np.float32) - middle) / middle] * 2, indexing="ij"))
    down, across = np.gradient(b, axis=(1, 2))
    target, best = a.reshape(n, -1), np.full(n, -1.0, np.float32)
    p = np.zeros((n, 6), np.float32)
    p[:, 0] = p[:, 4] = scale
    for step in range(STEPS + 1):
        u = middle + middle * (p[:, 0:1] * x + p[:, 1:2] * y + p[:, 2:3])
        v = middle + middle * (p[:, 3:4] * x + p[:, 4:5] * y + p[:, 5:6])
        inside = (u >= 0) & (u <= SIDE - 1) & (v >= 0) & (v <= SIDE - 1)
        count = inside.sum(1, keepdims=True) + 1e-6
        sampler = _sampler(u, v)
        warped = sampler(b)
        off_a = (target - (target * inside).sum(1, keepdims=True) / count) * inside
        off_b = (warped - (warped * inside).sum(1, keepdims=True) / count) * inside
        power = (off_b * off_b).sum(1)
        shared = (off_a * off_b).sum(1)
        correlation = shared / np.sqrt((off_a * off_a).sum(1) * power + 1e-6)
        scales = np.abs(np.log(np.maximum(p[:, [0, 4]], 1e-3))).max(1)
        fits = (
            (count[:, 0] > OVERLAP * SIDE * SIDE) & (scales < np.log(STRETCH)) & (np.abs(p[:, [1, 3]]).max(1) < SHEAR)
        )
        best = np.where(fits, np.maximum(best, correlation), best)
        if step == STEPS:
            return best
        gain = np.clip(shared / (power + 1e-3), 0.3, 3.0)[:, None]
        dx, dy = sampler(across), sampler(down)
        slopes = np.stack([dx * x, dx * y, dx, dy * x, dy * y, dy], 2) * (middle * gain * inside)[:, :, None]
        slopes = slopes - slopes.sum(1, keepdims=True) / count[:, :, None] * inside[:, :, None]
        normal = np.einsum("nki,nkj->nij", slopes, slopes) + DAMPING * np.eye(6, dtype=np.float32)
        p = p + np.linalg.solve(normal, np.einsum("nki,nk->ni", slopes, off_a - gain * off_b)[:, :, None])[:, :, 0]
    return best


def _sampler(u: Any, v: Any) -> Any:
    """Reads pictures, [n, 32, 32], at these places of each by bilinear interpolation, [n, 1024]."""
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
