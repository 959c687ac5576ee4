"""What odd rows have in common and others seldom have: a value of a category."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataloader_expert.checks.common.rows_kept import Named
from dataloader_expert.facts import Json

MOSTLY, SELDOM = 0.9, 0.5
"""A value explains odd rows if so many of them have it, and no more than so many of the others."""


def explained(kept: Mapping[str, Any], groups: Mapping[str, Named], odd: Any, others: Any) -> list[Json] | None:
    """A field and its value that nearly all odd rows have, and few of the others; ``kept``: digests of values as ``group`` and the field."""
    import numpy as np

    for name, named in groups.items():
        if named.many:
            continue
        values, counts = np.unique(kept[f"group {name}"][odd], return_counts=True)
        value = values[counts.argmax()]
        has = kept[f"group {name}"] == value
        if has[odd].mean() >= MOSTLY and has[others].mean() <= SELDOM and named.texts.get(int(value)):
            return [name, named.texts[int(value)]]
    return None
