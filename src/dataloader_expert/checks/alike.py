"""Names that are the same name, spelt in two ways."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable


def twins(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ only in case and spaces."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(unicodedata.normalize("NFKC", name).casefold().strip(), []).append(name)
    return [same for same in alike.values() if len(same) > 1]
