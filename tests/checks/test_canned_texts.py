"""One text in the same words with several labels, among texts that stand once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.checks.looking import Data, judged_alone

N, WORDS = 200, "Thank you for your mail. I am out of office until Monday."
INTENTS = ["order", "refund", "delivery", "praise"]


def mails(canned: int, intents: int, words: str = WORDS) -> Data:
    """Texts of their own, and then one in the same words under several labels, each mail at its own time."""
    bodies = [f"About order number {i}: where is it, and when will it come?" for i in range(N)] + [words] * canned
    labels = [INTENTS[i % 4] for i in range(N)] + [INTENTS[i % intents] for i in range(canned)]
    sent = [f"at {i} past ten" for i in range(N + canned)]
    kinds = {"body": "text", "subject": "text", "intent": "category"}
    return Data({"body": bodies, "subject": sent, "intent": labels}, label="intent", kinds=kinds)


def captions() -> Data:
    """Of pictures, which tell the class."""
    mail = mails(30, 4)
    pictures = np.random.default_rng(3).integers(0, 256, (N + 30, 8, 8, 3), np.uint8)
    return replace(mail, columns={**mail.columns, "image": pictures}, kinds={**mail.kinds, "image": "image"})


def beside_longer(name: str, words: str) -> Data:
    """Texts of this name, some in the same words, each beside a longer one of its own."""
    mail = mails(30, 4, words)
    long = [
        f"I bought the number {i} a month ago, and by now I have used it on {i % 9} days or so." for i in range(N + 30)
    ]
    columns = {name: mail.columns["body"], "text": long, "intent": mail.columns["intent"]}
    return replace(mail, columns=columns, kinds={name: "text", "text": "text", "intent": "category"})


SOUND = {
    "a title of several reviews": beside_longer("review_title", "Works exactly as described"),
    "a caption of several pictures": captions(),
    "no such text": mails(0, 1),
    "a text that means one class": mails(30, 1),
    "a few copies": mails(4, 2),
    "short texts": mails(30, 4, "Thanks!"),
}
SPEAKS = {"an automatic reply": (mails(30, 4), "label-conflict", "warning")}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_nothing_is_said_of_texts_that_recur(data: Data) -> None:
    """Our promise: what is short, rare or of one class is no conflict."""
    assert judged_alone("canned_texts", data) == {}


@pytest.mark.parametrize("data", [mails(30, 4), beside_longer("response", WORDS)], ids=["mails", "answers to prompts"])
def test_one_text_with_all_labels_is_told(data: Data) -> None:
    """Seen: sixty equal automatic replies with all five labels passed, since each had a time and a subject of its own."""
    found = judged_alone("canned_texts", data)["label-conflict"]
    assert found.count == 30
    assert "4 different values of intent" in found.message
