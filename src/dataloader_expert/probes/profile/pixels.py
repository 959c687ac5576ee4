"""The pixels that Pillow decodes and those that are used: counted as images are resized, by patching its classes in a process of our own."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass
class Pixels:
    """Of all images resized so far. ``least``: what JPEG need decode at least, as it can be decoded at a half, a quarter or an eighth."""

    decoded: int = 0
    used: int = 0
    least: int = 0

    @classmethod
    def between(cls, readings: Iterable[tuple[dict[str, int], dict[str, int]]]) -> Pixels:
        """What was counted from the first of two readings to the last, of all pairs together; a reading holds the fields by name."""
        counts: Counter[str] = Counter()
        for first, last in readings:
            counts.update(last)
            counts.subtract(first)
        return cls(**counts)

    def each(self, samples: int) -> dict[str, float]:
        """Pixels of a sample, by the names of a fact's value."""
        return {
            "decoded_pixels": self.decoded / samples,
            "used_pixels": self.used / samples,
            "least_pixels": self.least / samples,
        }


def count_pixels() -> Pixels:
    """Counts from now on. Call it once per process: the patches cannot be undone."""
    pixels = Pixels()
    image: Any = sys.modules.get("PIL.Image")
    if image is None:
        return pixels
    from PIL.JpegImagePlugin import JpegImageFile

    plain, draft = image.Image.resize, JpegImageFile.draft
    drafted: list[int] = []

    def decode_smaller(picture: Any, *given: Any, **named: Any) -> Any:
        whole = picture.size
        made = draft(picture, *given, **named)
        if picture.size != whole:
            drafted[:] = picture.size
        return made

    def resize(picture: Any, size: Any, *more: Any, **named: Any) -> Any:
        pixels.decoded += picture.size[0] * picture.size[1]
        pixels.used += int(size[0]) * int(size[1])
        # turned by its orientation, perhaps; not smaller than what is asked for
        scales = (1,) if sorted(drafted) == sorted(picture.size) else (8, 4, 2, 1)
        scale = next(s for s in scales if s == 1 or all(a // s >= b for a, b in zip(picture.size, size, strict=False)))
        pixels.least += picture.size[0] * picture.size[1] // scale**2
        drafted.clear()
        return plain(picture, size, *more, **named)

    image.Image.resize = resize
    setattr(JpegImageFile, "draft", decode_smaller)  # noqa: B010  # no type checker allows it
    return pixels
