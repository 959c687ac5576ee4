"""Calls of tools in conversations, and what they do not keep to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dataloader_expert.checks.texts.tool_calls import odd_calls
from tests.checks.looking import Data, judged_alone

TAKEN = {"city": {"type": "string"}, "days": {"type": "integer"}}
SCHEMA = {"properties": TAKEN, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]
ASKED, RESULT = {"role": "user", "content": "Is it dry?"}, {"role": "tool", "tool_call_id": "1", "content": "yes"}
ANSWERED = {"role": "assistant", "content": "It is."}


def openai(arguments: Any, name: Any = "weather") -> list[dict[str, Any]]:
    function = {"name": name, "arguments": arguments}
    return [
        ASKED,
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]},
        RESULT,
        ANSWERED,
    ]


def sharegpt(arguments: Any, name: str = "weather") -> list[dict[str, Any]]:
    call = {"from": "function_call", "value": json.dumps({"name": name, "arguments": arguments})}
    return [{"from": "human", "value": "Is it dry?"}, call, {"from": "observation", "value": "yes"}]


def hermes(arguments: Any, name: str = "weather") -> list[dict[str, Any]]:
    given = {"role": "system", "content": f"You may call these: <tools>{json.dumps(TOOLS)}</tools>"}
    call = f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
    return [given, ASKED, {"role": "assistant", "content": call}, {**RESULT, "tool_call_id": None}, ANSWERED]


@pytest.mark.parametrize("form", [openai, sharegpt, hermes])
def test_arguments_are_compared_with_what_the_tool_takes(form: Any) -> None:
    """Our promise: in whatever form a call is written; an argument that may be left out may be left out."""
    listed = None if form is hermes else TOOLS
    assert list(odd_calls(form({"city": "Bonn"}), listed)) == []
    assert list(odd_calls(form({"city": "Bonn", "days": 2}), listed)) == []
    assert list(odd_calls(form({"days": 2}), listed)) == ["lacking"]
    assert list(odd_calls(form({"city": "Bonn", "unit": "C"}), listed)) == ["surplus"]
    assert list(odd_calls(form({"city": "Bonn"}, "traffic"), listed)) == ["undeclared"]


def test_what_a_table_fills_with_none_is_lacking_or_is_not_there() -> None:
    """Our promise: a column of objects has the keys of all of them, and None where one has no such key."""
    wide = [
        {
            "function": {
                "name": "weather",
                "parameters": {**SCHEMA, "properties": {**TAKEN, "street": None}},
            }
        }
    ]
    assert list(odd_calls(openai({"city": "Bonn", "street": None}), wide)) == []
    assert list(odd_calls(openai({"city": None, "days": 2}), wide)) == ["lacking"]


def test_calls_that_no_program_reads_and_results_that_are_lost() -> None:
    """Our promise: a call without a result is none where the conversation ends with it."""
    assert list(odd_calls(openai("{'city': 'Bonn'}"), TOOLS)) == ["garbled"]
    assert list(
        odd_calls([*hermes({})[:2], {"role": "assistant", "content": "<tool_call>{'name': 1}</tool_call>"}])
    ) == ["garbled"]
    asked, call, _, answered = openai({"city": "Bonn"})
    assert list(odd_calls([asked, call], TOOLS)) == []
    assert list(odd_calls([asked, call, answered], TOOLS)) == ["unresolved"]
    assert list(odd_calls([asked, {**RESULT, "tool_call_id": "2"}, answered], TOOLS)) == ["dangling"]
    parts = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Bonn"}}],
        }
    ]
    assert (
        list(
            odd_calls(
                [asked, *parts, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1"}]}], TOOLS
            )
        )
        == []
    )


def test_a_few_calls_without_what_their_tool_requires_are_told() -> None:
    """Seen: a call without its required argument went unsaid, although the tool's schema stood in the same row."""
    said = [openai(json.dumps({"days": 2} if i % 20 == 7 else {"city": "Bonn"})) for i in range(80)]
    data = Data({"messages": said, "tools": [TOOLS] * 80}, kinds={"messages": "other", "tools": "other"})
    found = judged_alone("conversations", data)["turn-order"]
    assert found.count == 4 and "a tool call without an argument that the tool requires" in found.message


def test_names_that_are_no_text_are_looked_at_too() -> None:
    """Our promise: whatever stands in a row, its calls are read."""
    odd = [{"name": ["f"], "parameters": []}, 7, "{", {"function": "x"}, None]
    assert list(odd_calls(openai({}, name={"a": 1}), odd)) == ["undeclared"]
    assert list(odd_calls([{"role": "assistant", "tool_calls": [None, {"function": 3}, "x"]}], "[")) == []
