"""A plain retrieval baseline: BM25 (Robertson and Zaragoza 2009) over words cut to their stems.

It knows no synonyms, so a tool that it finds is described in its users' own words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping

K, B = 1.2, 0.75
WORD = re.compile(r"[a-z]+|[0-9]+")
STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "data",
        "do",
        "does",
        "for",
        "from",
        "give",
        "how",
        "i",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "more",
        "most",
        "my",
        "no",
        "not",
        "now",
        "of",
        "on",
        "or",
        "our",
        "out",
        "per",
        "set",
        "should",
        "so",
        "some",
        "than",
        "that",
        "the",
        "their",
        "there",
        "these",
        "they",
        "this",
        "to",
        "use",
        "we",
        "what",
        "when",
        "where",
        "which",
        "while",
        "will",
        "with",
        "you",
        "your",
    ]
)
"""Words without a meaning of their own; ``data set`` stands in nearly every request."""


def stems(text: str) -> list[str]:
    """Words without the endings that English inflects with; ``num_workers`` is two words."""
    return [_stem(w) for w in WORD.findall(text.lower()) if w not in STOP]


def _stem(word: str) -> str:
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ance", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "s" else word


def ranked(query: str, documents: Mapping[str, str]) -> list[tuple[str, float]]:
    """The documents' names by their score for the query, the best first."""
    counts = {name: Counter(stems(text)) for name, text in documents.items()}
    mean = sum(sum(c.values()) for c in counts.values()) / len(counts)
    scores = {}
    for name, count in counts.items():
        length = sum(count.values()) / mean
        score = 0.0
        for word in stems(query):
            holding = sum(word in c for c in counts.values())
            rarity = math.log(1 + (len(counts) - holding + 0.5) / (holding + 0.5))
            score += rarity * count[word] * (K + 1) / (count[word] + K * (1 - B + B * length))
        scores[name] = score
    return sorted(scores.items(), key=lambda kv: -kv[1])
