"""Boxes of some images that lie within them once their numbers are read otherwise: as two corners, with x and y swapped.

A box may reach beyond its image because nobody clipped it. Another reading is told only where that explains nothing: in several
images all boxes lie inside once read so, and have the sizes of the others' boxes; as many images turned upside down do not, though
what is merely not clipped reaches beyond any side; and so many of an image's boxes lie outside, or so unlike the others are their
sizes, as chance does not make it. Where many boxes lie outside though the format says how boxes are read, all of them may be written otherwise: then nearly all
lie inside once read so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

SEVERAL, MOST = 3, 0.5
"""The fewest images that agree on a reading, and the largest share of images that may lie outside."""
REACH = 0.1
"""The part of a box beyond the image from which it says anything: annotators miss the edge by less."""
TURNED = 10
"""How many times as many images must be explained as would be if they were turned upside down, unless so many are explained that
chance does not make the difference."""
MANY, FEWER = 20, 5
"""How many images are explained at least, and how many times as many as if turned, where none is left unexplained."""
CHANCE = 1e-6
"""How unlikely it must be that boxes lie outside, and have such sizes, by chance."""
FAR, NEVER = 4.0, 20.0
"""Standard deviations within which sizes are usual, and those at which a box without area counts."""
NEARLY_ALL = 0.99
"""The share of all boxes that must have an area and lie inside where none is taken to be written as the format asks."""
SPREAD = 0.15
"""The least standard deviation of the logarithms of widths and heights that is assumed."""


@dataclass(frozen=True)
class Reading:
    """Another meaning of the numbers; ``sides`` gives left, top, right and bottom by those as read so far and the image's size."""

    words: str
    fix: str
    sides: Callable[[Any, Any], Any]


def _corners_for_size(sides: Any, _: Any) -> Any:
    left, top = sides[:, 0], sides[:, 1]
    return _stacked(left, top, sides[:, 2] - left, sides[:, 3] - top)


def _corners_for_centre(sides: Any, _: Any) -> Any:
    middle, size = (sides[:, :2] + sides[:, 2:]) / 2, sides[:, 2:] - sides[:, :2]
    return _stacked(*middle.T, *size.T)


def _moved(by: float) -> Callable[[Any, Any], Any]:
    """By this part of the boxes' sizes."""

    def sides(sides: Any, _: Any) -> Any:
        size = sides[:, 2:] - sides[:, :2]
        return sides + by * _stacked(*size.T, *size.T)

    return sides


IN_PIXELS = "their numbers are pixels, not fractions"
READINGS = (
    *(
        Reading("their four numbers are two corners", "convert them from two corners", sides)
        for sides in (_corners_for_size, _corners_for_centre)
    ),
    Reading(
        "x and y are swapped",
        "swap x and y there, unless these images were rotated after annotation",
        lambda sides, _: sides[:, [1, 0, 3, 2]],
    ),
    Reading(
        "their first two numbers are the top left corner, not the centre",
        "convert them from the top left corner and the size",
        _moved(0.5),
    ),
    Reading(
        "their first two numbers are the centre, not the top left corner",
        "convert them from the centre and the size",
        _moved(-0.5),
    ),
    Reading(
        IN_PIXELS,
        "divide them by the width and the height of the image",
        lambda sides, pixels: sides / _stacked(*pixels.T, *pixels.T),
    ),
)


@dataclass(frozen=True)
class Boxes:
    """Boxes by their sides, with the size of their image in the same unit and in pixels, the image's index, and which lie outside."""

    sides: Any
    sizes: Any
    pixels: Any
    image: Any
    outside: Any
    slack: float

    def take(self, which: Any) -> Boxes:
        rows = {name: getattr(self, name)[which] for name in ("sides", "sizes", "pixels", "image", "outside")}
        return replace(self, **rows)

    @property
    def turned(self) -> Boxes:
        """As if the images were turned upside down."""
        whole = _stacked(*self.sizes.T, *self.sizes.T)
        return replace(self, sides=(whole - self.sides)[:, [2, 3, 0, 1]])


def misread(boxes: Boxes, most: float = MOST) -> Iterator[tuple[Reading, Any]]:
    """The readings on which several images agree, each with its images' indices; no box may be without area. ``most``: the largest share of
    images that may lie outside: where the format says how boxes are read, those that lie inside need not be the most."""
    import numpy as np

    while boxes.outside.any():
        beyond = np.unique(boxes.image[boxes.outside])
        odd = np.isin(boxes.image, beyond)
        usual = _logs(boxes.sides[~odd], boxes.sizes[~odd])
        usual = usual[np.isfinite(usual).all(1)]
        if not SEVERAL <= len(beyond) <= most * len(np.unique(boxes.image)) or not len(usual):
            return
        found = _agreed(boxes.take(odd), usual, float(boxes.outside.mean()))
        if found is None:
            return
        yield found
        boxes = boxes.take(~np.isin(boxes.image, found[1]))


