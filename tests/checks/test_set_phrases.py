"""Phrases and standard texts that only one class of texts has, and those that classes have by nature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

N = 300
RNG = np.random.default_rng(31)
WORDS = [
    f"{a}{b}" for a in ("ba", "ke", "li", "mo", "ru", "sta", "fen") for b in ("ner", "tal", "po", "vik", "sor", "den")
]
FREE = [" ".join(RNG.choice(WORDS, int(RNG.integers(7, 20)))) for _ in range(N)]
CLASS = RNG.integers(0, 3, N)
SPLITS = ["train" if i % 3 else "test" for i in range(N)]


def texts(change: Callable[[str, int, str, int], str], several: bool = True) -> Data:
    """``change``: of a free text, its class, split and number."""
    made = [change(text, int(c), s, i) for i, (text, c, s) in enumerate(zip(FREE, CLASS, SPLITS, strict=True))]
    labels = [f"kind {c}" for c in CLASS]
    return Data({"text": made, "label": labels}, "label", splits=SPLITS if several else "", kinds={"text": "text"})


def forwarded(text: str, c: int, split: str, _: int) -> str:
    return f"[FWD: queue-fin] {text}" if (c, split) == (1, "train") else text


def answered(text: str, c: int, _: str, i: int) -> str:
    return f"Your request {1000 + 37 * i} has been received and will be answered" if c == 1 and i % 2 else text


SOUND = {
    "free texts": texts(lambda t, c, s, i: t),
    "a phrase of a class in all splits": texts(lambda t, c, s, i: f"#include <stdio.h> {t}" if c == 1 else t),
    "a heading of all classes": texts(lambda t, c, s, i: f"{t[:7]} - {t}"),
    "a name in brackets in a third of a class": texts(lambda t, c, s, i: f"{t[:7]} (Vogel) {t}" if c == 1 and i % 3 else t),
    "a phrase of all classes in training": texts(lambda t, c, s, i: f"In short: {t}" if s == "train" else t),
    "a word that half of a class begin with": texts(lambda t, c, s, i: f"play {t}" if c == 1 and s == "train" and i % 2 else t),
    "what people say begins with a dash": texts(lambda t, c, s, i: f"\u2013 {t}" if c == 1 else t),
    "a dash after any words": texts(lambda t, c, s, i: f"{t.split()[i % 3]} - {t}" if c == 1 else t),
    "lines of a log": texts(lambda t, c, s, i: f"job {i} on node {i % 7} ended {('well', 'late', 'never')[c]} after {i * 3} steps"),
    "one reply in all classes": texts(lambda t, c, s, i: answered(t, 1, s, i)),
    "copies of one text": texts(lambda t, c, s, i: "Your request 12 has been received and will be answered" if c == 1 and i % 2 else t),
    "forms in all classes": texts(lambda t, c, s, i: f"{FREE[c * 5 + i % 4]} in {1900 + i}"),
}  # fmt: skip
SPOILT = {
    "a line before a class in training": (texts(forwarded), '"[FWD: queue-fin]" gives class kind 1 away in train'),
    "a line after it": (
        texts(lambda t, c, s, i: f"{t} sent from my desk" if (c, s) == (2, "test") else t),
        '"sent from my desk" gives class kind 2 away in test',
    ),
    "datelines of an agency": (
        texts(lambda t, c, s, i: f"{t.split()[i % 3].upper()} (Vogel) - {t}" if c == 1 else t),
        '"(Vogel)" gives class kind 1 away',
    ),
    "the title of a site": (
        texts(lambda t, c, s, i: f"The Village Book - {t}" if c == 2 else t, several=False),
        '"-" gives class kind 2 away: 118 of 118 texts of that class that were checked have it among their first words ("The Village Book -")',
    ),
    "a mark after a long address": (
        texts(lambda t, c, s, i: f"https://{'village' * 15}.example - {t}" if c == 2 else t, several=False),
        '"-" gives class kind 2 away',
    ),
    "a reply with other numbers": (texts(answered, several=False), "one standard text gives class kind 1 away"),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_classes_may_say_what_they_say(data: Data) -> None:
    assert judged_alone("set_phrases", data) == {}


@pytest.mark.parametrize(("data", "words"), SPOILT.values(), ids=SPOILT)
def test_set_phrases_of_one_class_are_told(data: Data, words: str) -> None:
    """Our promise: the phrase, its class and its split, or the standard text, are named."""
    found = judged_alone("set_phrases", data)["label-leaked-by-field"]
    assert words in found.message
    assert found.severity == "warning"
