"""Keywords in a table's cell, in any common notation of lists in CSV."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TERM, DESCRIPTOR = "term", "topic_descriptor"
NOTHING = {"", "nan", "none", "null"}
"""How a cell says, in lower case, that it has no keywords."""


@dataclass(frozen=True)
class KeywordRules:
    """Which entries count: ``{"term", "confidence", "type"}`` and ``{"topic_descriptor", "probability"}``."""

    min_confidence: float = 0.0
    types: Sequence[str] | None = None
    """None: any."""
    min_probability: float = 0.5

    def parse(self, cell: object) -> list[str]:
        """Keywords in order, each once, without blanks around them.

        ``cell`` is a list; or text: a list as JSON or as Python prints it, or words between commas. Entries are words
        or objects, see above. None, NaN and blank text stand for no keywords.
        """
        words = map(self._word, _entries(cell))
        return list(dict.fromkeys(word.strip() for word in words if word and word.strip()))

    def _word(self, entry: Any) -> str | None:
        """The entry's keyword, if it counts."""
        if not isinstance(entry, dict):
            return None if entry is None else str(entry)
        if TERM in entry:
            kind_counts = self.types is None or entry.get("type") in self.types
            counts = kind_counts and number(entry.get("confidence"), 1.0) >= self.min_confidence
            return str(entry[TERM]) if counts else None
        counts = DESCRIPTOR in entry and number(entry.get("probability"), 1.0) >= self.min_probability
        return str(entry[DESCRIPTOR]) if counts else None


def normalized(keyword: str) -> str:
    """The form in which keywords are compared: without blanks around it, in lower case."""
    return keyword.strip().lower()


def _entries(cell: object) -> list[Any]:
    if isinstance(cell, list | tuple | set):
        return list(cell)
    text = cell.strip() if isinstance(cell, str) else ""
    if text.startswith(("[", "{")):
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(text)
            except (ValueError, SyntaxError, RecursionError, MemoryError):  # of text that is no list
                continue
            return list(value) if isinstance(value, list | tuple) else [value]
    return [] if text.lower() in NOTHING else text.split(",")


def number(value: object, default: float) -> float:
    """``value`` as a number, or ``default`` if it is none."""
    try:
        return float(str(value))
    except ValueError:
        return default
