"""In words that what was found is all of one split, or all in one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dataloader_expert.errors import escaped

WHOLE = 0.98
"""The least share of a split that counts as all of it."""
CHANCE = math.log(1e-3)


def in_split(found: Mapping[str | None, int], of: Mapping[str | None, int]) -> str:
    """Words for the split that has all of what was found among so many ``of`` each split, with a comma before; none if several have some, or
    by chance one may have all."""
    held = {split: n for split, n in found.items() if n}
    [split, *others] = held or [None]
    named = {name: n for name, n in of.items() if name is not None and n}
    if split is None or others or split not in named or len(named) < 2:
        return ""
    if held[split] * math.log(named[split] / sum(named.values())) > CHANCE:
        return ""
    return f", all {'of' if held[split] >= WHOLE * named[split] else 'in'} {escaped(split)}"
