"""Images in few numbers: perceptual hashes, small copies, tints."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataloader_expert.checks.common.sharpness import sharpness
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.pictures import as_grey, pixels_of, samples_of, spread

LUMA = (0.299, 0.587, 0.114)
WINDOW = 96
"""Side of the central square that is looked at in full, in pixels."""
HASHED_FROM = 24
"""Pixels on the shorter side from which a perceptual hash says anything."""
MARGIN_DEPTH = 4
"""Steps of brightness within which a margin is even: what JPEG leaves of one."""
COLOURED = 1.0
"""The least steps by which the pixels of a picture in colour differ from gray, on average."""
TINTED = 16
"""Pictures whose pixels stay in the cache together."""
_MATRICES: dict[int, Any] = {}


def thumb(value: Any, size: int = 32) -> Any:
    """A gray picture of ``size`` x ``size``, uint8 of a Pillow image, float32 of an array [h, w], [h, w, c] or [c, h, w]."""
    import numpy as np

    if hasattr(value, "getbands"):
        from PIL import Image

        grey = as_grey(value)
        factor = min(grey.size) // (2 * size)
        small = grey.reduce(factor) if factor > 1 else grey
        return pixels_of(small.resize((size, size), Image.Resampling.BOX))
    array = np.asarray(value, np.float32)
    if array.ndim == 3:
        array = array if array.shape[2] in (1, 3, 4) else array.transpose(1, 2, 0)
        array = np.rint(array[..., :3] @ LUMA) if array.shape[2] >= 3 else array[..., 0]
    rows = np.linspace(0, array.shape[0], size + 1).astype(int)
    columns = np.linspace(0, array.shape[1], size + 1).astype(int)
    rows[1:], columns[1:] = np.maximum(rows[1:], 1), np.maximum(columns[1:], 1)
    sums = np.add.reduceat(
        np.add.reduceat(array, np.minimum(rows[:-1], array.shape[0] - 1), 0),
        np.minimum(columns[:-1], array.shape[1] - 1),
        1,
    )
    count = np.maximum(np.diff(rows), 1)[:, None] * np.maximum(np.diff(columns), 1)[None]
    return sums / count


WAYS = 5
"""A picture as it is, mirrored, and turned by one to three quarters."""


def laid(pictures: Any, way: int) -> Any:
    """Pictures, [n, side, side], in one of ``WAYS``."""
    import numpy as np

    return pictures if way == 0 else pictures[:, :, ::-1] if way == 1 else np.rot90(pictures, way - 1, (1, 2))


def picture_hashes(grey: Any) -> Any:
    """64 signs of the low 8 x 8 DCT coefficients of grey pictures, in each of ``WAYS``.

    Args:
        grey: [n, side, side] with a side of 8 or more.

    Returns:
        uint64 [n, WAYS]; zeros for a flat picture.
    """
    import numpy as np

    low = _dct(grey.shape[1]) @ grey.astype(np.float32) @ _dct(grey.shape[2]).T
    odd = np.array([1, -1] * 4, np.float32)  # what mirroring a side does to its waves
    turned = low.transpose(0, 2, 1)
    every = (low, low * odd, turned * odd[:, None], low * odd * odd[:, None], turned * odd)
    all_ways = np.stack(every, 1).reshape(len(grey), WAYS, 64)
    bits = all_ways > np.median(all_ways[:, :, 1:], 2, keepdims=True)
    made = np.packbits(bits, axis=2).view(">u8")[..., 0].astype(np.uint64)
    flat = grey.reshape(len(grey), -1).std(1) < 4
    return np.where(flat[:, None], np.uint64(0), np.maximum(made, np.uint64(1)))


def low_frequencies(grey: Any) -> Any:
    """The low 8 x 8 DCT coefficients of grey pictures, [n, side, side], but for the mean, in parts of the largest; int8 [n, 63]."""
    import numpy as np

    low = (_dct(grey.shape[1]) @ grey.astype(np.float32) @ _dct(grey.shape[2]).T).reshape(len(grey), 64)[:, 1:]
    return np.rint(low * (127 / (np.abs(low).max(1, keepdims=True) + 1e-6))).astype(np.int8)


def insides(small: Any) -> tuple[Any, Any]:
    """32 x 32 gray pictures, [n, 32, 32], without their margins, uint8; and where these were cut: first row and column, and those
    behind the last, uint8 [n, 4].

    A margin is the rows and columns at a picture's edges that are all of its corner's brightness. A broad one that pictures
    share makes up most of their hashes, whatever stands inside.
    """
    import numpy as np

    inner = np.abs(small - small[:, :1, :1]) > MARGIN_DEPTH
    bare = inner[:, 0].any(1) & inner[:, -1].any(1) & inner[:, :, 0].any(1) & inner[:, :, -1].any(1)
    found, frames = small.copy(), np.full((len(small), 4), (0, 0, *small.shape[1:]), np.uint8)
    for i in np.flatnonzero(~bare & inner.any((1, 2))).tolist():
        down, across = _cut(inner[i])
        found[i] = stretched(small[i][down, across])
        frames[i] = down.start, across.start, down.stop, across.stop
    return np.clip(np.nan_to_num(np.rint(found)), 0, 255).astype(np.uint8), frames


def _cut(inner: Any, least: int = 8) -> tuple[slice, slice]:
    """The rows and the columns of a picture that hold what is ``inner``, bool [h, w], at least ``least`` of each."""
    import numpy as np

    spans = []
    for axis in (1, 0):
        at = np.flatnonzero(inner.any(axis))
        size = max(least, int(at[-1] - at[0]) + 1)
        start = min(int(at[0]), inner.shape[1 - axis] - size)
        spans.append(slice(start, start + size))
    return spans[0], spans[1]


def stretched(gray: Any, size: int = 32) -> Any:
    """The picture at ``size`` x ``size``, by linear interpolation."""
    import numpy as np

    if gray.shape == (size, size):
        return gray
    for axis in (0, 1):
        n = gray.shape[axis]
        at = np.clip((np.arange(size) + 0.5) * n / size - 0.5, 0, n - 1)
        low = np.minimum(at.astype(int), n - 2) if n > 1 else np.zeros(size, int)
        share = (at - low).astype(np.float32)
        share = share[:, None] if axis == 0 else share[None]
        gray = np.take(gray, low, axis) * (1 - share) + np.take(gray, np.minimum(low + 1, n - 1), axis) * share
    return gray


def _is_picture(value: Any) -> bool:
    """Whether an array may be a picture: two or three axes, none of them empty."""
    return hasattr(value, "ndim") and value.ndim in (2, 3) and bool(value.size) and value.dtype.kind in "biuf"


class Looks(NamedTuple):
    """How a field's images look in gray: small, float32 [samples, 32, 32]; which samples have one, bool; and of Pillow's images,
    the central square or what there is of it, uint8 [h, w] (None of others). ``some``: pixels of those in colour, evenly spread, uint8
    [samples, 32, 32, 3]; ``coloured``: which these are, bool. ``tints``: how much redder and bluer than gray they are, float32 [samples,
    2]; NaN where that is unknown, or the image is gray. ``colours``: the same by place, int8 [samples, 2, 16, 16]; 0 where it is unknown."""

    small: Any
    there: Any
    middles: list[Any]
    some: Any
    coloured: Any
    tints: Any
    colours: Any


def looks(block: Block, name: str) -> Looks:
    """Made once a block."""
    import numpy as np

    keys = [f"{part} of {name}" for part in Looks._fields]
    if keys[0] not in block.views:
        values = block.columns[name].values
        small, there = np.zeros((len(values), 32, 32), np.float32), np.zeros(len(values), bool)
        middles: list[Any] = [None] * len(values)
        some, coloured = np.zeros((len(values), 32, 32, 3), np.uint8), np.zeros(len(values), bool)
        tints = np.full((len(values), 2), np.nan, np.float32)
        colours = np.zeros((len(values), 2, 16, 16), np.int8)
        for i, value in enumerate(values):
            gray = value
            if hasattr(value, "getbands"):
                gray = as_grey(value)
                middles[i] = _middle(pixels_of(gray))
            elif not _is_picture(value):
                continue
            small[i], there[i] = thumb(gray), True
            pixels = sampled(value)
            if pixels is not None:
                some[i], coloured[i] = pixels, True
        at = np.flatnonzero(coloured)
        for rows in (at[k : k + TINTED] for k in range(0, len(at), TINTED)):
            tints[rows], colours[rows] = tints_of(some[rows], small[rows]), colours_of(some[rows])
        block.views.update(zip(keys, (small, there, middles, some, coloured, tints, colours), strict=True))
    return Looks(*map(block.views.__getitem__, keys))


def visible(block: Block, name: str, rows: Any) -> Any:
    """Those of these rows whose images could be looked at."""
    return block.once(("visible", name), rows, lambda: rows[looks(block, name).there[rows]] if len(rows) else rows)


def small_of(block: Block, name: str, rows: Any) -> Any:
    """These of a field's images in gray and small, float16 [rows, 32 * 32]; one array for all checks that keep the same rows."""
    import numpy as np

    return block.once(
        ("small", name), rows, lambda: looks(block, name).small[rows].reshape(len(rows), -1).astype(np.float16)
    )


