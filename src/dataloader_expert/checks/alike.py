"""Names that are the same name, spelt in several ways."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_BETWEEN = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])")
"""Spaces, hyphens and underscores between two letters: ``New  York`` and ``new_york``, but not ``1-2`` or ``B-``."""
TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "1", "1.0", "on"), "true"),
    **dict.fromkeys(("false", "f", "no", "n", "0", "0.0", "off"), "false"),
}


def twins(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ only in case, spaces, hyphens or underscores, or are words for true, or for false."""
    plain = {name: _BETWEEN.sub(" ", unicodedata.normalize("NFKC", name).casefold().strip()) for name in names}
    used = set(plain.values())
    words = used <= TRUTH.keys() and any(len(word) > 1 for word in used)  # single letters are codes
    truth = TRUTH if words and {TRUTH[word] for word in used} == {"true", "false"} else {}
    alike: dict[str, list[str]] = {}
    for name, meant in plain.items():
        alike.setdefault(truth.get(meant, meant), []).append(name)
    return [same for same in alike.values() if len(same) > 1]
