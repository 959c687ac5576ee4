"""Boxes of a data set, with the sizes of their images, and what their four numbers mean.

A box field is named so and has four numbers per box. Their meaning is inferred from the data: ``xyxy`` if the third and fourth
nearly always exceed the first two (mostly, in a target as torchvision's detectors take it, whose boxes are corners), else a corner or the centre with a size, whichever leaves fewer boxes outside. Numbers up to
one are fractions of the image, others pixels. Boxes of some images may be written otherwise (``box_readings``).
"""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.images import box_readings
from dataloader_expert.checks.images.float_pictures import picture_of
from dataloader_expert.facts import Quantity
from dataloader_expert.sources.arrays import BOX_WORDS
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.pictures import orientation
from dataloader_expert.sources.roles import words

NARROW = Quantity(
    "boxes_near_corner", "images", "images of one kind whose boxes all end within a part of the width and the height"
)
CORNERS = 0.95
"""The share of boxes whose second corner is beyond the first from which boxes are read as two corners."""
MOSTLY = 0.5
"""The same in a target whose boxes are corners, some of which may be in the wrong order."""
TARGET = ("image_id", "area", "iscrowd", "masks")
"""What torchvision's detectors or their evaluation take beside boxes and labels."""
UNCLEAR = 0.2
"""The largest share of boxes outside the image that counts as defects: if there are more, the format or unit is another one."""
PIXELS = "pixels"
ROUNDED = 1.0
"""Pixels by which a box may extend beyond the image, since annotation tools round."""


class Placed:
    """The boxes that were seen."""

    def __init__(self, context: Context) -> None:
        self.fields = [f.name for f in context.fields if set(words(f.name)) & BOX_WORDS and f.name != context.label]
        self.picture = picture_of(context)
        names = {f.name.lower(): f.name for f in context.fields if not f.shape}
        self.size = next(
            (
                (names[w], names[h])
                for w, h in (("width", "height"), ("image_width", "image_height"))
                if {w, h} <= names.keys()
            ),
            None,
        )
        self.parts: dict[str, list[tuple[Any, Any, Any, str]]] = {}
        """By field, for each unit: boxes [n, 4], sizes of their images [n, 2], their samples, and the file."""
        self.corners = context.corners
        self.targets = {name for name in self.fields if _in_target(name, {f.name for f in context.fields})}

    def see(self, block: Block) -> None:
        import numpy as np

        for name in self.fields:
            if name not in block.columns:
                continue
            found: dict[str, list[tuple[Any, Any, Any]]] = {}
            for i, value in enumerate(block.columns[name].values):
                made = _boxes(value)
                if made is not None and len(made):
                    size, sample = np.tile(self._size(block, i), (len(made), 1)), np.full(len(made), block.index(i))
                    found.setdefault(block.file(i), []).append((made, size, sample))
            for file, parts in found.items():
                boxes, sizes, samples = map(np.concatenate, zip(*parts, strict=True))
                self.parts.setdefault(name, []).append((boxes, sizes, samples, file))

    def merge(self, other: Placed) -> None:
        for name, parts in other.parts.items():
            self.parts.setdefault(name, []).extend(parts)

    def of(self, name: str) -> tuple[Any, Any, Any]:
        """A field's boxes, [n, 4], the sizes of their images, [n, 2], and their samples, [n]."""
        import numpy as np

        boxes, sizes, samples = (np.concatenate([p[k] for p in self.parts[name]]) for k in range(3))
        return boxes, sizes, samples

    def _size(self, block: Block, i: int) -> tuple[float, float]:
        """Width and height of a sample's image; NaN if unknown."""
        import numpy as np

        if self.size is not None and all(n in block.columns for n in self.size):
            try:
                width, height = (float(block.columns[n].values[i] or np.nan) for n in self.size)
            except (TypeError, ValueError, OverflowError):
                return float("nan"), float("nan")
            return width, height
        if self.picture is not None and self.picture in block.columns:
            value = block.columns[self.picture].values[i]
            if hasattr(value, "getbands"):
                if orientation(value) > 4:  # on its side: annotated as stored or as shown, and nobody says which
                    return float("nan"), float("nan")
                return float(value.width), float(value.height)
            if hasattr(value, "shape") and value.ndim >= 2 and value.size:
                h, w = value.shape[:2] if value.ndim == 2 or value.shape[-1] in (1, 3, 4) else value.shape[-2:]
                return float(w), float(h)
        return float("nan"), float("nan")

    def judged(self, name: str) -> Judged:
        """What a field's boxes are, and which of them are no good."""
        return judged(*self.of(name), name == "boxes" and self.corners, MOSTLY if name in self.targets else CORNERS)

    def shares(self, name: str) -> tuple[Any, Any]:
        """A field's boxes by left, top, right and bottom as fractions of their images, [n, 4], and their samples, [n]."""
        import numpy as np

        boxes, sizes, samples = self.of(name)
        form, unit, *_ = self.judged(name)
        sides = np.column_stack(_sides(boxes, form))
        return (sides / np.column_stack([sizes, sizes]) if unit == PIXELS else sides), samples


