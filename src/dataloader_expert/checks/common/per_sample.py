"""Each sample's own mean and spread, by channel: where two splits have hardly a value in common, they were prepared differently.

The values of all samples together may hide that: a channel at another scale, an inverted image, a recording at another volume or
without its high frequencies, samples that are centred one by one, texts in lower case.
"""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.sources.base import Block

KEPT, CHANNELS, PIXELS = 300, 16, 8
"""Samples kept of each split and field, the most channels, and the pixels in each direction by which an image is looked at."""
SHORTEST = 20
"""Characters of a text from which on its letters are counted."""
LEAST = 20
"""The fewest samples of a split that are compared."""
APART = 0.98
"""How often a sample of one split must lie above one of the other, or below it: the area under the ROC curve."""
ONE_WAY = 0.9
"""The share of a split's texts that must be written in one way for it to be the split's, as of dates and numbers."""
IMAGE = ("brightness", "contrast", "colour")
ARRAY = ("mean", "std", "largest magnitude", "|mean| / std", "share of high frequencies")
"""What is measured of a whole array, before its channels: the last is of recordings and the like, along the longest axis."""
CENTRED = 1e-4
"""The mean over the std up to which a sample is centred: rounding leaves some."""
LONG, LONGEST = 64, 1 << 15
"""The fewest steps of an axis along which frequencies are told apart, and the most that are looked at, from the middle."""
CAPITALS = "share of capital letters"
CASELESS = -1.0
"""The share of capitals among no letters that have capitals, as in Chinese."""
TEXT = ("length", CAPITALS, "share of punctuation", "share of letters beyond ASCII")


def keep(drawn: Drawn, block: Block, values: Any) -> None:
    """Measures those of the block's samples that are drawn."""
    import numpy as np

    found = [(i, made) for i in drawn.rows(block).tolist() if (made := measures(values[i])) is not None]
    for width in sorted({len(made) for _, made in found}):
        some = [(i, made) for i, made in found if len(made) == width]
        drawn.keep(block, np.array([i for i, _ in some]), {"measures": np.array([made for _, made in some])})


def kept(drawn: Drawn) -> dict[str, list[float]]:
    """The sorted values of each measure; samples with other measures than most, or with one that is not finite, are left out."""
    import numpy as np

    values = drawn.all()[1]["measures"]
    values = np.sort(values[np.isfinite(values).all(1)], axis=0)
    return dict(zip(named(values.shape[1]), values.T.tolist(), strict=True))


def named(width: int) -> tuple[str, ...]:
    """What so many measures of a sample are: an image has the fewest, an array the most. A field may hold values of other kinds than its own."""
    if width <= len(IMAGE):
        return IMAGE[:width]
    if width == len(TEXT):
        return TEXT
    channels = range((width - len(ARRAY)) // 2)
    return (*ARRAY, *(f"{of} of channel {i}" for i in channels for of in ("mean", "std")))


def telling(one: dict[str, list[float]], two: dict[str, list[float]]) -> str | None:
    """The measure in which two splits are most apart, if they have hardly a value in common in it."""
    if one.keys() != two.keys() or min(len(v) for of in (one, two) for v in of.values()) < LEAST:
        return None
    areas = {of: apart(one[of], two[of]) for of in one}
    of = max(areas, key=lambda measure: areas[measure])
    return of if areas[of] >= APART else None


def written(one: dict[str, list[float]]) -> str | None:
    """Whether nearly all texts of a split are in capitals alone, without any, or with some; None if they are neither, or no texts."""
    shares = [share for share in one.get(CAPITALS, []) if share != CASELESS]
    if len(shares) < LEAST:
        return None
    ways = {"in capitals": shares.count(1.0), "without capitals": shares.count(0.0)}
    ways["with some capitals"] = len(shares) - sum(ways.values())
    return next((way for way, n in ways.items() if n >= ONE_WAY * len(shares)), None)


def measures(value: Any) -> list[float] | None:
    """A sample's measures; None of what is no text, image or array of numbers."""
    import numpy as np

    if isinstance(value, str):
        return _of_text(value) if len(value) >= SHORTEST else None
    if hasattr(value, "getbands"):
        small = np.asarray(value.resize((PIXELS, PIXELS), 0), np.float64)  # 0: nearest
        if not np.isfinite(small).all():
            return None
        if small.ndim == 3 and small.shape[2] >= 3:
            colour = np.ptp(small[..., :3], axis=2).mean()
            return [float(small[..., :3].mean()), float(small[..., :3].std()), float(colour)]
        return [float(small.mean()), float(small.std())]
    if getattr(value, "ndim", 0) < 1 or value.dtype.kind not in "biuf" or value.size < 2:
        return None
    whole = np.asarray(value, np.float64)
    if not np.isfinite(whole).all():
        return None
    with np.errstate(all="ignore"):  # what overflows is left out
        return _of_array(whole)


def _of_array(whole: Any) -> list[float]:
    import numpy as np

    mean, std = float(whole.mean()), float(whole.std())
    centred = abs(mean) <= CENTRED * std
    over = 0.0 if centred or std == 0 else abs(mean) / std
    found = [mean, std, float(np.abs(whole).max()), over, _high(whole)]
    axis = _channels(whole.shape)
    if axis is not None:
        rest = tuple(i for i in range(whole.ndim) if i != axis)
        for pair in zip(whole.mean(rest).tolist(), whole.std(rest).tolist(), strict=True):
            found += pair
    return found


def _high(whole: Any) -> float:
    """The share of the upper half of the frequencies in the power along the longest axis; 0 where it is short."""
    import numpy as np

    axis = int(np.argmax(whole.shape))
    steps = whole.shape[axis]
    if steps < LONG:
        return 0.0
    begin = max(0, (steps - LONGEST) // 2)
    part = np.take(whole, range(begin, min(steps, begin + LONGEST)), axis)
    power = (
        np.moveaxis(np.abs(np.fft.rfft(part, axis=axis)) ** 2, axis, 0)[1:]
        .reshape(-1, part.size // part.shape[axis])
        .sum(1)
    )
    return float(power[len(power) // 2 :].sum() / power.sum()) if power.sum() > 0 else 0.0


def _of_text(text: str) -> list[float]:
    letters = sum(map(str.isalpha, text)) or 1
    capital = sum(map(str.isupper, text))
    cased = capital + sum(map(str.islower, text))
    marks = sum(not c.isalnum() and not c.isspace() for c in text)
    return [
        float(len(text)),
        capital / cased if cased else CASELESS,
        marks / len(text),
        sum(c.isalpha() and not c.isascii() for c in text) / letters,
    ]


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
