"""Texts of nothing but rows of equally many numbers, such as the points of a cloud or the steps of a series: an array each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dataloader_expert.errors import Unreadable

NUMBERS = re.compile(rb"(?=.*\d\s*[\s,]\s*[-+\d.])[-+\d.eE,;\s]+", re.DOTALL)
FEWEST = 2
"""The fewest rows of a file: one alone may be anything."""
_BETWEEN = re.compile(rb"[,;]")


def width_of(heads: Sequence[bytes], whole: int) -> int:
    """How many numbers every row has; 0 where rows differ, or some are no numbers. ``whole``: the size of a head that may be cut off."""
    widths = set[int]()
    for head in heads:
        lines = [line for line in (head.splitlines() if len(head) < whole else head.splitlines()[:-1]) if line.strip()]
        if len(lines) < FEWEST or not NUMBERS.fullmatch(head):
            return 0
        widths |= {len(_BETWEEN.sub(b" ", line).split()) for line in lines}
    return widths.pop() if len(widths) == 1 else 0


def rows_of(data: bytes, file: str, width: int) -> Any:
    """The numbers of a text, float64 [rows, width].

    Raises:
        Unreadable: ``parse-error`` for a row of another width or with another word.
    """
    import numpy as np

    lines = [line.split() for line in _BETWEEN.sub(b" ", data).splitlines() if line.strip()]
    odd = next((i for i, line in enumerate(lines) if len(line) != width), None)
    if odd is not None:
        text = f"row {odd + 1} has {len(lines[odd])} numbers, and others have {width}"
        raise Unreadable("parse-error", text, file=file)
    try:
        return np.array(lines, np.float64).reshape(-1, width)
    except ValueError as e:
        raise Unreadable("parse-error", str(e)[:100], file=file) from None
