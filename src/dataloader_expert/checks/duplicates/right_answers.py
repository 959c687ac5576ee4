"""What the right one of a question's choices says: its letter alone says nothing where the choices come in another order."""

from __future__ import annotations

import re
from typing import Any

from dataloader_expert.sources.base import Block

LETTERS, FEWEST = "abcdefghij", 3
_LETTER = re.compile(r"(?:.*[^a-z])?([a-j])", re.IGNORECASE)


def right_answers(block: Block, label: str) -> list[Any] | None:
    """The text of the choice that each label names by its letter, of fields such as A, B and C or option_a, option_b and option_c; a label
    that names none as it is. None without such fields."""
    named = {m[1].lower(): name for name in block.columns if name != label and (m := _LETTER.fullmatch(name))}
    values = block.columns[label].values[: block.samples]
    if len(named) < FEWEST or {*named} != {*LETTERS[: len(named)]}:
        return None
    choices = ((v, named.get(v.strip().lower()) if isinstance(v, str) else None) for v in values)
    return [v if name is None else block.columns[name].values[i] for i, (v, name) in enumerate(choices)]
