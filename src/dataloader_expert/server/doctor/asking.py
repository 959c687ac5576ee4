"""Starts a configured command as its client would, and sends the requests that every client sends first."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PROTOCOL = "2025-11-25"
LINE = 16 << 20
ABOUT = {
    "protocolVersion": PROTOCOL,
    "capabilities": {},
    "clientInfo": {"name": "dataloader-expert doctor", "version": "1"},
}


@dataclass(frozen=True)
class Answer:
    """``error``: why it did not answer, with its last output; otherwise its name, version and tools."""

    seconds: float
    error: str | None = None
    name: str = ""
    version: str = ""
    tools: tuple[str, ...] = ()


async def asked(command: Sequence[str], environ: Mapping[str, str], folder: str, seconds: float) -> Answer:
    """Starts the command and returns its answers to ``initialize`` and ``tools/list``."""
    begun = time.monotonic()
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environ),
            cwd=folder,
            limit=LINE,
        )
    except FileNotFoundError:
        return Answer(0.0, f"{command[0]} does not exist")
    except OSError as e:
        return Answer(0.0, f"{command[0]} cannot be started: {e.strerror}")
    error = name = version = ""
    tools: tuple[str, ...] = ()
    try:
        async with asyncio.timeout(seconds):
            about = await _request(process, 1, "initialize", ABOUT)
            await _send(process, {"method": "notifications/initialized"})
            listed = await _request(process, 2, "tools/list", {})
            name, version = str(about["serverInfo"]["name"]), str(about["serverInfo"]["version"])
            tools = tuple(str(tool["name"]) for tool in listed["tools"])
    except TimeoutError:
        error = f"it did not answer within {seconds:.0f} s"
    except (ConnectionError, EOFError):
        error = "it ended before it answered"
    except (ValueError, KeyError, TypeError):
        error = "its answer is not MCP"
    spent = time.monotonic() - begun
    said = await _ended(process)
    if error:
        return Answer(spent, error + (f"; it said: {said}" if said else ""))
    return Answer(spent, None, name, version, tools)


async def _request(process: asyncio.subprocess.Process, id_: int, method: str, params: dict[str, Any]) -> Any:
    await _send(process, {"id": id_, "method": method, "params": params})
    assert process.stdout is not None
    while True:
        line = await process.stdout.readline()
        if not line:
            raise EOFError
        message = json.loads(line)
        if message.get("id") == id_:
            return message["result"]


async def _send(process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    await process.stdin.drain()


async def _ended(process: asyncio.subprocess.Process) -> str:
    """Ends the process and returns the last line that it wrote to stderr."""
    assert process.stdin is not None and process.stderr is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        async with asyncio.timeout(3):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    said = b""
    with contextlib.suppress(TimeoutError, ValueError):
        async with asyncio.timeout(1):
            said = await process.stderr.read(1 << 16)
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""
