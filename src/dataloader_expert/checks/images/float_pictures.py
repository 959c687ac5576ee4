"""Which fields of a Dataset's samples are pictures of floats, and which field holds a class for each of their pixels."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.picture_hashes import looks, thumb
from dataloader_expert.sources.arrays import picture_sides
from dataloader_expert.sources.base import Block, Field


def picture_of(context: Context) -> str | None:
    """The first image of a sample; of a Dataset's samples without one, the first picture of floats."""
    images = [f.name for f in context.fields if f.kind == "image"]
    return next(iter(images or [f.name for f in context.fields if picture_sides(f)]), None)


def small_greys(block: Block, name: str) -> Any:
    """Small copies of a block's pictures in gray, [n, 32, 32]: those of floats each from their darkest to their brightest."""
    import numpy as np

    values = block.columns[name].values
    floats = any(getattr(getattr(value, "dtype", None), "kind", "") == "f" for value in values)
    if not floats:
        return looks(block, name).small
    return np.stack([gray_of(value) if _is_picture(value) else np.zeros((32, 32)) for value in values])


def _is_picture(value: Any) -> bool:
    return getattr(value, "ndim", 0) in (2, 3) and value.size > 0


def sides_of(field: Field) -> tuple[int, int] | None:
    """Height and width of floats of one or three channels, first or last, large enough for a picture; None of other fields, and of sides
    that vary."""
    match picture_sides(field):
        case int(height), int(width):
            return height, width
    return None


def marked_picture(context: Context) -> tuple[str, str] | None:
    """The one picture of a sample, and the one array of whole numbers that has a value for each of its pixels; None if there are others."""
    pictures = [(f.name, sides) for f in context.fields if (sides := sides_of(f)) is not None]
    if len(pictures) != 1 or any(f.kind == "image" and f.name != pictures[0][0] for f in context.fields):
        return None
    name, sides = pictures[0]
    whole = [f for f in context.fields if f.kind in ("array", "mask") and f.dtype.startswith(("int", "uint", "bool"))]
    marks = [f.name for f in whole if f.shape[-2:] == sides and f.shape[:-2] in ((), (1,))]
    return (name, marks[0]) if len(marks) == 1 else None


def gray_of(value: Any) -> Any:
    """A picture from its darkest to its brightest in 256 levels, [32, 32]."""
    import numpy as np

    known = np.nan_to_num(np.asarray(value, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(known.min(initial=0)), float(known.max(initial=0))
    return thumb((known - low) * (255 / max(high - low, 1e-9)))