def all_misread(boxes: Boxes) -> list[tuple[Reading, Any]]:
    """The reading by which nearly all boxes lie inside, if one does, with the images of all. Their unit is known: most have it."""
    import numpy as np

    able = [reading for reading in READINGS if reading.words != IN_PIXELS]
    inside = [(float(_inside(reading.sides(boxes.sides, boxes.pixels), boxes).mean()), reading) for reading in able]
    share, best = max(inside, key=lambda found: found[0])
    images = np.unique(boxes.image)
    return [(best, images)] if share >= NEARLY_ALL and len(images) >= SEVERAL else []


def _inside(sides: Any, boxes: Boxes) -> Any:
    """Which boxes have an area and lie within their images; one whose image is of unknown size does not."""
    size = sides[:, 2:] - sides[:, :2]
    within = (sides[:, :2] >= -boxes.slack) & (sides[:, 2:] <= boxes.sizes + boxes.slack)
    return (within & (size > 0)).all(1)


def _agreed(boxes: Boxes, usual: Any, share: float) -> tuple[Reading, Any] | None:
    """The reading that explains most of these images, of which all have boxes outside, and those that it explains."""
    import numpy as np

    images, at = np.unique(boxes.image, return_inverse=True)
    size = boxes.sides[:, 2:] - boxes.sides[:, :2]
    over = np.hstack([-boxes.sides[:, :2], boxes.sides[:, 2:] - boxes.sizes])
    clear = _any(at, (over >= REACH * np.hstack([size, size])).any(1))
    large = _any(at, (size > boxes.sizes + boxes.slack).any(1))  # of another unit: no other reading explains them
    more, others = np.bincount(at, boxes.outside) - 1, np.bincount(at) - 1
    # boxes outside beyond the first of each image, and how many could be
    best: tuple[int, Reading, Any] | None = None
    for reading in READINGS:
        fits, turned = (_fits(part, reading, usual, at) for part in (boxes, boxes.turned))
        told = fits & clear
        liker = np.bincount(at, _liker(boxes, reading, usual), len(images))[told].sum()
        if (
            told.sum() >= max(SEVERAL, 1 + (clear & ~fits & ~large).sum())
            and _more(int(told.sum()), int((turned & clear).sum()), bool((fits | ~clear).all()))
            and liker - _tail(int(more[told].sum()), int(others[told].sum()), share) >= -math.log(CHANCE)
            and (best is None or told.sum() > best[0])
        ):
            best = int(told.sum()), reading, images[told]
    return best[1:] if best is not None else None


def _more(told: int, turned: int, every: bool) -> bool:
    """Whether a reading explains more images than as many that are turned upside down, where it explains some by chance; ``every``: it explains
    all that are clear."""
    if told >= TURNED * turned or _tail(told, told + turned, 0.5) <= math.log(CHANCE):
        return True
    return every and told >= max(MANY, FEWER * turned)


def _fits(boxes: Boxes, reading: Reading, usual: Any, at: Any) -> Any:
    """The images all of whose boxes, read so, lie inside and have sizes such as the others' have."""
    import numpy as np

    sides = reading.sides(boxes.sides, boxes.pixels)
    far = _deviations(sides, boxes, usual)
    return ~_any(at, ~(_inside(sides, boxes) & (np.abs(far) <= FAR).all(1)))


def _liker(boxes: Boxes, reading: Reading, usual: Any) -> Any:
    """By how much the logarithm of the likelihood of each box's size is larger when read so."""
    otherwise = reading.sides(boxes.sides, boxes.pixels)
    return (_deviations(boxes.sides, boxes, usual) ** 2 - _deviations(otherwise, boxes, usual) ** 2).sum(1) / 2


def _deviations(sides: Any, boxes: Boxes, usual: Any) -> Any:
    """How far the sizes are from those of the others, in standard deviations of the logarithms; without area, as far as can be."""
    import numpy as np

    far = (_logs(sides, boxes.sizes) - usual.mean(0)) / np.maximum(usual.std(0), SPREAD)
    return np.where(np.isfinite(far), far, NEVER)


def _logs(sides: Any, sizes: Any) -> Any:
    """Logarithms of widths and heights, as shares of the image's; NaN where there is none."""
    import numpy as np

    with np.errstate(invalid="ignore", divide="ignore"):
        return np.log((sides[:, 2:] - sides[:, :2]) / sizes)


def _tail(least: int, n: int, share: float) -> float:
    """The logarithm of the probability of ``least`` or more of ``n``."""
    if least < 1 or share >= 1:
        return 0.0
    odds = math.log(share) - math.log1p(-share)
    terms = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * odds for k in range(least, n + 1)]
    top = max(terms)
    return n * math.log1p(-share) + top + math.log(sum(math.exp(term - top) for term in terms))


def _any(at: Any, which: Any) -> Any:
    """Whether that is so of any box of each image."""
    import numpy as np

    return np.bincount(at, which, int(at.max()) + 1) > 0


def _stacked(*columns: Any) -> Any:
    import numpy as np

    return np.column_stack(columns)
