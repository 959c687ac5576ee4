"""Each sample's own mean and spread, by channel: where two splits have hardly a value in common, they were prepared differently.

The values of all samples together may hide that: a channel at another scale, an inverted image, a recording at another volume,
texts in lower case.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

KEPT, CHANNELS, PIXELS = 300, 16, 8
"""Samples kept of each split and field, the most channels, and the pixels in each direction by which an image is looked at."""
SHORTEST = 20
"""Characters of a text from which on its letters are counted."""
LOOKED_AT = 10_000
"""Samples of all splits that are looked at, about."""
LEAST = 20
"""The fewest samples of a split that are compared."""
APART = 0.98
"""How often a sample of one split must lie above one of the other, or below it: the area under the ROC curve."""
Rows = list[tuple[int, tuple[float, ...]]]
Measures = tuple[str, ...]
Key = tuple[str, str, Measures]
"""Split, field, and what is measured of the field's samples: of those with channels more than of others."""


class PerSample:
    """Samples drawn by the hash of their index, so that they are the same however the samples are dealt out."""

    def __init__(self, samples: int | None) -> None:
        self.below = 1 << 64 if samples is None else min(1 << 64, (LOOKED_AT << 64) // max(1, samples))
        """Only samples with a smaller hash are looked at: many more than are kept, for a split may be a small part."""
        self.rows: dict[Key, Rows] = {}

    def add(self, split: str, name: str, index: int, value: Any) -> None:
        drawn = _hash(index)
        found = measures(value) if drawn < self.below else None
        if found is not None and all(map(math.isfinite, found[1])):
            kept = self.rows.setdefault((split, name, found[0]), [])
            (heapq.heappushpop if len(kept) >= KEPT else heapq.heappush)(kept, (-drawn, found[1]))

    def merge(self, other: PerSample) -> None:
        for key, rows in other.rows.items():
            both = heapq.nlargest(KEPT, self.rows.get(key, []) + rows)
            heapq.heapify(both)
            self.rows[key] = both

    def fields(self) -> Iterator[tuple[str, str, dict[str, list[float]]]]:
        """Split, field, and the sorted values of each measure, of those that most samples have."""
        often: Counter[tuple[str, Measures]] = Counter()
        for (_, name, of), rows in self.rows.items():
            often[name, of] += len(rows)
        usual: dict[str, Measures] = {}
        for (name, of), _ in sorted(often.items(), key=lambda one: (-one[1], one[0])):
            usual.setdefault(name, of)
        for (split, name, of), rows in sorted(self.rows.items()):
            if usual[name] == of:
                values = zip(*(row for _, row in rows), strict=True)
                yield split, name, {measure: sorted(v) for measure, v in zip(of, values, strict=True)}


def measures(value: Any) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """The names of a sample's measures, and these; None of what is no array of numbers."""
    import numpy as np

    if isinstance(value, str):
        return _of_text(value) if len(value) >= SHORTEST else None
    if hasattr(value, "getbands"):
        small = np.asarray(value.resize((PIXELS, PIXELS), 0), np.float64)  # 0: nearest
        if not np.isfinite(small).all():
            return None
        if small.ndim == 3 and small.shape[2] >= 3:
            colour = np.ptp(small[..., :3], axis=2).mean()
            return ("brightness", "contrast", "colour"), (small[..., :3].mean(), small[..., :3].std(), float(colour))
        return ("brightness", "contrast"), (float(small.mean()), float(small.std()))
    if getattr(value, "ndim", 0) < 1 or value.dtype.kind not in "biuf" or value.size < 2:
        return None
    whole = np.asarray(value, np.float64)
    if not np.isfinite(whole).all():
        return None
    with np.errstate(all="ignore"):  # what overflows is left out
        return _of_array(whole)


def _of_array(whole: Any) -> tuple[Measures, tuple[float, ...]]:
    names, found = ["mean", "std"], [whole.mean(), whole.std()]
    axis = _channels(whole.shape)
    if axis is not None:
        rest = tuple(i for i in range(whole.ndim) if i != axis)
        for i, (mean, std) in enumerate(zip(whole.mean(rest).tolist(), whole.std(rest).tolist(), strict=True)):
            names += [f"mean of channel {i}", f"std of channel {i}"]
            found += [mean, std]
    return tuple(names), tuple(map(float, found))


def _of_text(text: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    letters = sum(map(str.isalpha, text)) or 1
    marks = sum(not c.isalnum() and not c.isspace() for c in text)
    return ("length", "share of capital letters", "share of punctuation", "share of letters beyond ASCII"), (
        float(len(text)),
        sum(map(str.isupper, text)) / letters,
        marks / len(text),
        sum(c.isalpha() and not c.isascii() for c in text) / letters,
    )


def _channels(shape: tuple[int, ...]) -> int | None:
    """The axis of the channels: the last or the first if it alone is short."""
    if len(shape) < 2:
        return None
    last, first = shape[-1], shape[0]
    if 1 < last <= CHANNELS < max(shape):
        return len(shape) - 1
    return 0 if 1 < first <= CHANNELS < max(shape) else None


def apart(one: list[float], two: list[float]) -> float:
    """How often a value of the first lies above one of the second, with half of the ties; in any direction, so at least 0.5.

    Source: the area under the ROC curve, as Mann and Whitney, 1947.
    """
    import numpy as np

    b = np.array(two)
    below = np.searchsorted(b, one, "left").mean() / len(b)
    upto = np.searchsorted(b, one, "right").mean() / len(b)
    area = float(below + upto) / 2
    return max(area, 1 - area)


def _hash(index: int) -> int:
    """A number between 0 and 2**64 that looks drawn at random. Source: SplitMix64, Steele et al., 2014."""
    z = (index + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    z = (z ^ z >> 27) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return z ^ z >> 31
