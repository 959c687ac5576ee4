"""Cures that resize or cut a field, as expressions of it."""

from __future__ import annotations

import re
from typing import Any

OF_SIZE = re.compile(r"size=\((\d+), (\d+)\)")
CUT = re.compile(r"\{x\}\[:, :(\d+)\]")
"""A mend that leaves out what is beyond a length."""
SMOOTH = ', mode="bilinear", antialias=True'
"""How what is measured is resized; classes are not blended."""


def resized(height: int, width: int, how: str) -> str:
    return f"torch.nn.functional.interpolate({{x}}, size=({height}, {width}){how})"


def of_pixels(height: int, width: int, y: Any) -> str:
    """What holds a value of each pixel, [B, H, W] or [B, C, H, W], at another height and width; classes are not blended."""
    whole = not y.is_floating_point() or bool((y == y.round()).all())
    how = "" if whole else SMOOTH
    taken = "{x}" if y.ndim == 4 else "{x}[:, None]"
    taken = taken if y.is_floating_point() else f"{taken}.float()"
    made = resized(height, width, how).replace("{x}", taken) + ("" if y.ndim == 4 else "[:, 0]")
    return made if y.is_floating_point() else f"{made}.to({y.dtype})"
