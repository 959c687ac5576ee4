"""Prompts of training in the test split: as they are, or with other capitals, spaces and punctuation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.checks.looking import Data, judged

RNG = np.random.default_rng(4)
WORDS = [
    "station",
    "morning",
    "yellow",
    "carriage",
    "between",
    "mountain",
    "dimension",
    "evening",
    "river",
    "engine",
    "harbour",
]


def told(train: list[str], test: list[str]) -> int:
    """How many prompts are told, each with an answer of its own."""
    prompts = [*train, *test]
    answers = [f"it is the {WORDS[i % 11]} of the {WORDS[i // 11 % 11]} and no other, {i}" for i in range(len(prompts))]
    data = Data(
        {"prompt": prompts, "answer": answers},
        splits=["train"] * len(train) + ["test"] * len(test),
        kinds={"prompt": "text", "answer": "text"},
    )
    found = judged("shared_texts", data).get("splits-near-overlap")
    return 0 if found is None else found.count


def prompts(n: int) -> list[str]:
    return [f"Explain why the {' '.join(RNG.choice(WORDS, 5))}, and how." for _ in range(n)]


TRAIN, TEST = prompts(300), prompts(100)


@pytest.mark.parametrize(
    "spelt",
    [
        str.upper,
        str.lower,
        str.title,
        lambda text: text.rstrip("."),
        lambda text: text.replace(",", "") + "  ",
        lambda text: f"\u201c{text.replace(' ', '  ')}\u201d",
        lambda text: text.replace(".", "!") + "\n",
    ],
)
def test_prompts_of_training_are_told_however_they_are_spelt(spelt: Callable[[str], str]) -> None:
    assert told(TRAIN, [*TEST, *map(spelt, TRAIN[:20])]) == 20


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (TRAIN, TEST),
        (TRAIN, [*TEST, *map(str.upper, TRAIN[:4])]),  # a few
        (  # numbers and signs of formulas
            [f"How much is {a}-{b}, or {a}.{b}, {a}!, {b}, 7?" for a in range(20) for b in range(15)],
            [f"How much is {a}+{b}, or {a}{b}, {a}, {b}, 7?" for a in range(20) for b in range(5)],
        ),
        (  # what people ask, each as they please
            [str(RNG.choice([t, t.lower(), t.upper(), t[:-1]])) for t in RNG.choice(TRAIN, 600)],
            [str(RNG.choice([t, t.lower(), t.upper(), t[:-1]])) for t in RNG.choice(TRAIN, 100)],
        ),
        (  # instructions that recur by nature, with and without a full stop
            [f"Translate this text into German{'.' * (i % 2)}" for i in range(200)] + TRAIN,
            ["Translate this text into German!"] * 30 + TEST,
        ),
        ([*map(str.lower, TRAIN)], [*map(str.upper, TEST)]),  # splits that are spelt in two ways
        (["....................", *TRAIN], ["!!!!!!!!!!!!!!!!!!!!!!!!!", "? ? ? ? ? ? ? ? ? ? ? ? ?"] * 9 + TEST),
        (["\u4f60\u597d" * 12 + str(i) for i in range(50)], ["\u4f60\u597d" * 12 + str(i) for i in range(50, 80)]),
    ],
    ids=["own", "few", "numbers", "queries", "instructions", "cases", "marks", "chinese"],
)  # fmt: skip
def test_prompts_may_be_alike(train: list[str], test: list[str]) -> None:
    assert told(train, test) == 0
