"""The clients' configurations: read as the client reads them; the configured command is started and asked for its tools."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataloader_expert import __version__
from dataloader_expert.errors import RequestError, escaped
from dataloader_expert.prompts import agent_md
from dataloader_expert.server.clients.editing import value_at
from dataloader_expert.server.clients.known import CLIENTS, SERVER, Client, Place, Scope
from dataloader_expert.server.clients.program import resolved
from dataloader_expert.server.clients.setting import entry_of
from dataloader_expert.server.clients.writing import content
from dataloader_expert.server.doctor.asking import Answer, asked
from dataloader_expert.server.doctor.check import Check, ok

ROOM = "clients"
START_S = 60.0
SLOW_S = 10.0
"""Some clients give a server ten seconds to start."""


@dataclass(frozen=True)
class Spot:
    """An entry that was found: whose, where, and its content."""

    client: Client
    scope: Scope
    path: Path
    entry: Any

    @property
    def name(self) -> str:
        return f"{self.client.title}, {self.scope}"


async def clients(place: Place) -> AsyncIterator[Check]:
    """A check for each configuration with our entry, and for each that cannot be read."""
    found = 0
    for client in CLIENTS.values():
        for scope in client.scopes:
            path = client.file(scope, place)
            name = f"{client.title}, {scope}"
            try:
                entries = list(_entries(client, scope, path, place))
            except RequestError as e:
                yield Check(ROOM, name, "error", e.message, f"fix {escaped(path, None)}: the client cannot read it")
                found += 1
                continue
            for entry in entries:
                found += 1
                spot = Spot(client, scope, path, entry)
                yield await _started(spot, place)
                agent = client.agent(scope, place)
                if agent is not None:
                    yield _agent(spot, agent)
    if not found:
        yield ok(
            ROOM, "none", "no client starts it from this project; to set one up: dataloader-expert install claude-code"
        )


def _entries(client: Client, scope: Scope, path: Path, place: Place) -> Iterator[Any]:
    entry = entry_of(client, path)
    if entry is not None:
        yield entry
    if client.name == "claude-code" and scope == "user":  # `claude mcp add` writes it for one project only
        text = content(path)
        if text and text.strip():
            local = value_at(text, ("projects", str(place.project), client.key, SERVER))
            if local is not None:
                yield local


async def _started(spot: Spot, place: Place) -> Check:
    entry, again = spot.entry, f"dataloader-expert install {spot.client.name} --{spot.scope}"
    if not isinstance(entry, dict):
        return Check(ROOM, spot.name, "error", f"the entry in {spot.path} is not an object", f"write it again: {again}")
    if "url" in entry:
        return ok(ROOM, spot.name, f"over HTTP at {escaped(entry['url'])}, which is not started from this project")
    words = [entry.get("command"), *(entry.get("args") or [])]
    if not all(isinstance(word, str) for word in words):
        return Check(ROOM, spot.name, "error", f"the entry in {spot.path} has no command", f"write it again: {again}")
    command = [resolved(word, place) for word in words]
    given = entry.get("env") or {}
    environ = {**place.environ, **{str(k): resolved(str(v), place) for k, v in given.items()}}
    if spot.client.name == "claude-code":
        environ["CLAUDE_PROJECT_DIR"] = str(place.project)
    command[0] = shutil.which(command[0], path=environ.get("PATH")) or command[0]
    answer = await asked(command, environ, str(place.project), START_S)
    return judged(spot, answer, again)


def judged(spot: Spot, answer: Answer, again: str) -> Check:
    """The verdict on an answer; pure."""
    where = f"in {escaped(spot.path, None)}"
    if answer.error is not None:
        found = f"the command {where} does not work: {escaped(answer.error, 300)}"
        return Check(ROOM, spot.name, "error", found, f"write it again: {again}")
    if answer.name != SERVER:
        found = f"the command {where} starts {escaped(answer.name)}, not {SERVER}"
        return Check(ROOM, spot.name, "error", found, f"write it again: {again}")
    told = f"version {escaped(answer.version)}, {len(answer.tools)} tools after {answer.seconds:.1f} s ({where})"
    if answer.version != __version__:
        return Check(
            ROOM, spot.name, "warning", f"{told}; this is version {__version__}", f"to start this one: {again}"
        )
    if answer.seconds > SLOW_S:
        fix = "start it once by hand so that Python compiles it; then check the load of the machine and its disk"
        return Check(ROOM, spot.name, "warning", f"{told}: some clients give up after {SLOW_S:.0f} s", fix)
    if spot.client.name == "claude-code" and spot.entry.get("alwaysLoad") is not True:
        return Check(
            ROOM,
            spot.name,
            "warning",
            f"{told}; without alwaysLoad a subagent that starts early gets none of its tools",
            f"set it: {again}",
        )
    return ok(ROOM, spot.name, told)


def _agent(spot: Spot, path: Path) -> Check:
    name = f"{spot.name}, subagent"
    again = f"dataloader-expert install {spot.client.name} --{spot.scope}"
    try:
        text = content(path)
    except RequestError as e:
        return Check(ROOM, name, "error", e.message, f"write it again: {again}")
    if text is None:
        return Check(ROOM, name, "warning", f"{escaped(path, None)} does not exist", f"add it: {again}")
    if text not in (agent_md("installed"), agent_md()):
        return Check(
            ROOM, name, "warning", f"{escaped(path, None)} is of another version, or changed", f"update it: {again}"
        )
    return ok(ROOM, name, escaped(path, None))
