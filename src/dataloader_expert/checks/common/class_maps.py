"""Which fields of whole numbers are maps of classes, such as masks: their values are names, so none is far from the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataloader_expert.facts import Quantity
from dataloader_expert.sources.base import Field
from dataloader_expert.sources.roles import words

CLASS_MAP = Quantity(
    "class_map", "", "a field whose whole numbers are classes, one for each pixel or step, not measures"
)
NAMES = {
    "mask", "masks", "seg", "segmentation", "segmentations", "label", "labels", "target", "targets", "annotation",
    "annotations", "class", "classes", "cls", "category", "categories",
}  # fmt: skip
"""Words in the names of such fields."""
WHOLE = ("int", "uint", "bool")
OTHER_KINDS = ("image", "audio", "tokens", "text", "category", "time")
VOID = (255, 65_535, -1, -100)
"""What by custom stands for no class, in the order in which it is looked for."""
NUMBERED = 0.5
"""The least share of their range that numbers of classes fill."""


def is_class_map(field: Field | None, distinct: Callable[[], tuple[Any, bool]]) -> bool:
    """Whether a field of several numbers a sample holds classes: by its name, or because its values are numbered from 0 without many
    gaps, apart from the one that by custom stands for no class. ``distinct`` gives the values in ascending order, and whether they are
    exact.
    """
    if field is None or not field.shape or not field.dtype.startswith(WHOLE) or field.kind in OTHER_KINDS:
        return False
    if set(words(field.name)) & NAMES:
        return True
    levels, exact = distinct()
    return exact and _numbered_but_for_one(levels)


def _numbered_but_for_one(levels: Any) -> bool:
    for void in VOID:
        others = levels[levels != void]
        if len(others) == len(levels) or len(others) < 2 or others[0] < 0:
            continue
        apart = void < 0 or void > 2 * others[-1]
        if apart and len(others) >= NUMBERED * (others[-1] + 1):
            return True
    return False