Judged = tuple[str, str, Any, Any, list[tuple[box_readings.Reading, Any]]]


def _in_target(name: str, fields: set[str]) -> bool:
    """Whether a sample has these boxes as torchvision's detectors take them."""
    of, _, last = name.rpartition(".")
    return last == "boxes" and f"{of}.labels" in fields and any(f"{of}.{other}" in fields for other in TARGET)


def judged(boxes: Any, sizes: Any, samples: Any, corners: bool = False, least: float = CORNERS) -> Judged:
    """The boxes' format and unit, which are degenerate, which extend beyond the image, and the readings by which those of other images
    lie within, with these images. ``corners``: they are known to be such; ``least``: the share with the second corner beyond the first from which
    they are such."""
    import numpy as np

    whole = np.isfinite(boxes).all(1)
    known = boxes[whole]
    beyond = (known[:, 2] > known[:, 0]) & (known[:, 3] > known[:, 1])
    likely = bool(len(known)) and float(beyond.mean()) >= least
    declared = corners or (least == MOSTLY and likely)  # a detector takes no other form
    corners = corners or likely
    shares = bool(len(known)) and float((np.abs(known).max(1) <= 1.01).mean()) > 0.5
    width, height = sizes.T if not shares else np.ones_like(sizes).T
    slack = 0.01 if shares else ROUNDED

    def lie(form: str) -> tuple[Any, Any]:
        """Which boxes have no area, and which extend beyond the image, read so."""
        x, y, right, low = _sides(boxes, form)
        with np.errstate(invalid="ignore"):
            flat = ~whole | (right <= x) | (low <= y)
            out = (x < -slack) | (y < -slack) | (right > width + slack) | (low > height + slack)
        return flat, out & ~flat

    # a part that is written as corners must not decide how the others are read
    fits = np.zeros(len(boxes), bool) if corners else ~np.logical_or(*lie("xyxy"))
    found = {form: lie(form) for form in (("xyxy",) if corners else ("xywh", "cxcywh"))}
    form = min(found, key=lambda f: (int((found[f][1] & ~fits).sum()), int(found[f][1].sum())))
    flat, out = found[form]
    placed = np.column_stack([width, height])
    sides = np.column_stack(_sides(boxes, form))
    with_area = box_readings.Boxes(sides, placed, sizes, samples, out, slack).take(~flat)
    others = list(box_readings.misread(with_area))
    if not others and declared and out.mean() > UNCLEAR:
        others = box_readings.all_misread(with_area) or list(box_readings.misread(with_area, most=1.0))
    for _, images in others:
        out = out & ~np.isin(samples, images)
    if out.mean() > UNCLEAR and not declared:  # an unknown unit or format
        out = np.zeros_like(out)
    return form, "fractions of the image" if shares else PIXELS, flat, out, others


def _sides(boxes: Any, form: str) -> tuple[Any, Any, Any, Any]:
    """Left, top, right and bottom."""
    a, b, c, d = boxes.T
    if form == "xyxy":
        return a, b, c, d
    return (a, b, a + c, b + d) if form == "xywh" else (a - c / 2, b - d / 2, a + c / 2, b + d / 2)


def _boxes(value: Any) -> Any:
    """Boxes as float64 [n, 4]; None if the value contains none."""
    import numpy as np

    try:
        made = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    made = made[None] if made.ndim == 1 and made.size == 4 else made
    if made.ndim != 2 or made.shape[1] != 4:
        return None
    return made[~((made == 0).all(1) | (made == -1).all(1))]  # rows of padding to a common number
