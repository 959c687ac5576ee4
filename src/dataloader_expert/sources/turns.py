"""Turns of conversations, in the message formats of OpenAI (``role``, ``content``) and ShareGPT (``from``, ``value``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ROLE_KEYS = ("role", "from")
ASK = frozenset({"user", "human", "prompter", "customer"})
ANSWER = frozenset({"assistant", "gpt", "model", "bot", "chatgpt", "ai", "agent"})
OTHERS = frozenset(
    {
        "system", "developer", "tool", "tool_call", "tool_response", "function", "function_call", "function_response",
        "observation", "environment", "ipython", "context",
    }
)  # fmt: skip
"""Who speaks, as data sets name it."""
TOOLS = OTHERS - {"system", "developer", "context"}
KNOWN = ASK | ANSWER | OTHERS
DEEPEST = 4
"""Levels of a value in which conversations are looked for."""


def role_of(value: dict[str, Any]) -> str | None:
    """Who speaks in a turn, in lower case; None if it does not say."""
    role = next((value[key] for key in ROLE_KEYS if isinstance(value.get(key), str)), None)
    return None if role is None else str(role).strip().lower()


def is_turn(value: dict[str, Any]) -> bool:
    """Whether an object says who speaks, by a name that data sets use for that, and has anything else."""
    return role_of(value) in KNOWN and len(value) > 1


def conversations(value: Any, depth: int = 0) -> Iterator[list[dict[str, Any]]]:
    """Each list of turns within a value."""
    if isinstance(value, dict):
        for inner in value.values() if depth < DEEPEST else ():
            yield from conversations(inner, depth + 1)
    elif isinstance(value, list | tuple) and value and all(isinstance(turn, dict) for turn in value):
        roles = [role for turn in value if (role := role_of(turn)) is not None]
        if len(roles) == len(value) and KNOWN & {*roles}:  # else the key says something else
            yield list(value)
