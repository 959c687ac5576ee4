"""Right answers that are told by their length or their place, and options that stand twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

N = 120
RNG = np.random.default_rng(2)
LENGTHS = RNG.integers(5, 40, (N, 4))
RIGHT = RNG.integers(0, 4, N)


def question(i: int, lengths: Any) -> list[str]:
    return [f"{k}{i} {'x' * n}" for k, n in enumerate(lengths)]


def columns(options: list[list[str]], right: Any, names: str = "ABCD") -> Data:
    """Options in columns of their own, and the letter of the right one."""
    fields = {name: [of[k] for of in options] for k, name in enumerate(names)}
    answer = [names[k] for k in right]
    return Data(
        {**fields, "answer": answer}, label="answer", kinds={**dict.fromkeys(names, "text"), "answer": "category"}
    )


def listed(options: list[list[str]], right: Any) -> Data:
    return Data({"choices": options, "label": np.array(right)}, label="label", kinds={"choices": "other"})


def pair(longer: float) -> Data:
    """A preferred answer that is the longer one in this share of the samples."""
    sizes = np.sort(LENGTHS[:, :2], 1) + np.array([0, 1])
    chosen = [[f"{i:03}" + "x" * int(n) for n in of][:: -1 if i < longer * N else 1] for i, of in enumerate(sizes)]
    return Data(
        {"chosen": [a for a, _ in chosen], "rejected": [b for _, b in chosen]},
        kinds=dict.fromkeys(("chosen", "rejected"), "text"),
    )


VARIED = [question(i, lengths) for i, lengths in enumerate(LENGTHS)]
LONGEST = [
    question(i, np.where(np.arange(4) == right, 60, of))
    for i, (of, right) in enumerate(zip(LENGTHS, RIGHT, strict=True))
]
MOSTLY_A = np.where(np.arange(N) % 10 < 7, 0, RIGHT)
SOUND = {
    "right ones of any length and place": columns(VARIED, RIGHT),
    "the same in lists": listed(VARIED, RIGHT),
    "preferred answers that are mostly the longer ones": pair(0.8),
    "the right one first, to be shuffled": listed(VARIED, np.zeros(N, int)),
    "options that are classes": columns([["yes", "no", "maybe", "none"]] * N, MOSTLY_A),
    "texts called by numbers beside a label": Data(
        {f"sentence{k}": [of[k] for of in VARIED] for k in range(4)} | {"label": MOSTLY_A},
        kinds={f"sentence{k}": "text" for k in range(4)},
    ),
}
SPEAKS = {
    "the longest is right": (columns(LONGEST, RIGHT), "label-leaked-by-field", "warning"),
    "the longest of a list is right": (listed(LONGEST, RIGHT), "label-leaked-by-field", "warning"),
    "mostly the first": (columns(VARIED, MOSTLY_A), "label-leaked-by-field", "warning"),
    "the preferred one is longer": (pair(1), "label-leaked-by-field", "warning"),
    "an option twice": (
        columns([[*of[:3], of[0]] if i % 30 == 0 else of for i, of in enumerate(VARIED)], RIGHT),
        "equal-fields",
        "warning",
    ),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_nothing_is_said_of_sound_answers(data: Data) -> None:
    """Our promise: what is by chance, or by design, is no shortcut."""
    assert judged_alone("choice_tells", data) == {}


@pytest.mark.parametrize(("data", "code", "severity"), SPEAKS.values(), ids=SPEAKS)
def test_what_tells_the_right_answer_is_said(data: Data, code: str, severity: str) -> None:
    """Seen: the right option was always the longest, or the first in most questions, and nothing was said."""
    found = judged_alone("choice_tells", data)
    assert {one: f.severity for one, f in found.items()} == {code: severity}
