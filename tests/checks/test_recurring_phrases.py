"""Texts that recur by nature, such as "thanks": no copies, no leak, and no giveaway of their label."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.sources.table_fields import phrase_length
from tests.checks.looking import Data, judged

QUESTIONS = [f"how do i set option number {n} of the {n % 7}th part before it is read" for n in range(160)]
PHRASES = ["thanks", "thank you", "ok", "sure", "no", "not really"]
MEANT = {"thanks": "thanks", "thank you": "thanks", "ok": "yes", "sure": "yes", "no": "no", "not really": "no"}


def intents(wrong: str | None = None, copied: bool = False) -> Data:
    """Questions, each once, and phrases that come again and again, in both splits."""
    texts = [t for i, q in enumerate(QUESTIONS) for t in (q, PHRASES[i % len(PHRASES)])]
    labels = [MEANT.get(t, "question") for t in texts]
    if wrong is not None:
        labels[texts.index(wrong)] = "question"
    if copied:
        texts[-2] = texts[0]
    return Data(
        {"text": texts, "label": labels},
        "label",
        splits=["train"] * 240 + ["test"] * 80,
        kinds={"text": "text"},
        context={"phrase": phrase_length([(t,) for t in texts], sure=False)},
    )


def test_phrases_of_one_label_are_no_copies() -> None:
    assert judged("duplicates", intents()) == {}


def test_a_question_in_both_splits_is_a_copy() -> None:
    found = judged("duplicates", intents(copied=True))
    assert {code: f.count for code, f in found.items()} == {"duplicate-samples": 1, "splits-overlap": 1}


def test_a_phrase_of_two_labels_is_a_contradiction() -> None:
    found = judged("duplicates", intents(wrong="thanks"))
    assert {code: f.count for code, f in found.items()} == {"label-conflict": 1}


def test_the_same_words_with_other_marks_are_opinions() -> None:
    """Seen: reviews that say no more than "Good", with 4 stars or 5: an error, though no two people mean the same."""
    texts = [*QUESTIONS[:40], "Good", "Good", QUESTIONS[0]]
    data = Data({"text": texts, "stars": [*[1, 3, 4, 5] * 10, 4, 5, 2]}, "stars", kinds={"text": "text"})
    told = judged("duplicates", data)["label-conflict"]
    assert (told.severity, told.count) == ("info", 2)
    near = Data(
        {**data.columns, "text": [*QUESTIONS[:40], "Good", "Good!", QUESTIONS[0] + "!"]},
        "stars",
        kinds={"text": "text"},
    )
    assert judged("near_texts", near)["label-conflict"].severity == "info"


@pytest.mark.parametrize("times", [3, 10])
def test_samples_that_are_repeated_to_weigh_them_are_no_phrases(times: int) -> None:
    rows: list[tuple[Any, ...]] = [(q,) for q in QUESTIONS] + [(q,) for q in QUESTIONS[:40]] * times
    assert phrase_length(rows, sure=False) == 0


def test_the_last_word_of_a_phrase_is_the_phrase() -> None:
    assert judged("giveaway", intents()) == {}


def test_the_last_word_of_a_sentence_may_give_the_label_away() -> None:
    labels = ["a" if i % 3 else "b" for i in range(160)]
    texts = [f"{q} {label}{label}" for q, label in zip(QUESTIONS, labels, strict=True)]
    found = judged("giveaway", Data({"text": texts, "label": labels}, "label", kinds={"text": "text"}))
    assert "the last word" in found["label-leaked-by-field"].message
