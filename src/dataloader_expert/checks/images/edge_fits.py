"""How well masks and boxes fit images: their seams lie on edges of the image, on small copies of both.

How far that is beyond chance is told by the same seams moved over the same image: fits are in standard deviations over all moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ONE_SCENE = 0.7
"""The correlation with the image before from which both show one scene, as the frames of a clip, and count once."""
NEAR = 3
"""Pixels of a small copy by which a mask must be moved to lie elsewhere."""
Flips = tuple[int, ...]


def evened(small: Any) -> Any:
    """Gray pictures, [n, side, side], each from its darkest to its brightest, uint8; whatever their scale, and black where they have no
    number."""
    import numpy as np

    known = np.nan_to_num(small.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = (
        (known.reshape(len(known), -1).min(1), known.reshape(len(known), -1).max(1)) if len(known) else (known, known)
    )
    spread = np.maximum(high - low, 1e-9)
    return ((known - low.reshape(-1, 1, 1)) / spread.reshape(-1, 1, 1) * 255).astype(np.uint8)


def fits(gray: Any, masks: Any, index: Any, ways: Sequence[tuple[Flips, int]]) -> Any:
    """How well masks fit as they are, in each other way, and how well the masks of the samples beside fit their own images.

    Args:
        gray: float64 [n, side, side].
        masks: codes, int [n, side, side].
        index: of the samples, in order.
        ways: the axes along which masks are turned; else of how many samples later the image is that a mask is laid over.

    Returns:
        float64 [2, n, 1 + ways]: the fits; and beside the first how alike the image is to the one before (correlation), beside the fit
        on the image of another sample that of this sample's own mask, else -inf. NaN where the other sample is none of these.
    """
    import numpy as np

    seen, laid = _seen(gray), _laid(masks)
    made = np.full((2, len(masks), 1 + len(ways)), np.nan)
    made[1, :, :] = -np.inf
    plain = gray.reshape(len(gray), -1) - gray.mean((1, 2))[:, None]
    plain /= np.maximum(np.linalg.norm(plain, axis=1, keepdims=True), 1e-9)
    made[1, 1:, 0] = (plain[1:] * plain[:-1]).sum(1)
    moved = _moved(seen, laid)
    centre, spread = _elsewhere(moved)
    made[0, :, 0] = own = (moved[:, 0, 0] - centre) / spread
    for k, (flips, by) in enumerate(ways, 1):
        if by:
            ahead = slice(1, None), slice(None, -1)
            of, mine = ahead if by > 0 else ahead[::-1]
            beside = index[of] == index[mine] + by
            there = _moved([x[of] for x in seen], [x[mine] for x in laid])
            middle, width = _elsewhere(there)
            made[0, mine, k] = np.where(beside, (there[:, 0, 0] - middle) / width, np.nan)
            made[1, mine, k] = own[of]
        else:
            there = _moved(seen, _laid(np.flip(masks, flips)))
            middle, width = _elsewhere(there)
            made[0, :, k] = (there[:, 0, 0] - middle) / width
    return made


def crossed(gray: Any, masks: Any) -> Any:
    """How well each mask fits each image, float64 [masks, images]; arguments as of ``moves``, of several numbers of each."""
    import numpy as np

    seen, laid = _seen(gray), _laid(masks)
    made = np.empty((len(masks), len(gray)))
    for i in range(len(masks)):
        moved = _moved(seen, [np.broadcast_to(x[i], seen[0].shape) for x in laid])
        centre, spread = _elsewhere(moved)
        made[i] = (moved[:, 0, 0] - centre) / spread
    return made


def moves(gray: Any, masks: Any, most: int) -> Any:
    """How well masks fit when they are moved, by more than a little and by at most so many pixels of the small copies.

    Args:
        gray: float64 [n, side, side].
        masks: codes, int [n, side, side].

    Returns:
        float64 [n, 3]: the best fit, and the rows (downwards) and columns (to the right) by which the mask is moved there.
    """
    import numpy as np

    moved = _moved(_seen(gray), _laid(masks))
    centre, spread = _elsewhere(moved)
    steps = np.arange(-most, most + 1)
    near = moved[:, steps[:, None], steps]
    near[:, np.maximum(np.abs(steps)[:, None], np.abs(steps)) < NEAR] = -np.inf
    best = near.reshape(len(near), -1).argmax(1)
    rows, columns = np.divmod(best, len(steps))
    fit = (near.reshape(len(near), -1)[np.arange(len(near)), best] - centre) / spread
    return np.stack([fit, steps[rows], steps[columns]], 1)


def nudges(gray: Any, masks: Any) -> Any:
    """By how many rows (downwards) and columns (to the right), at most ``NEAR`` pixels of the small copies, each mask fits best, int64 [n, 2];
    arguments as of ``moves``."""
    import numpy as np

    steps = np.arange(-NEAR, NEAR + 1)
    near = _moved(_seen(gray), _laid(masks))[:, steps[:, None], steps]
    rows, columns = np.divmod(near.reshape(len(near), -1).argmax(1), len(steps))
    return np.stack([steps[rows], steps[columns]], 1)


def _seen(gray: Any) -> list[Any]:
    """The edges of images, as Fourier transforms."""
    import numpy as np

    return [np.fft.rfft2(np.sqrt(np.abs(d))) for d in _steps(gray)]


def _laid(masks: Any) -> list[Any]:
    """The seams of masks, as Fourier transforms."""
    import numpy as np

    return [np.fft.rfft2((d != 0).astype(np.float64)) for d in _steps(masks)]


def _steps(images: Any) -> tuple[Any, Any]:
    """Each pixel's difference from the one below and from the one to its right; 0 at the border."""
    import numpy as np

    return tuple(np.diff(images, axis=axis, append=np.take(images, [-1], axis)) for axis in (1, 2))


def _moved(edges: list[Any], seams: list[Any]) -> Any:
    """How much of the edges lies under the seams when these are moved by each number of rows and columns, around the border; given as
    Fourier transforms, [n, side, side]."""
    import numpy as np

    side = edges[0].shape[1]
    return np.fft.irfft2(sum(e * np.conj(s) for e, s in zip(edges, seams, strict=True)), (side, side))


def _elsewhere(moved: Any) -> tuple[Any, Any]:
    """The mean and the standard deviation over all moves that are no small ones."""
    import numpy as np

    steps = np.minimum(np.arange(moved.shape[1]), moved.shape[1] - np.arange(moved.shape[1]))
    far = moved[:, np.maximum(steps[:, None], steps) > NEAR]
    return far.mean(1), np.maximum(far.std(1), 1e-9)
