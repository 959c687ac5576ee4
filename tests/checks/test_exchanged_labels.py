"""Stretches of rows in which each class has the label of another one, as the words of texts tell."""

from __future__ import annotations

import random

import numpy as np

from dataloader_expert.checks.moved_labels import told_classes
from tests.checks.looking import Data, judged

WORDS = {
    "world": "minister treaty border election embassy vote army",
    "sport": "goal match coach season league striker final",
    "trade": "shares profit bank oil market price merger",
    "science": "planet cell software rocket protein chip storm",
}
N, FIRST, LAST = 600, 300, 379


def news(rng: np.random.Generator, labels: list[str], of: list[str]) -> Data:
    """Texts of some words of these classes, and labels."""
    texts = [" ".join([*rng.choice(WORDS[c].split(), 4), f"said reporter {i}"]) for i, c in enumerate(of)]
    return Data({"text": texts, "label": labels}, "label", kinds={"text": "text"})


def drawn() -> tuple[np.random.Generator, list[str]]:
    rng = np.random.default_rng(random.SystemRandom().randrange(2**32))
    return rng, rng.choice(list(WORDS), N).tolist()


def test_labels_that_another_list_of_classes_wrote_are_told() -> None:
    """Our promise: where they begin and end, and what each class is called there."""
    rng, of = drawn()
    names = list(WORDS)
    labels = [names[(names.index(c) + 1) % 4] if FIRST <= i <= LAST else c for i, c in enumerate(of)]
    found = judged("moved_labels", news(rng, labels, of))["label-odd-one-out"]
    assert "sport for world" in found.message
    assert abs(found.where[0]["sample"] - FIRST) + abs(found.where[1]["sample"] - LAST) < 12


def test_texts_with_labels_of_the_row_before_are_told() -> None:
    rng, of = drawn()
    labels = [*of[:450], *(of[i - 1] for i in range(450, N))]
    assert "rows-shifted" in judged("moved_labels", news(rng, labels, of))


def test_texts_of_their_labels_and_labels_of_any_text_are_not() -> None:
    """Our promise: nor a stretch about one thing that is written as others write of another."""
    rng, of = drawn()
    assert judged("moved_labels", news(rng, of, of)) == {}
    mixed = [*of[:FIRST], *rng.permutation(of[FIRST : LAST + 1]).tolist(), *of[LAST + 1 :]]
    assert judged("moved_labels", news(rng, mixed, of)) == {}
    games = ["trade" if FIRST <= i <= LAST else c for i, c in enumerate(of)]
    about = ["sport" if FIRST <= i <= LAST else c for i, c in enumerate(of)]
    assert judged("moved_labels", news(rng, games, about)) == {}


def test_noise_of_many_numbers_tells_no_class() -> None:
    """Our promise: a sample does not tell its own class by the mean that it is part of."""
    rng, _ = drawn()
    label = rng.integers(0, 4, 80)
    assert (told_classes(rng.normal(size=(80, 64)), label, 4) == label).mean() < 0.6
