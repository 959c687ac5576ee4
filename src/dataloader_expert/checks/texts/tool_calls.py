"""Calls of tools in conversations, and what a few of them do not keep to: arguments that are no JSON, lack what the tool requires or are not the
tool's, tools that were not given, results without a call and calls without a result.

Calls are read in the forms of OpenAI's chat API, in turns of their own as ShareGPT has them, and between ``<tool_call>`` marks in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from dataloader_expert.checks.common.wording import said
from dataloader_expert.sources.turns import ANSWER, TOOLS, role_of

COLUMNS = ("tools", "functions", "available_tools")
"""Fields beside a conversation that list the tools it may call."""
CALLING = {"function_call", "tool_call"}
"""Roles of turns that are a call."""
NOT_READ = object()
"""Stands for arguments that cannot be read as JSON."""
_CALLED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.S)
_LISTED = re.compile(r"<tools>\s*(.*?)\s*</tools>", re.S)


class Call(NamedTuple):
    name: Any
    arguments: Any
    """As they are written: a text or an object; None if there are none."""
    key: str | None = None
    """By which its result names it."""


def odd_calls(turns: list[dict[str, Any]], listed: Any = None) -> Iterator[str]:
    """What is odd about the calls of a conversation. ``listed``: the tools that stand beside it."""
    calls = [[*calls_of(turn)] for turn in turns]
    known: set[str] = set()
    found: set[str] = set()
    for turn, made in zip(turns, calls, strict=True):
        known |= {call.key for call in made if call.key is not None}
        answered = turn.get("tool_call_id")
        found |= {"dangling"} if isinstance(answered, str) and answered not in known else set()
    declared = tools_of(turns, listed)
    for call in (call for made in calls for call in made):
        arguments = _object(call.arguments)
        if arguments is NOT_READ:
            found.add("garbled")
        elif declared and str(call.name) not in declared:
            found.add("undeclared")
        elif declared:
            found |= {*_unlike(arguments, declared[str(call.name)], isinstance(call.arguments, str))}
    if any(made and i + 1 < len(turns) and _goes_on(turns[i + 1]) for i, made in enumerate(calls)):
        found.add("unresolved")
    yield from sorted(found)


def calls_of(turn: dict[str, Any]) -> Iterator[Call]:
    """The calls of a turn."""
    calls, function, content = (turn.get(key) for key in ("tool_calls", "function_call", "content"))
    calls = _loaded(calls) if isinstance(calls, str) else calls
    for call in calls if isinstance(calls, list | tuple) else ():
        made = call.get("function", call) if isinstance(call, dict) else None
        if isinstance(made, dict):
            yield Call(made.get("name"), made.get("arguments"), str(call.get("id")))
    if isinstance(function, dict):
        yield Call(function.get("name"), function.get("arguments"))
    for part in content if isinstance(content, list | tuple) else ():
        if isinstance(part, dict) and part.get("type") == "tool_use":
            yield Call(part.get("name"), part.get("input"), str(part.get("id")))
    text = content if isinstance(content, str) else turn.get("value")
    if not isinstance(text, str):
        return
    if role_of(turn) in CALLING:
        yield from _written(_CALLED.sub(r"\1", text))
    elif "<tool_call>" in text and role_of(turn) in ANSWER:
        for found in _CALLED.findall(text):
            yield from _written(found)


def _written(text: str) -> Iterator[Call]:
    """The calls that a text is; one of which nothing can be read if it looks like JSON and is none."""
    made = _loaded(text)
    for call in made if isinstance(made, list) else [made]:
        if isinstance(call, dict) and "name" in call:
            yield Call(call["name"], call.get("arguments", call.get("parameters")))
        elif call is NOT_READ and re.match(r"\s*(?:\{|\[\s*\{)", text):
            yield Call(None, text)


def tools_of(turns: list[dict[str, Any]], listed: Any) -> dict[str, dict[str, Any]]:
    """The tools that a conversation was given, each with the schema of its parameters: those beside it, else those in its first turn."""
    tools = _loaded(listed) if isinstance(listed, str) else listed
    if not isinstance(tools, list | tuple):
        text = " ".join(_LISTED.findall(" ".join(said(turns[0])))) if turns else ""
        whole = _loaded(text)
        tools = whole if isinstance(whole, list) else [_loaded(line) for line in text.splitlines()]
    made = [_loaded(tool) if isinstance(tool, str) else tool for tool in tools]
    functions = [tool.get("function") or tool for tool in made if isinstance(tool, dict)]
    named = [function for function in functions if isinstance(function, dict) and function.get("name")]
    return {
        str(f["name"]): p if isinstance(p := f.get("parameters") or f.get("input_schema"), dict) else {} for f in named
    }


def _unlike(arguments: dict[str, Any], schema: dict[str, Any], written: bool) -> Iterator[str]:
    """What arguments lack that a tool requires, and what they have that it does not take. Of those that are no text, a table may have
    filled the ones that are lacking with None, and likewise in the schema."""
    given = {key for key, value in arguments.items() if written or value is not None}
    required, taken = schema.get("required"), schema.get("properties")
    if isinstance(required, list | tuple) and {*map(str, required)} - given:
        yield "lacking"
    names = {key for key, value in taken.items() if value is not None} if isinstance(taken, dict) else set()
    if names and given - names and schema.get("additionalProperties") in (None, False):
        yield "surplus"


def _goes_on(turn: dict[str, Any]) -> bool:
    """Whether a turn after a call is neither its result nor another call."""
    if role_of(turn) in TOOLS or any(calls_of(turn)):
        return False
    content = turn.get("content")
    parts = content if isinstance(content, list | tuple) else ()
    answers = any(isinstance(part, dict) and part.get("type") == "tool_result" for part in parts)
    return not answers and "<tool_response>" not in " ".join(said(turn))


def _object(arguments: Any) -> Any:
    """Arguments as an object."""
    if isinstance(arguments, str) and arguments.strip():
        made = _loaded(arguments)
        return made if isinstance(made, dict) else NOT_READ
    return arguments if isinstance(arguments, dict) else {}


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NOT_READ
