"""Code fences and other marks that a few texts leave open."""

from __future__ import annotations

import pytest

from dataloader_expert.checks.texts.unclosed import marks_of
from tests.checks.looking import Data, judged_alone

PROGRAM = "Here it is:\n```python\nprint({i})\n```\nIt prints a number."
CUT = "Here it is:\n```python\nprint({i}"
THOUGHT = "<think>Twice {i} is even.</think>It is even."


def texts(*odd: str, usual: str = PROGRAM, n: int = 60, **more: list[str]) -> Data:
    made = [usual.format(i=i) for i in range(n)] + [text.format(i=k) for k, text in enumerate(odd)]
    return Data({"answer": made, **more}, kinds=dict.fromkeys(("answer", *more), "text"))


SILENT = {
    "programs": texts(),
    "a text that speaks of one fence": texts("A fence is written ```."),
    "programs that their completions go on with": Data(
        {"prompt": [CUT.format(i=i) if i % 12 == 0 else PROGRAM.format(i=i) for i in range(60)],
         "answer": [")\n```\nDone." if i % 12 == 0 else PROGRAM.format(i=i) for i in range(60)]},
        kinds={"prompt": "text", "answer": "text"},
    ),
    "types that look like tags": texts(*["The map<int> of a list<string> is large."] * 5, usual="A vector<float> has {i} numbers."),
    "one tag that a template opened": texts(*["Twice 3 is even.</think>It is even."] * 3, usual="So {i} is even.</think>Yes."),
}  # fmt: skip
SPEAKS = {
    "programs that were cut off": (texts(CUT, CUT), "suspicious-text", "warning"),
    "thoughts without an end": (texts("<think>Twice 3 is", "<think>Four", usual=THOUGHT), "suspicious-text", "warning"),
    "answers of conversations": (
        Data(
            {"messages": [[{"role": "user", "content": "How?"}, {"role": "assistant", "content": (CUT if i % 30 == 7 else PROGRAM).format(i=i)}]
                          for i in range(90)]},
            kinds={"messages": "other"},
        ),
        "suspicious-text",
        "warning",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("```a```", {"```": False}),
        ("```a", {"```": True}),
        ("<think>a</think>", {"think": False}),
        ("a</think>", {"think": True}),
        ("</think>a<think>", {"think": True}),
    ],
)
def test_marks(text: str, marks: dict[str, bool]) -> None:
    assert marks_of(text) == marks


def test_answers_that_leave_a_fence_open_are_told() -> None:
    """Our promise: in which field, how many of those with a fence, and where."""
    found = judged_alone("unclosed", texts(CUT, CUT))["suspicious-text"]
    assert found.message == "answer: 2 of 62 texts with code fences (```) leave one open, unlike the others"
    assert {place["sample"] for place in found.where} == {60, 61}
