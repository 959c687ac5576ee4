"""Texts that are far shorter than the other field of their sample has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged

WORDS = ["river", "a", "table", "in", "and", "remember", "to", "window", "is", "green"]


def said(words: int, rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, words))


def translated(change: Callable[[int, str], str], related: bool = True) -> Data:
    """Texts of 3 to 40 words, and translations of about as many."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(3, 41, 300)
    there = sizes if related else rng.permutation(sizes)
    columns: dict[str, Any] = {
        "en": [said(n, rng) for n in sizes],
        "de": [change(i, said(n, rng)) for i, n in enumerate(there)],
    }
    return Data(columns, kinds={"en": "text", "de": "text"})


def at_a_third(i: int, text: str) -> str:
    return text[: len(text) // 3] if i % 30 == 7 and len(text) > 100 else text


def test_translations_that_were_cut_are_told() -> None:
    found = judged("shifted_rows", translated(at_a_third))["suspicious-text"]
    assert found.severity == "warning" and found.count >= 5
    assert all(int(str(place["sample"])) % 30 == 7 for place in found.where)
    assert {place["field"] for place in found.where} == {"de"}


@pytest.mark.parametrize(
    "data",
    [
        translated(lambda _, text: text),
        translated(lambda i, text: text[: len(text) // 2 + 9 * (i % 4)]),  # as terse as all are
        translated(at_a_third, related=False),  # prompts and answers
        translated(lambda i, text: text[: len(text) // 3] if i in (9, 50) else text),  # two may be meant so
        translated(lambda i, text: text * 3 if i % 40 == 0 else at_a_third(i, text)),  # either way: pairs that differ
        translated(lambda i, text: text[:12] if i % 2 else text),  # two ways of writing
    ],
    ids=["all", "terse", "unrelated", "two", "either way", "two ways"],
)
def test_translations_that_vary_are_sound(data: Data) -> None:
    assert judged("shifted_rows", data) == {}


def test_transcripts_may_be_of_recordings_with_silence() -> None:
    data = translated(at_a_third)
    sounds = [np.zeros((800 * len(text), 1), np.int16) for text in data.columns["en"]]
    columns = {"audio": sounds, "text": data.columns["de"]}
    found = judged("shifted_rows", Data(columns, kinds={"audio": "audio", "text": "text"}))
    assert found["suspicious-text"].severity == "info"
