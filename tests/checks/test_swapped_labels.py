"""Stretches of rows in which each class has the label of another one, as the words of texts tell."""

from __future__ import annotations

import random

import numpy as np

from dataloader_expert.checks.labels.moved_labels import told_classes
from dataloader_expert.sources.base import Block, Column, Unit
from tests.checks.looking import Data, blocks_of, context_of, findings, judged, looked

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
    assert "world labelled sport" in found.message
    assert abs(found.where[0]["sample"] - FIRST) + abs(found.where[1]["sample"] - LAST) < 12


def test_some_classes_that_are_swapped_in_a_stretch_are_told() -> None:
    """Our promise: the others are right there."""
    rng, of = drawn()
    swapped = {"world": "sport", "sport": "world"}
    labels = [swapped.get(c, c) if FIRST <= i < FIRST + 160 else c for i, c in enumerate(of)]
    found = judged("moved_labels", news(rng, labels, of))["label-odd-one-out"]
    assert "sport labelled world, world labelled sport" in found.message
    assert abs(found.where[0]["sample"] - FIRST) + abs(found.where[1]["sample"] - FIRST - 159) < 30


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


def test_a_file_of_images_of_another_type_leaves_the_others_judged() -> None:
    """Our promise: labels of the row before are told in the files of the common type, and none are where all are right."""
    rng, _ = drawn()
    of = rng.integers(0, 4, 300)
    images = rng.normal(90, 20, (300, 16, 16, 3))
    for i, c in enumerate(of):
        images[i, 4 * c : 4 * c + 4] += 100
    images = images.clip(0, 255).astype(np.uint8)
    for begin, told in ((180, {"rows-shifted"}), (300, set())):
        labels = np.array([*of[:begin], *of[begin - 1 : 299]])[:300]
        context = context_of(Data({"image": images, "label": labels}, "label"))
        blocks = blocks_of(Data({"image": images[:240], "label": labels[:240]}, "label"))
        columns = {"image": Column(images[240:] / np.float32(255)), "label": Column(labels[240:])}
        blocks.append(Block(Unit(len(blocks), "floats", 240, 60, 0), columns))
        assert set(findings("moved_labels", looked(context, blocks))) == told
        assert set(findings("moved_labels", looked(context, blocks[::-1]))) == told
