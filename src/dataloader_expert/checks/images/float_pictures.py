"""Which fields of a Dataset's samples are pictures of floats, and which field holds a class for each of their pixels."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.picture_hashes import thumb
from dataloader_expert.sources.base import Field

SMALLEST = 16
"""The fewest pixels of a side."""


def sides_of(field: Field) -> tuple[int, int] | None:
    """Height and width of floats of one or three channels, first or last, large enough for a picture; None of other fields."""
    if field.kind not in ("image", "array") or "float" not in field.dtype or len(field.shape) != 3:
        return None
    sides = field.shape[1:] if field.shape[0] in (1, 3) else field.shape[:2] if field.shape[2] in (1, 3) else ()
    height, width = (n or 0 for n in sides or (0, 0))  # a side that varies is none
    return (height, width) if min(height, width) >= SMALLEST else None


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
