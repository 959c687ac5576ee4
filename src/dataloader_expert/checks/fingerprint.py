"""What a sample is, in few numbers: a digest of its content, a near-duplicate key, a vector for diversity."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dataloader_expert.checks.base import Context
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.pictures import as_grey, packed, pixels_of
from dataloader_expert.sources.roles import LISTED

try:
    import xxhash

    digest64: Callable[[bytes], int] = xxhash.xxh3_64_intdigest
    DIGEST = "xxh3-64"
except ImportError:  # the user's interpreter need not have it

    def digest64(data: bytes) -> int:
        return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")

    DIGEST = "blake2b-64"

RICH = ("image", "audio", "video", "text", "tokens", "sequence", "embedding", "array")
NAMES = {
    "id",
    "ids",
    "index",
    "idx",
    "key",
    "__key__",
    "path",
    "file",
    "filename",
    "file_name",
    "uuid",
    "uid",
    "sample_rate",
}
FILES = {"path", "file", "filename", "file_name"}
ROWS, FIRST_VALUES = 1 << 14, 8
WORDS = 64
LUMA = (0.299, 0.587, 0.114)
WINDOW = 96
"""Side of the central square that is looked at in full, in pixels."""
HASHED_FROM = 24
"""Pixels on the shorter side from which a perceptual hash says anything."""


def content_fields(context: Context) -> list[str]:
    """The fields that make a sample what it is: the image or recording that others describe; else rich ones and conversations if there
    are any and they do not repeat from row to row (a table's names and titles are none), else all but the label, the split and keys."""
    if context.media is not None and any(f.name == context.media for f in context.fields):
        return [context.media]
    talks = context.conversations
    shown = [f.name for f in context.fields if f.dtype in ("list", "bytes")] if talks else []  # with what is said
    rich = [
        f for f in context.fields if (f.kind in RICH or f.name in talks or f.name in shown) and f.name != context.aside
    ]
    if context.short_texts:
        rich = [f for f in rich if f.kind != "text"]
    repeated = context.roles.repeats and all(f.kind in LISTED for f in rich)
    return [f.name for f in rich] if rich and not repeated else plain_fields(context)


def plain_fields(context: Context) -> list[str]:
    """All fields but the label, the split and keys, if any is left. Of annotations, file names count too: many are alike."""
    roles = context.roles
    aside = {context.aside, roles.split.field if roles.split is not None else None}
    named = [f.name for f in context.fields if f.name not in aside]
    keys = {r.field for r in roles.keys}
    files = {
        n for n in named if roles.repeats and n.lower() in FILES
    }  # rows alike but for these describe different files
    kept = [n for n in named if n in files or (n not in keys and n.lower() not in NAMES)]
    return kept or named or [f.name for f in context.fields]


def digests(block: Block, names: Sequence[str], onto: Any = None) -> Any:
    """One 64-bit digest a sample of its content, shape [samples], uint64.

    ``onto``: the samples' digests of other fields, which these go on from.
    """
    import numpy as np

    n = block.samples
    total = np.full(n, 0x9E3779B97F4A7C15, np.uint64) if onto is None else onto[:n].copy()
    for name in names:
        column = block.columns.get(name)
        values: Any = None if column is None else column.values[:n]
        made = False
        if column is not None and not (
            isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf"
        ):
            if column.coded is not None:
                values = _coded(column.coded)[:n]
            else:
                values = _each(values if column.stacked is None else column.stacked[:n])
            made = True
        salt = np.uint64(digest64(name.encode()) & 0xFFFF)
        for at in range(0, n, ROWS):  # what is made of so many stays in the cache
            here = slice(at, min(at + ROWS, n))
            if column is None:
                part = np.zeros(here.stop - at, np.uint64)
            elif made:
                part = values[here]
            else:
                part = np.ascontiguousarray(values[here].astype(np.float64) + 0.0).view(np.uint64)
            if column is not None and column.nulls is not None:
                part = np.where(column.nulls[here], np.uint64(0x5BD1E995), part)
            mixed(np.bitwise_xor(total[here], part + salt, out=total[here]))
    return total


def blank(block: Block, names: Sequence[str], phrase: int = 0) -> Any:
    """Which samples are equal to others, but no copies: one value throughout, such as digital silence, blank texts, or texts of up to
    ``phrase`` characters; bool [n], None if none is. Made once a block."""
    import numpy as np

    columns = [block.columns[name].values for name in names if name in block.columns]
    if not columns or any(isinstance(values, np.ndarray) and values.ndim < 2 for values in columns):
        return None
    key = f"blank {list(names)} {phrase}"
    if key not in block.views:
        even = np.ones(len(columns[0]), bool)
        first: list[str | None] = []
        for values in columns:
            rows = np.flatnonzero(even)
            if isinstance(values, np.ndarray):
                even[rows] = constant(values[rows])
            elif phrase and values and isinstance(values[0], list):  # tokens, the first, and their tags
                first = first or [_joined(value) for value in values]
                even[rows] = [short(first[i], phrase) for i in rows.tolist()]
            else:
                even[rows] = [_even(values[i], phrase) for i in rows.tolist()]
        block.views[key] = even
    return block.views[key] if block.views[key].any() else None


def constant(values: Any, least: int = 2) -> Any:
    """Which arrays, [n, ...], hold a single value, at least so many times; bool [n]."""
    import numpy as np

    one = np.zeros(len(values), bool)
    size = math.prod(values.shape[1:])
    if size >= least and values.dtype.kind in "biufc":
        flat = values.reshape(len(values), size)
        # few begin with equal values, and only those are compared in full
        rows = np.flatnonzero((flat[:, :FIRST_VALUES] == flat[:, :1]).all(1))
        one[rows] = (flat[rows] == flat[rows, :1]).all(1)
    return one


def short(value: Any, phrase: int) -> bool:
    """Whether it is a text of no more than so many characters, if there are any."""
    return isinstance(value, str) and len(value.strip()) <= phrase > 0


def _joined(tokens: Any) -> str | None:
    """The tokens of a sentence as its text; None of what is none."""
    return " ".join(tokens) if isinstance(tokens, list) and all(isinstance(t, str) for t in tokens) else None


def _even(value: Any, phrase: int) -> bool:
    """Whether an array of several values holds a single one, or an image a single colour; or a text is so short, or blank; or there is none."""
    if value is None:
        return True
    if isinstance(value, str):
        return not value.strip() or short(value, phrase)
    if hasattr(value, "getbands"):
        first = value.getpixel((0, 0))
        if first != value.getpixel((value.width - 1, value.height - 1)):
            return False
        import numpy as np

        pixels = np.asarray(value)
        return bool((pixels == pixels[:1, :1]).all())
    if not hasattr(value, "reshape") or value.size < 2 or value.dtype.kind not in "biuf":
        return False
    flat = value.reshape(-1)
    return bool(flat[0] == flat[-1] and (flat == flat[0]).all())


def _coded(coded: tuple[Any, list[str | None]]) -> Any:
    import numpy as np

    codes, texts = coded
    return np.array([digest64(content(text)) for text in texts], np.uint64)[codes]


def _each(values: Any) -> Any:
    """A digest of each value, uint64 [n]; of texts that come often, each is made once."""
    import numpy as np

    if isinstance(values, np.ndarray) and values.ndim > 1:
        head, rows = _head(values[:1][0]) if len(values) else b"", np.ascontiguousarray(values)
        return np.array([digest64(head + row.tobytes()) for row in rows], np.uint64)
    if isinstance(values, list) and len(values) > 1000 and set(map(type, values[:1000])) <= {str, type(None)}:
        try:
            table = {v: digest64(content(v)) for v in set(values)}
        except TypeError:  # among others stands one that is no key
            table = {}
        if table:
            return np.fromiter(map(table.__getitem__, values), np.uint64, len(values))
    return np.array([digest(v) for v in values], np.uint64)


def digest(value: Any) -> int:
    """A value's content as 64 bits."""
    if not hasattr(value, "getbands") or value.mode != "RGB":
        return digest64(content(value))
    return digest64(f"{value.mode}{value.size}{digest64(packed(value))}".encode())


def mix(x: Any) -> Any:
    """splitmix64's finaliser of each value, uint64."""
    return mixed(x.copy())


def mixed(x: Any) -> Any:
    """``x``, uint64, with each value mixed in its place."""
    import numpy as np

    shifted = np.empty_like(x)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, None)):
        np.right_shift(x, np.uint64(shift), out=shifted)
        np.bitwise_xor(x, shifted, out=x)
        if factor is not None:
            np.multiply(x, np.uint64(factor), out=x)  # of whole arrays: wraps around without a warning
    return x


