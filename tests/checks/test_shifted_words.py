"""Texts of the row before or after: told where words that few have show it in one stretch, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.checks.looking import Data, merged

N = 600
rng = np.random.default_rng(19)
TOPICS = [f"thing{k}" for k in range(40)]
FILL = [
    "the",
    "a",
    "of",
    "it",
    "was",
    "said",
    "that",
    "one",
    "may",
    "go",
    "there",
    "again",
    "when",
    "all",
    "is",
    "well",
    "and",
    "nothing",
    "else",
    "has",
    "come",
    "up",
    "so",
    "far",
]


def phrase(topic: str, words: int) -> str:
    drawn = rng.choice(FILL, words).tolist()
    drawn[int(rng.integers(words))] = topic
    return " ".join(drawn)


TOPIC = [TOPICS[k] for k in rng.integers(0, len(TOPICS), N)]
PASSAGES = [phrase(t, 30) + " " + str(rng.choice(TOPICS)) for t in TOPIC]
QUESTIONS = [phrase(t, 8) for t in TOPIC]


def moved(texts: list[str], first: int = 200, last: int = 400, by: int = 1) -> list[str]:
    made = list(texts)
    made[first:last] = [texts[(i + by) % N] for i in range(first, last)]
    return made


def asked(questions: list[str] = QUESTIONS, passages: list[str] = PASSAGES, **more: Any) -> Data:
    columns: dict[str, Any] = {"context": passages, "question": questions} | more
    return Data(columns, kinds=dict.fromkeys(columns, "text"))


def talks(replies: list[str]) -> Data:
    turns = [
        [{"role": "system", "content": "be kind"}, {"role": "user", "content": q}, {"role": "assistant", "content": a}]
        for q, a in zip(QUESTIONS, replies, strict=True)
    ]
    return Data({"messages": turns}, kinds={"messages": "other"}, context={"conversations": frozenset({"messages"})})


def each(of: Callable[[int], int], texts: list[str]) -> list[str]:
    return [texts[of(i)] for i in range(N)]


def topic_of(text: str) -> str:
    return next(w for w in text.split() if w in TOPICS)


def kept(texts: list[str]) -> list[str]:
    """The texts without the word that they share with others."""
    return [" ".join(w for w in text.split() if w not in TOPICS) for text in texts]


SPEAKS: dict[str, tuple[Data, str, str]] = {
    "questions of the next row": (asked(moved(QUESTIONS)), "rows-shifted", "warning"),
    "of the row before": (asked(moved(QUESTIONS, by=-1)), "rows-shifted", "warning"),
    "in most rows": (asked(moved(QUESTIONS, 150, N)), "rows-shifted", "warning"),
    "beside a third text": (asked(moved(QUESTIONS), title=PASSAGES[::-1]), "rows-shifted", "warning"),
    "replies to the next question": (talks(moved(PASSAGES)), "rows-shifted", "warning"),
}
SPELL = range(200, 400)
SILENT: dict[str, Data] = {
    "each with its own": asked(),
    "all rows": asked(moved(QUESTIONS, 0, N)),
    "a few rows": asked(moved(QUESTIONS, 200, 210)),
    "any order in a stretch": asked([*QUESTIONS[:200], *rng.permutation(QUESTIONS[200:400]).tolist(), *QUESTIONS[400:]]),
    "several questions on one passage": asked(each(lambda i: i // 6, QUESTIONS), each(lambda i: i // 6, PASSAGES)),
    "rows by topic": asked(sorted(QUESTIONS, key=topic_of), sorted(PASSAGES, key=topic_of)),
    "texts that share no word": asked(kept(QUESTIONS)),
    "a stretch without questions of its own": asked([*QUESTIONS[:200], *kept(QUESTIONS[200:400]), *QUESTIONS[400:]]),
    "empty for a while": asked([*QUESTIONS[:200], *[""] * 200, *QUESTIONS[400:]]),
    "one text": asked(["hello there"] * N),
    "few rows": Data({"a": PASSAGES[:40], "b": moved(QUESTIONS)[200:240]}, kinds={"a": "text", "b": "text"}),
    "replies": talks(PASSAGES),
    "code beside its words": asked([f"def f{i}(x): return x + {i % 7}" for i in range(N)], [f"adds {i % 7} to x" for i in range(N)]),
    "questions that take up the row before": asked([f"{q} {TOPIC[i - 1]}" for i, q in enumerate(QUESTIONS)]),
}  # fmt: skip


@pytest.mark.parametrize(("data", "code", "severity"), SPEAKS.values(), ids=SPEAKS)
def test_texts_of_the_row_beside_are_told_once(data: Data, code: str, severity: str) -> None:
    """However many fields there are."""
    assert [(f.code, f.severity) for f in merged("shifted_words", data)] == [(code, severity)]


@pytest.mark.parametrize("data", SILENT.values(), ids=SILENT)
def test_nothing_is_said_of_texts_of_their_own_rows(data: Data) -> None:
    """Nor where neighbours resemble each other, or nothing is shared."""
    assert [f.message for f in merged("shifted_words", data)] == []
