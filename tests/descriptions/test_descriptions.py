"""Requests in plain words: the tool that a retrieval baseline finds from the descriptions, and the call by its schema."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from dataloader_expert.server.app import INSTRUCTIONS
from dataloader_expert.server.arguments import invalid
from dataloader_expert.tools.base import all_tools
from tests.descriptions.retrieval import ranked
from tests.harness.running import schemas

REQUESTS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("requests.json").read_text(encoding="utf-8"))
FIRST, SECOND = 0.9, 0.97
"""Shares of the requests whose tool is found first, and first or second, with the hint that clients search by."""
UNAIDED = 0.7
"""The same from names, descriptions and arguments alone, first; many requests share no word with any of them."""


@pytest.fixture(scope="module")
def listed() -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in asyncio.run(schemas())}


def documents(listed: dict[str, dict[str, Any]], hints: bool) -> dict[str, str]:
    """What a model is shown of each tool; words that all tools share tell nothing apart."""
    texts = {}
    common = set.intersection(*(set(t["inputSchema"]["properties"]) for t in listed.values()))
    for name, tool in listed.items():
        own = {k: v for k, v in tool["inputSchema"]["properties"].items() if k not in common}
        words = [f"{k} {v.get('description', '')} {' '.join(map(str, v.get('enum', ())))}" for k, v in own.items()]
        hint = tool["_meta"]["anthropic/searchHint"] if hints else ""
        texts[name] = " ".join([name, name, tool["title"], tool["description"], tool["description"], hint, *words])
    return texts


def test_there_are_requests_enough_for_every_tool() -> None:
    """Our promise: sixty requests at the least, each once, five for each tool."""
    assert len({r["said"] for r in REQUESTS}) == len(REQUESTS) >= 60
    counts = [sum(r["tool"] == name for r in REQUESTS) for name in all_tools()]
    assert min(counts) >= 5, dict(zip(all_tools(), counts, strict=True))


def test_every_argument_is_asked_for_somewhere() -> None:
    """Our promise: no argument is there that no request in plain words needs."""
    asked = {(r["tool"], name) for r in REQUESTS for name in r["arguments"]}
    common = set.intersection(*(set(t.request.model_fields) for t in all_tools().values()))
    own = {(name, f) for name, t in all_tools().items() for f in t.request.model_fields if f not in common}
    assert own <= asked, own - asked


@pytest.mark.parametrize(
    ("hints", "first", "second"),
    [(True, FIRST, SECOND), (False, UNAIDED, 0.0)],
    ids=["with hints", "descriptions alone"],
)
def test_the_right_tool_is_found(listed: dict[str, dict[str, Any]], hints: bool, first: float, second: float) -> None:
    """Our promise: plain retrieval, which knows no synonyms, finds the tool of most requests."""
    texts = documents(listed, hints)
    orders = [(r, [name for name, _ in ranked(r["said"], texts)]) for r in REQUESTS]
    wrong = [f"{r['said']}: {order[0]}, not {r['tool']}" for r, order in orders if order[0] != r["tool"]]
    missed = [f"{r['said']}: {order}" for r, order in orders if r["tool"] not in order[:2]]
    assert len(REQUESTS) - len(wrong) >= first * len(REQUESTS), "\n".join(wrong)
    assert len(REQUESTS) - len(missed) >= second * len(REQUESTS), "\n".join(missed)


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: r["said"][:40])
def test_the_call_is_valid(listed: dict[str, dict[str, Any]], request_: dict[str, Any]) -> None:
    """Our promise: the listed schema takes the call, and the server's own check does too."""
    tool = request_["tool"]
    schema = listed[tool]["inputSchema"]
    jsonschema.validate(request_["arguments"], {**schema, "additionalProperties": False})
    assert invalid(all_tools()[tool].request, request_["arguments"]) is None


def test_what_a_model_is_shown_costs_little(listed: dict[str, dict[str, Any]]) -> None:
    """Our promise: all tools within 2,200 tokens at four characters each, one within 450, the instructions within 400."""
    sizes = {
        name: len(json.dumps({k: t[k] for k in ("name", "description", "inputSchema")}, separators=(",", ":")))
        for name, t in listed.items()
    }
    assert max(sizes.values()) <= 4 * 450, sizes
    assert sum(sizes.values()) <= 4 * 2200, sizes
    assert len(INSTRUCTIONS) <= 4 * 400
    # mcp__plugin_PLUGIN_SERVER__ stands before it in the longest form of installation, and all may have 64 characters
    assert max(map(len, listed)) <= 20