def content(value: Any) -> bytes:
    """A value's content as bytes, apart from how it was stored."""
    if value is None:
        return b"\0none"
    if hasattr(value, "getbands"):
        return f"{value.mode}{value.size}".encode() + bytes(value.tobytes())
    if hasattr(value, "tobytes"):
        import numpy as np

        return _head(value) + bytes(np.ascontiguousarray(value).tobytes())
    if isinstance(value, bytes):
        return value
    return str(value).encode("utf-8", "surrogatepass")


def _head(array: Any) -> bytes:
    """What tells arrays of equal bytes apart."""
    return f"{array.dtype}{array.shape}".encode()


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


def picture_hashes(grey: Any) -> Any:
    """64 signs of the low 8 x 8 DCT coefficients of grey pictures, and of their mirror images.

    Args:
        grey: [n, h, w] with h and w of 8 or more.

    Returns:
        uint64 [n, 2]; zeros for a flat picture.
    """
    import numpy as np

    low = _dct(grey.shape[1]) @ grey.astype(np.float32) @ _dct(grey.shape[2]).T
    both = np.stack([low, low * np.array([1, -1] * 4, np.float32)], 1).reshape(len(grey), 2, 64)
    bits = both > np.median(both[:, :, 1:], 2, keepdims=True)
    made = np.packbits(bits, axis=2).view(">u8")[..., 0].astype(np.uint64)
    flat = grey.reshape(len(grey), -1).std(1) < 4
    return np.where(flat[:, None], np.uint64(0), np.maximum(made, np.uint64(1)))


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


