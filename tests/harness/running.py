"""Runs cases: makes their data, starts the server as a client would, calls, compares."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from tests.harness.data import BUILDERS
from tests.harness.matching import mismatches

CASES = Path(__file__).with_name("cases")
OURS = f"{shlex.quote(sys.executable)} -m dataloader_expert.server.command serve --root {{root}}"
FIELDS = {"name", "data", "tool", "arguments", "expect", "error", "options"}


@dataclass(frozen=True)
class Case:
    """One call. ``error``: what must hold of a refusal's text; without it the call must succeed.

    ``data`` names a builder; ``{data}`` in arguments is the folder that it filled, ``{here}`` the case file's.
    ``options`` are more words for the server's command.
    """

    name: str
    tool: str
    arguments: dict[str, Any]
    here: Path
    data: str | None = None
    expect: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    options: tuple[str, ...] = ()


def cases_of(paths: list[Path]) -> list[Case]:
    """The cases of files, and of folders' ``*.json``.

    Raises:
        ValueError: for a file that is no list of cases.
    """
    found: list[Case] = []
    for path in paths:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        for file in files:
            listed = json.loads(file.read_text(encoding="utf-8"))
            for given in listed if isinstance(listed, list) else [listed]:
                wrong = set(given) - FIELDS
                if wrong or not {"name", "tool", "arguments"} <= set(given):
                    raise ValueError(
                        f"{file}: a case has name, tool, arguments and may have data, expect, error, options"
                    )
                case = {**given, "options": tuple(given.get("options", ()))}
                found.append(Case(here=file.parent.absolute(), **case))
    return found


async def run(cases: list[Case], folder: Path, server: str = OURS) -> dict[str, list[str]]:
    """What is wrong with each case's answer, by name; one session for all cases with the same options."""
    wrong: dict[str, list[str]] = {}
    for options in dict.fromkeys(case.options for case in cases):
        group = [case for case in cases if case.options == options]
        places = sorted({str(case.here) for case in group} | {str(folder)})
        words = [w for word in shlex.split(server) for w in _placed(word, places)]
        async with Client(StdioServerParameters(command=words[0], args=[*words[1:], *options])) as client:
            for case in group:
                wrong[case.name] = await _wrong(client, case, folder)
    return wrong


def _placed(word: str, places: list[str]) -> list[str]:
    """``{root}`` names the made data's folder, and the cases' own folders by further ``--root``."""
    if word != "{root}":
        return [word.replace("{root}", places[0])]
    return [places[0], *(w for place in places[1:] for w in ("--root", place))]


async def _wrong(client: Client, case: Case, folder: Path) -> list[str]:
    made = folder / re.sub(r"\W+", "-", case.data or "none")
    if case.data is not None and not made.exists():
        made.mkdir(parents=True)
        BUILDERS[case.data](made)
    arguments = filled(case.arguments, {"{data}": str(made), "{here}": str(case.here)})
    result = await client.call_tool(case.tool, arguments)
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    if case.error is not None:
        refused = [] if result.is_error else ["the call succeeded, expected an error"]
        return refused or mismatches({"text": text, "code": text.split(":")[0]}, case.error)
    if result.is_error:
        return [f"the call failed: {text}"]
    return mismatches(result.structured_content, case.expect)


def filled(value: Any, places: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {k: filled(v, places) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v, places) for v in value]
    if isinstance(value, str):
        for place, path in places.items():
            value = value.replace(place, path)
    return value


async def schemas() -> list[dict[str, Any]]:
    """What clients are told of each tool."""
    from dataloader_expert.server.app import build
    from dataloader_expert.tools.execution import Settings

    async with Client(build(Settings(("/",)))) as client:
        listed = (await client.list_tools()).tools
        return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]
