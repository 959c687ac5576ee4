"""Strict decoding of images: what a lenient reader would accept is an ``Unreadable``."""

from __future__ import annotations

import io
import re
import sys
import warnings
import zlib
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from dataloader_expert.errors import Unreadable
from dataloader_expert.sources.magic import IMAGE_TYPES, sniff

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "PPM")
"""Pillow's rarely used plugins have had memory-safety bugs: they are never tried."""
MAX_PIXELS = 178_956_970
MAX_DECODED = 1 << 30
_DAMAGE = re.compile("remature end|Huffman code|instead of RST|arithmetic code")
"""libjpeg's warnings that mean lost pixels; its others are about odd headers."""
_LEFT_OVER = re.compile("extraneous bytes before marker 0xd")
_JFIF = b"\xff\xd8\xff\xe0\x00\x10JFIF\0"
_PLAIN = frozenset(bytes([marker]) for marker in (0xC0, 0xC1, 0xC2, 0xC4, 0xDB, 0xDD, 0xFE))
"""The markers of frames, tables, restarts and comments."""
_SIZE_SUFFIX = re.compile(r"\.[A-Za-z0-9]+$")


def orientation(image: Image) -> int:
    """The EXIF orientation; 1, upright, if the tags cannot be read."""
    try:
        return int(image.getexif().get(274, 1))
    except Exception:  # tags are bytes from outside and may make Pillow raise anything
        return 1


def decode_image(data: bytes, name: str, problems: list[Unreadable] | None = None) -> Image:
    """The image, fully decoded.

    Args:
        problems: receives oddities that cost no pixels.

    Raises:
        Unreadable: ``empty-file``, ``not-the-format``, ``bomb``, ``truncated`` or ``unreadable``.
    """
    if not data:
        raise Unreadable("empty-file", "0 bytes", file=name)
    seen = sniff(data[:512])
    if seen == "image/jp2":
        raise Unreadable("unreadable", "JPEG 2000 is not decoded: its Pillow plugin is never used", file=name)
    if seen not in IMAGE_TYPES:
        what = f"contains {seen}" if seen else f"begins with {data[:16]!r}"
        raise Unreadable("not-the-format", f"is not an image: {what}", file=name)
    from PIL import Image, UnidentifiedImageError

    found: list[Unreadable] = [] if problems is None else problems
    try:
        image = _strict_jpeg(data, name, found) if seen == "image/jpeg" else None
        if image is None:
            image = _opened(data, name, load=True)
        elif not _is_plain(data):
            image.info = _opened(data, name).info  # tags that turn it, and whether Pillow opens it at all
    except Unreadable:
        raise
    except Image.DecompressionBombError:
        raise Unreadable("bomb", "header claims more than 178 million pixels", file=name) from None
    except MemoryError:
        raise Unreadable("bomb", "decoding needs more memory than is available", file=name) from None
    except Exception as e:  # Pillow raises OSError, SyntaxError, ValueError, struct.error… on hostile bytes
        text = "Pillow does not recognise it" if isinstance(e, UnidentifiedImageError) else str(e)
        cut = "truncated" in text or "broken data stream" in text or "Truncated" in text
        raise Unreadable("truncated" if cut else "unreadable", f"does not decode: {text[:160]}", file=name) from None
    end = _check_png(data, name) if seen == "image/png" else _jpeg_end(data) if seen == "image/jpeg" else len(data)
    hidden = sniff(data[end : end + 512])
    if hidden is not None and not hidden.startswith("image/"):  # cameras append a second image
        found.append(Unreadable("trailing-bytes", f"{len(data) - end} bytes after the image: {hidden}", file=name))
    return image


def _opened(data: bytes, name: str, load: bool = False) -> Image:
    """What Pillow makes of the bytes.

    Raises:
        Unreadable: ``bomb``.
    """
    from PIL import Image, ImageFile

    ImageFile.LOAD_TRUNCATED_IMAGES = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image: Image.Image = Image.open(io.BytesIO(data), formats=FORMATS)
        width, height = image.size
        if width * height > MAX_PIXELS or width * height * len(image.getbands()) > MAX_DECODED:
            raise Unreadable("bomb", f"header claims {width} x {height} pixels", file=name)
        if load:
            image.load()
    return image


