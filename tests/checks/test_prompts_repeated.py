"""Answers that begin with their prompts, in some samples and by design."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.looking import Data, judged_alone

N = 80
PROMPTS = [f"Describe the town number {i} in a few words." for i in range(N)]
ANSWERS = [f"It has {3 * i} houses and a church." for i in range(N)]


def pairs(answers: list[str], prompts: list[str] = PROMPTS, name: str = "chosen", **more: Any) -> Data:
    kinds = {"prompt": "text", name: "text", **dict.fromkeys(more, "category")}
    return Data({"prompt": prompts, name: answers, **more}, kinds=kinds)


def both(chosen: list[str]) -> Data:
    """These beside rejected answers without their prompts."""
    fields = {"prompt": PROMPTS, "chosen": chosen, "rejected": ANSWERS[::-1]}
    return Data(fields, kinds=dict.fromkeys(fields, "text"))


def begun(step: int) -> list[str]:
    return [f"{p}\n\n{a}" if i % step == 0 else a for i, (p, a) in enumerate(zip(PROMPTS, ANSWERS, strict=True))]


BY = ["ann", "bea", "cid", "dan"] * (N // 4)
SOUND = {
    "answers of their own beside rejected ones": both(ANSWERS),
    "answers of their own": pairs(ANSWERS),
    "whole conversations": pairs(begun(1)),
    "answers that take up short words": pairs([f"The town? {a}" for a in ANSWERS], ["The town?"] * 40 + PROMPTS[40:]),
    "stories that go on, in another field": pairs(begun(4), name="story"),
    "answers that are their prompts, told elsewhere": pairs(
        [p if i % 4 else a for i, (p, a) in enumerate(zip(PROMPTS, ANSWERS, strict=True))]
    ),
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_answers_may_begin_as_they_do(data: Data) -> None:
    assert judged_alone("prompts_repeated", data) == {}


def test_answers_saved_with_their_prompts_are_told() -> None:
    """Our promise: how many, and who wrote them."""
    found = judged_alone("prompts_repeated", pairs(begun(4), annotator=BY))["suspicious-text"]
    assert found.severity == "warning"
    assert found.count == N // 4
    assert "nearly all of them have annotator ann" in found.message
