"""Several labels in one text, as ``Edema|Mass``: what joins them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

JOINING, MOSTLY = "|;,", 0.9
"""What may join labels, and the least share of parts that are labels elsewhere."""


def mark_of(values: Collection[Any]) -> str | None:
    """What joins labels in these values: several are joined, and nearly all of their parts stand alone or in others too. None: nothing does."""
    for mark in JOINING:
        joined = [value.split(mark) for value in values if isinstance(value, str) and mark in value]
        parts = Counter(part.strip() for value in joined for part in value)
        alone = {value.strip() for value in values if isinstance(value, str) and mark not in value}
        again = sum(n for part, n in parts.items() if part in alone or n > 1)
        if len(joined) > 2 and len(parts) < len(joined) + len(alone) and again >= MOSTLY * parts.total():
            return mark
    return None


def parts_of(value: str, mark: str) -> list[str]:
    """The labels in a text, each once."""
    return [part for part in dict.fromkeys(part.strip() for part in value.split(mark)) if part]