def sharpness_of(block: Block, name: str) -> list[float | None]:
    """How sharp the middle of each of a field's images is, as of ``sharpness``; None of those without; made once a block."""
    return block.once(("sharpness", name), None, lambda: sharpness(looks(block, name).middles))


def sampled(picture: Any) -> Any:
    """Some pixels of a picture in colour, evenly spread, uint8 [32, 32, 3]; None of others."""
    import numpy as np

    if hasattr(picture, "getbands"):
        return samples_of(picture, 32) if picture.mode == "RGB" else None
    coloured = (
        getattr(picture, "dtype", None) == np.uint8 and picture.ndim == 3 and 3 in (picture.shape[0], picture.shape[2])
    )
    if not coloured or not picture.size:
        return None
    pixels = picture if picture.shape[2] == 3 else picture.transpose(1, 2, 0)
    down, across = (spread(n, 32) for n in pixels.shape[:2])
    return pixels[down[:, None], across]


def tints_of(pixels: Any, gray: Any) -> Any:
    """How much redder and bluer than gray pictures are, on average, those with margins where they differ from these; NaN of one
    without colour; float32 [n, 2].

    Args:
        pixels: some of their pixels, uint8 [n, 32, 32, 3].
        gray: the pictures, float32 [n, 32, 32].
    """
    import numpy as np

    inside = np.abs(gray - gray[:, :1, :1]) > MARGIN_DEPTH
    edges = inside[:, 0], inside[:, -1], inside[:, :, 0], inside[:, :, -1]
    bare = np.logical_and.reduce([edge.any(1) for edge in edges])
    inside[bare | ~inside.any((1, 2))] = True
    bands = pixels.reshape(-1, 3).astype(np.float32)
    luma = bands @ np.array(LUMA, np.float32)
    weights = inside.reshape(len(gray), 1, -1).astype(np.float32)
    means, sizes = np.empty((len(gray), 2), np.float32), np.empty((len(gray), 2), np.float32)
    for k, channel in enumerate((0, 2)):
        own = (bands[:, channel] - luma).reshape(len(gray), -1, 1)
        means[:, k] = (weights @ own)[:, 0, 0]
        sizes[:, k] = (weights @ np.abs(own))[:, 0, 0]
    means /= weights.sum(2)
    sizes /= weights.sum(2)
    return np.where(sizes.mean(1, keepdims=True) >= COLOURED, means, np.nan)


def colours_of(pixels: Any) -> Any:
    """How much redder and bluer than gray pictures, uint8 [n, 32, 32, 3], are at each place; int8 [n, 2, 16, 16]."""
    import numpy as np

    pairs = pixels[:, ::2].astype(np.uint16) + pixels[:, 1::2]
    soft = (pairs[:, :, ::2] + pairs[:, :, 1::2]) * np.float32(1 / 4)
    off = soft[..., ::2] - (soft @ np.array(LUMA, np.float32))[..., None]
    return np.clip(np.rint(off), -127, 127).astype(np.int8).transpose(0, 3, 1, 2)


def _middle(pixels: Any) -> Any:
    """A copy of the central square, or of what there is of it."""
    top, left = (max(0, (n - WINDOW) // 2) for n in pixels.shape)
    return pixels[top : top + WINDOW, left : left + WINDOW].copy()


def _dct(n: int) -> Any:
    import numpy as np

    if n not in _MATRICES:
        k, i = np.arange(8)[:, None], np.arange(n)[None]
        _MATRICES[n] = np.cos(np.pi * k * (2 * i + 1) / (2 * n)).astype(np.float32)
    return _MATRICES[n]
