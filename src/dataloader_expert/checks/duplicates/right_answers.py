"""What the right one of a question's choices says: its letter alone says nothing where the choices come in another order."""

from __future__ import annotations

import re
from typing import Any

from dataloader_expert.sources.base import Block

LETTERS, FEWEST = "abcdefghij", 3
_LETTER = re.compile(r"(?:.*[^a-z])?([a-j])", re.IGNORECASE)


def right_answers(block: Block, label: str) -> list[Any] | None:
    """The text of the choice that each label names by its letter, of fields such as A, B and C or option_a, option_b and option_c; None if
    labels name none."""
    named = {m[1].lower(): name for name in block.columns if name != label and (m := _LETTER.fullmatch(name))}
    values = block.columns[label].values[: block.samples]
    if len(named) < FEWEST or {*named} != {*LETTERS[: len(named)]} or not all(isinstance(v, str) for v in values):
        return None
    letters = [str(v).strip().lower() for v in values]
    if {*letters} - {*named}:
        return None
    return [block.columns[named[letter]].values[i] for i, letter in enumerate(letters)]