GREY = frozenset({"1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "I;16N", "F"})
"""Modes with one channel."""


DEEP = ("uint16", "int32", "float32")
"""The dtypes of images whose pixels are not bytes."""


def is_deep(image: Image) -> bool:
    """Whether an image's pixels are not bytes, but numbers of more bits or floats: one channel."""
    return image.mode.startswith(("I", "F"))


def dtype_of(image: Image) -> str:
    """The dtype in which an image's pixels are stored."""
    return {"F": "float32", "I": "int32"}.get(image.mode, "uint16" if is_deep(image) else "uint8")


def in_colour(image: Image) -> bool:
    """Whether an image's channels differ."""
    import numpy as np

    if image.mode in GREY:
        return False
    bands = np.asarray(image.convert("RGB"))
    return bool((bands != bands[..., :1]).any())


def channels_of(image: Image) -> int:
    """Its channels; of one with a palette, those of its colours."""
    return (3 if in_colour(image) else 1) if image.mode == "P" else len(image.getbands())


def as_rgb(image: Image) -> Image:
    """The image in mode RGB, 0 to 255. Greys of more bits are scaled; colour spaces that Pillow cannot convert keep their first three bands."""
    if is_deep(image):
        return as_grey(image).convert("RGB")
    try:
        return image if image.mode == "RGB" else image.convert("RGB")
    except ValueError:
        from PIL import Image as images

        bands = image.split()
        return images.merge("RGB", (bands * 3)[:3])


def as_grey(image: Image) -> Image:
    """The image in mode L. Images of more bits are scaled by the depth that their values use: 10, 12, 14 or 16 bits."""
    if not is_deep(image):
        return image if image.mode == "L" else as_rgb(image).convert("L")
    import numpy as np
    from PIL import Image as images

    values = np.nan_to_num(np.asarray(image, np.float32), posinf=0, neginf=0)
    low, high = min(0.0, float(values.min())), float(values.max())
    top = next((float(2**bits - 1) for bits in (8, 10, 12, 14, 16) if high < 2**bits), high)
    if image.mode == "F":
        top = high
    scaled = (values - low) * (255 / max(top - low, 1e-30))
    return images.fromarray(scaled.clip(0, 255).astype(np.uint8))


def type_named(data: bytes, name: str) -> str | None:
    """What the bytes are, if the suffix says something else; None if they agree."""
    seen = sniff(data[:512])
    if seen not in IMAGE_TYPES:
        return None
    label, suffixes = IMAGE_TYPES[seen]
    suffix = _SIZE_SUFFIX.search(name)
    return None if suffix is None or suffix.group().lower() in suffixes else label


def _strict_jpeg(data: bytes, name: str, problems: list[Unreadable]) -> Image | None:
    """The image, decoded with libjpeg's warnings, which Pillow ignores, as errors; the pixels are the same.

    None where TurboJPEG cannot decode it (CMYK with subsampled planes), or Pillow must (Adobe inverts CMYK).
    """
    import simplejpeg

    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data, strict=False)
    except (ValueError, KeyError):  # KeyError: a header that ends early, odd sampling
        return None
    wanted = {"Gray": "GRAY", "YCbCr": "RGBA", "RGB": "RGBA"}.get(colours, "CMYK")
    if width * height > MAX_PIXELS or width * height * len(wanted) > MAX_DECODED:
        return None
    try:
        pixels = simplejpeg.decode_jpeg(data, wanted, strict=True)
    except ValueError as e:
        text = str(e)
        if _LEFT_OVER.search(text):  # all pixels were decoded before these bytes
            problems.append(Unreadable("trailing-bytes", f"inside the image: {text[:120]}", file=name))
        elif _DAMAGE.search(text):
            code = "truncated" if "remature end" in text else "unreadable"
            raise Unreadable(code, f"does not decode: {text[:160]}", file=name) from None
        return None
    return None if wanted == "CMYK" else _of_pixels(pixels)


def _is_plain(data: bytes) -> bool:
    """Whether a JPEG has nothing before its pixels but what a JFIF file needs: no tags, profiles, or markers that Pillow may refuse."""
    if not data.startswith(_JFIF):
        return False
    at = 20
    while data[at : at + 1] == b"\xff" and data[at + 1 : at + 2] in _PLAIN:
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return data[at : at + 2] == b"\xff\xda"


def _of_pixels(pixels: Any) -> Image:
    """The image of bytes [h, w, 1] or [h, w, 4], a fourth channel aside: so Pillow holds three channels itself."""
    from PIL import Image

    height, width, channels = pixels.shape
    mode, raw = ("L", "L") if channels == 1 else ("RGB", "RGBX")
    arrow = _arrow()
    if arrow is None:
        return Image.frombytes(mode, (width, height), pixels, "raw", raw)
    size = arrow.uint8() if channels == 1 else arrow.uint32()
    held = arrow.Array.from_buffers(size, width * height, [None, arrow.py_buffer(pixels)])
    return Image.fromarrow(held, mode, (width, height))  # without a copy


def _arrow() -> Any:
    """Arrow, where it is loaded and Pillow can share memory with it; it is not loaded for this, since it starts threads.

    Before 13.0 Pillow crashes over images that it does not hold in blocks of its own.
    """
    import PIL

    return sys.modules.get("pyarrow") if _shares_memory(PIL.__version__) else None


@cache
def _shares_memory(version: str) -> bool:
    return int(version.partition(".")[0]) >= 13


def packed(image: Image) -> Any:
    """The pixels of an image in mode RGB, uint32 [h * w]: three bytes and a zero."""
    import numpy as np

    held = _held(image)
    pixels = np.frombuffer(image.tobytes("raw", "RGBX") if held is None else held, np.uint32)
    return pixels & np.uint32(0xFFFFFF if sys.byteorder == "little" else 0xFFFFFF00)


def pixels_of(grey: Image) -> Any:
    """The pixels of an image in mode L, uint8 [h, w], valid while it is; not to be written to."""
    import numpy as np

    held = _held(grey)
    return np.asarray(grey) if held is None else np.frombuffer(held, np.uint8).reshape(grey.height, grey.width)


def samples_of(image: Image, side: int) -> Any:
    """Some pixels of an image in mode RGB, evenly spread, uint8 [side, side, 3]."""
    import numpy as np

    held = _held(image)
    if held is None:
        return np.asarray(image.resize((side, side), 0))  # 0: the nearest
    whole = np.frombuffer(held, np.uint32).reshape(image.height, image.width)
    some = whole.take(spread(image.height, side), 0).take(spread(image.width, side), 1)
    return some.view(np.uint8).reshape(side, side, 4)[..., :3]


@lru_cache(256)
def spread(n: int, most: int) -> Any:
    """The middles of so many equal parts of ``n`` pixels."""
    import numpy as np

    return (np.arange(most) * 2 + 1) * n // (2 * most)


def _held(image: Image) -> Any:
    """Where Pillow holds an image's pixels, one byte or four each; None where it cannot be had."""
    arrow = _arrow()
    try:
        return None if arrow is None else arrow.array(image).buffers()[-1]
    except (TypeError, ValueError):  # held in several pieces, or none of Pillow's
        return None


_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]", re.DOTALL)
"""A marker, not a byte stuffed into coded pixels, a fill byte, or a restart marker among pixels."""


def _jpeg_end(data: bytes) -> int:
    """Where the image ends: after its end marker, found segment by segment, since a preview inside one may contain another."""
    at = len(data) if data.endswith(b"\xff\xd9") else 2
    while (found := _MARKER.search(data, at)) is not None:
        at = found.end()
        if found.group() == b"\xff\xd9":
            return at
        at += int.from_bytes(data[at : at + 2], "big")
    return len(data)


def _check_png(data: bytes, name: str) -> int:
    """Where the image ends.

    Raises:
        Unreadable: ``truncated``, or ``checksum-mismatch`` for a chunk.
    """
    at = 8
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if at + 12 + size > len(data):
            raise Unreadable("truncated", f"chunk {kind!r} runs past the end", file=name)
        stored = int.from_bytes(data[at + 8 + size : at + 12 + size], "big")
        if zlib.crc32(data[at + 4 : at + 8 + size]) != stored:
            raise Unreadable("checksum-mismatch", f"chunk {kind!r} fails its CRC", file=name)
        if kind == b"IEND":
            return at + 12 + size
        at += 12 + size
    raise Unreadable("truncated", "no IEND chunk", file=name)
