"""Concise Markdown names the field that holds the code, and keeps what advice depends on."""

from __future__ import annotations

import pytest

from dataloader_expert.conclusions import Advice
from dataloader_expert.facts import Evidence, Fact, Quantity
from dataloader_expert.templates import _environment, quoted
from dataloader_expert.tools.rendering import LEFT_OUT

FACT = Fact(Quantity("q", "", "a fact"), 1, Evidence("counted", "a test"))
PARTS = '{% import "_parts.jinja" as p %}'


def rendered(body: str, **values: object) -> str:
    return _environment().from_string(PARTS + body).render(**values)


@pytest.mark.parametrize(
    ("text", "field", "brief", "says"),
    [
        ("print()", "code", True, "Runnable code: the field `code`."),
        ("print()", "model_check.cure", True, "Runnable code: the field `model_check.cure`."),
        ("print()", "code", False, "```python\nprint()\n```"),
        (LEFT_OUT.format(rest="pass x"), "code", True, "Runnable code is left out here; to get it, pass x."),
    ],
)
def test_code_is_named_only_where_it_is(text: str, field: str, brief: bool, says: str) -> None:
    """Our promise: a reader of the text is never sent to a field that holds no code."""
    said = rendered("{{ p.code(text, brief, field, rest) }}", text=text, brief=brief, field=field, rest="pass x")
    assert said.strip() == says


@pytest.mark.parametrize("brief", [True, False])
def test_what_advice_depends_on_stands_beside_it(brief: bool) -> None:
    advice = Advice(
        "dataset", "CachedDataset(dataset)", None, "it pays", None, "none", (FACT.cite(),), "nothing varies"
    )
    said = rendered("{{ p.advice(r, brief) }}", r={"advice": [advice.to_json()]}, brief=brief)
    assert "`CachedDataset(dataset)`, only if nothing varies" in said


def test_names_of_code_stay_code() -> None:
    """Our promise: what our messages mark as code is readable, and nothing else from outside is markup."""
    assert quoted("in `__getitem__`, __all__ of `a b` <b>") == r"in `__getitem__`, \_\_all\_\_ of \`a b\` \<b\>"
