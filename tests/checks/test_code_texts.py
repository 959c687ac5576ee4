"""Code whose lines were stripped, among code that was not."""

from __future__ import annotations

import pytest

from dataloader_expert.checks.common.wording import indented
from tests.checks.looking import Data, judged

SPREAD = """        for name in names:
            if name:
                return name
            elif name.lower() in (x.lower()
                                  for x in names):
                return None
"""
CODES = [f"def f(x):\n    return x + {i}\n" for i in range(40)]


@pytest.mark.parametrize(
    "text",
    [
        SPREAD,
        SPREAD.replace("        ", "\t"),
        "        total = sum(x\n            for x in y\n                    if x in z):\n        if total:\n            return 1\n",
        "def f():\n    '''For these:\n    a\n    '''\n    return 1\n",
    ],
)
def test_code_that_goes_on_within_brackets_is_indented(text: str) -> None:
    assert indented(text) is not False
    assert judged("texts", Data({"code": [*CODES, text]}, kinds={"code": "text"})) == {}


def test_a_sentence_that_begins_like_a_block_is_no_code() -> None:
    """Seen: docstrings with "for whence are ints:" and a list below, told as code that had lost its indentation."""
    prose = "Values\nfor whence are ints:\n\n* 0 -- start of stream", "Do so\nwith a command, e.g.:\n(see below)"
    assert [*map(indented, prose)] == [None, None]
    heads = "if x:", "else:", "try:", "except ValueError as e:", "elif y in z:", "with open(p) as f:", "class A(B):"
    assert {indented(f"{head}\nreturn 1") for head in heads} == {False}


def test_stripped_code_is_told() -> None:
    stripped = "\n".join(map(str.strip, SPREAD.splitlines()))
    found = judged("texts", Data({"code": [*CODES, stripped]}, kinds={"code": "text"}))
    assert found["suspicious-text"].message == "1 text is code that has lost its indentation"