MARGIN_DEPTH = 4
"""Steps of brightness within which a margin is even: what JPEG leaves of one."""


def _is_picture(value: Any) -> bool:
    """Whether an array may be a picture: two or three axes, none of them empty."""
    return hasattr(value, "ndim") and value.ndim in (2, 3) and bool(value.size) and value.dtype.kind in "biuf"


class Looks(NamedTuple):
    """How a field's images look in gray: small, float32 [samples, 32, 32]; which samples have one, bool; and of Pillow's images,
    the central square or what there is of it, uint8 [h, w] (None of others). ``tints``: how much redder and bluer than gray they
    are, float32 [samples, 2]; NaN where that is unknown, or the image is gray."""

    small: Any
    there: Any
    middles: list[Any]
    tints: Any


def looks(block: Block, name: str) -> Looks:
    """Made once a block."""
    import numpy as np

    keys = [f"{part} of {name}" for part in Looks._fields]
    if keys[0] not in block.views:
        values = block.columns[name].values
        small, there = np.zeros((len(values), 32, 32), np.float32), np.zeros(len(values), bool)
        middles: list[Any] = [None] * len(values)
        tints = np.full((len(values), 2), np.nan, np.float32)
        coloured: dict[int, Any] = {}
        for i, value in enumerate(values):
            picture = value
            if hasattr(value, "getbands"):
                value = as_grey(value)
                middles[i] = _middle(pixels_of(value))
            elif not _is_picture(value):
                continue
            small[i], there[i] = thumb(value), True
            some = sampled(picture)
            if some is not None:
                coloured[i] = some
        for at in range(0, len(coloured), TINTED):
            rows = list(coloured)[at : at + TINTED]
            tints[rows] = tints_of(np.stack([coloured[i] for i in rows]), small[rows])
        block.views.update(zip(keys, (small, there, middles, tints), strict=True))
    return Looks(*map(block.views.__getitem__, keys))


