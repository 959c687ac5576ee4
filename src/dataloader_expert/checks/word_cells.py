"""Texts as the cells of their words, for classifiers that count words."""

from __future__ import annotations

import re
from typing import Any

from dataloader_expert.checks.rows_kept import digest_of

WORDS, CELLS = 64, 1 << 16
"""Words of a text that are looked at, and the cells that words are counted in."""
_WORD = re.compile(r"\w+")


def cells_of(text: str) -> Any:
    """The cells of a text's first distinct words, int32 [WORDS]; -1 beyond."""
    import numpy as np

    words = list(dict.fromkeys(_WORD.findall(text.casefold())))[:WORDS]
    made = np.full(WORDS, -1, np.int32)
    made[: len(words)] = [digest_of(word) % CELLS for word in words]
    return made
