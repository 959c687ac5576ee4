"""Texts that were cut off, and those that only end otherwise than most."""

from __future__ import annotations

import numpy as np

from tests.checks.looking import Data, judged

RNG = np.random.default_rng(3)
WORDS = [
    "station",
    "morning",
    "yellow",
    "carriage",
    "between",
    "mountain",
    "philosopher",
    "dimension",
    "evening",
    "river",
]


def sentence(i: int) -> str:
    return " ".join(RNG.choice(WORDS, 9)) + f" {WORDS[i % 10]}."


def told(texts: list[str]) -> bool:
    return "suspicious-text" in judged("cut_texts", Data({"text": texts}, kinds={"text": "text"}))


def test_texts_that_end_within_a_word_are_told() -> None:
    texts = [sentence(i) for i in range(400)]
    assert not told(texts)
    assert told([*texts, *(text[:-4] for text in texts[:12])])


def test_titles_that_end_in_numbers_are_whole() -> None:
    """Our promise: a part number with a letter is no broken word."""
    titles = [f"pump model {WORDS[i % 10]} {1000 + i}{'BKD'[i % 3] if i % 40 == 0 else ''}" for i in range(800)]
    assert not told(titles)
