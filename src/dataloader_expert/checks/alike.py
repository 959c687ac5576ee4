"""Which names are one name, spelt in two ways."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable


def twins(names: Iterable[str]) -> list[list[str]]:
    """Names that are one name but for case and blanks."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(unicodedata.normalize("NFKC", name).casefold().strip(), []).append(name)
    return [same for same in alike.values() if len(same) > 1]
