"""Passages of training within texts of other splits."""

from __future__ import annotations

import numpy as np

from tests.checks.looking import Data, judged_alone

WORDS = np.array([f"word{k}" for k in range(2000)])
rng = np.random.default_rng(41)


def written(n: int) -> str:
    return " ".join(rng.choice(WORDS, n))


def mails(quoted: int, again: int = 1, footer: str = "", whole: bool = False) -> Data:
    """Mails of two splits; so many of the second quote one of the first, which as many mails of the first quote too."""
    train = [written(60) for _ in range(120)]
    test = [written(60) for _ in range(60)]
    for k in range(quoted):
        lines = train[k] if whole else f"{written(40)}.\n> {train[k][:200]}\n> {train[k][200:]}"
        test[k] = lines
        for _ in range(again - 1):
            train.append(f"{written(40)} {train[k]}")
    texts = [f"{text}\n{footer}" for text in (*train, *test)]
    splits = ["train"] * len(train) + ["test"] * len(test)
    return Data({"body": texts}, splits=splits, kinds={"body": "text"}, context={"near": True})


FOOTER = "This message is meant for whom it names and nobody else; whoever got it by mistake tells the sender and deletes it and all of its copies at once."


def test_mails_that_quote_those_of_training_are_told() -> None:
    """Seen: replies in the test split quoted whole mails of the training split, line by line."""
    found = judged_alone("passages", mails(6))["splits-near-overlap"]
    assert found.severity == "warning" and found.message.startswith("6 of 60 texts of test repeat passages of train")
    assert {(place["split"], place["sample"]) for place in found.where} >= {("test", 120), ("train", 0)}


def test_what_recurs_everywhere_is_a_phrase() -> None:
    """Our promise: a footer, and a form that training has often, are no passages; copies as a whole are told elsewhere."""
    assert judged_alone("passages", mails(0, footer=FOOTER)) == {}
    assert judged_alone("passages", mails(6, again=4)) == {}
    assert judged_alone("passages", mails(6, whole=True)) == {}


def test_a_single_quote_is_a_note() -> None:
    """Our promise: one text of sixty is no leak that changes a score."""
    assert judged_alone("passages", mails(1))["splits-near-overlap"].severity == "info"