def sampled(picture: Any) -> Any:
    """Some pixels of a picture in colour, evenly spread, float32 [32, 32, 3]; None of others."""
    import numpy as np

    if hasattr(picture, "getbands"):
        return np.asarray(picture.resize((32, 32), 0), np.float32) if picture.mode == "RGB" else None  # 0: the nearest
    if picture.dtype != np.uint8 or picture.ndim != 3 or 3 not in (picture.shape[0], picture.shape[2]):
        return None
    pixels = picture if picture.shape[2] == 3 else picture.transpose(1, 2, 0)
    down, across = ((np.arange(32) * 2 + 1) * n // 64 for n in pixels.shape[:2])
    return pixels[down[:, None], across].astype(np.float32)


COLOURED = 1.0
"""The least steps by which the pixels of a picture in colour differ from gray, on average."""
TINTED = 16
"""Pictures whose pixels stay in the cache together."""


def tints_of(pixels: Any, gray: Any) -> Any:
    """How much redder and bluer than gray pictures are, on average, those with margins where they differ from these; NaN of one
    without colour; float32 [n, 2].

    Args:
        pixels: some of their pixels, float32 [n, 32, 32, 3].
        gray: the pictures, float32 [n, 32, 32].
    """
    import numpy as np

    inside = np.abs(gray - gray[:, :1, :1]) > MARGIN_DEPTH
    edges = inside[:, 0], inside[:, -1], inside[:, :, 0], inside[:, :, -1]
    bare = np.logical_and.reduce([edge.any(1) for edge in edges])
    inside[bare | ~inside.any((1, 2))] = True
    luma = pixels.reshape(-1, 3) @ np.array(LUMA, np.float32)
    weights = inside.reshape(len(gray), 1, -1).astype(np.float32)
    means, sizes = np.empty((len(gray), 2), np.float32), np.empty((len(gray), 2), np.float32)
    for k, channel in enumerate((0, 2)):
        own = (pixels[..., channel].reshape(-1) - luma).reshape(len(gray), -1, 1)
        means[:, k] = (weights @ own)[:, 0, 0]
        sizes[:, k] = (weights @ np.abs(own))[:, 0, 0]
    means /= weights.sum(2)
    sizes /= weights.sum(2)
    return np.where(sizes.mean(1, keepdims=True) >= COLOURED, means, np.nan)


def _middle(pixels: Any) -> Any:
    """A copy of the central square, or of what there is of it."""
    top, left = (max(0, (n - WINDOW) // 2) for n in pixels.shape)
    return pixels[top : top + WINDOW, left : left + WINDOW].copy()


_MATRICES: dict[int, Any] = {}


def _dct(n: int) -> Any:
    import numpy as np

    if n not in _MATRICES:
        k, i = np.arange(8)[:, None], np.arange(n)[None]
        _MATRICES[n] = np.cos(np.pi * k * (2 * i + 1) / (2 * n)).astype(np.float32)
    return _MATRICES[n]


def vectors(block: Block, names: list[str], whole: bool = False) -> Any:
    """A short vector a sample for diversity, shape [samples, d], float64; NaN where a value is absent; made once a block.

    ``whole``: arrays of one shape give their own components instead of a summary.
    """
    key = f"vectors {whole} {' '.join(names)}"
    if key not in block.views:
        block.views[key] = _vectors(block, names, whole)
    return block.views[key]


def _vectors(block: Block, names: list[str], whole: bool) -> Any:
    import numpy as np

    n, parts = block.samples, []
    for name in names:
        column = block.columns.get(name)
        if column is None:
            continue
        values = column.values
        if whole and not isinstance(values, np.ndarray):
            values = _stacked(values)
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            if values.ndim == 1:
                part = values.astype(np.float64)[:, None]
            elif values.ndim >= 3 and values.dtype == np.uint8:
                part = pooled(looks(block, name))
            else:
                flat = values.reshape(len(values), -1)
                part = (flat if flat.shape[1] <= 256 else flat[:, :: -(-flat.shape[1] // 256)]).astype(np.float64)
        else:
            pictures = any(hasattr(v, "getbands") for v in values)
            if pictures:
                made = list(pooled(looks(block, name)))
            elif column.stacked is not None and _is_wide(column.stacked[:1]):
                made = list(_means_and_spreads(column.stacked))
            else:
                made = [_vector(v) for v in values]
            sizes = Counter(map(len, made)).most_common(1)
            size = sizes[0][0] if sizes else 1  # a value of another kind than its neighbours has another size
            made = [v if len(v) == size else np.full(size, np.nan) for v in made]
            part = np.stack(made) if made else np.zeros((0, 1))
        if column.nulls is not None:
            part = part.copy()
            part[column.nulls] = np.nan
        parts.append(part[:n])
    return np.concatenate(parts, 1) if parts else np.zeros((n, 0))


def _stacked(values: list[Any]) -> Any:
    """Arrays of the commonest shape in one; what has another shape, or is none, is NaN. The list itself without arrays."""
    import numpy as np

    shapes = Counter(v.shape for v in values if isinstance(v, np.ndarray) and v.dtype.kind in "biuf")
    if not shapes:
        return values
    common = shapes.most_common(1)[0][0]
    blank = np.full(common, np.nan)
    return np.stack(
        [v if isinstance(v, np.ndarray) and v.shape == common and v.dtype.kind in "biuf" else blank for v in values]
    )


def pooled(seen: Looks) -> Any:
    """64 numbers of each 32 x 32 picture, the means of 4 x 4 pixels; NaN where there is none."""
    import numpy as np

    means = seen.small.reshape(-1, 8, 4, 8, 4).mean((2, 4), dtype=np.float64).reshape(-1, 64)
    means[~seen.there] = np.nan
    return means


def _is_wide(values: Any) -> bool:
    """Whether arrays, [n, ...], are more than a sequence of one or two numbers at a time."""
    return (
        values.size and values.dtype.kind in "biuf" and (values.ndim > 3 or (values.ndim == 3 and values.shape[2] > 2))
    )


def _means_and_spreads(values: Any) -> Any:
    """Of the first 64 components on the last axis of arrays, [n, ..., components]."""
    import numpy as np

    flat = values.reshape(len(values), -1, values.shape[-1])[:, :, :64].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # an infinity makes these NaN, and NaN is left out
        return np.concatenate([flat.mean(1), flat.std(1)], 1)


def _vector(value: Any) -> Any:
    import numpy as np

    if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "biuf":
        if _is_wide(value[None]):
            return _means_and_spreads(value[None])[0]
        signal = value.reshape(len(value), -1).astype(np.float64).mean(1)
        edges = np.linspace(0, len(signal), 33).astype(int)
        power = np.add.reduceat(signal * signal, np.minimum(edges[:-1], len(signal) - 1))
        return np.log1p(power)
    if isinstance(value, str):
        words = value.casefold().encode("utf-8", "surrogatepass").split()[:100_000]
        hashed = np.fromiter(map(zlib.crc32, words), np.int64, len(words))
        return np.bincount(hashed % WORDS, minlength=WORDS).astype(np.float64)
    return np.zeros(1)


def digests_of(names: Sequence[str | None]) -> Any:
    """Digests of texts, such as names of splits, uint64 [n]."""
    import numpy as np

    return np.array([digest64(str(name).encode("utf-8", "surrogatepass")) for name in names], np.uint64)
