"""What comes back from a child: its events, and what it prints."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dataloader_expert.conclusions import Finding
from dataloader_expert.errors import RequestError, escaped_json
from dataloader_expert.facts import Fact, Facts, Unknown

KEEP = 8 << 10
LINE_MOST = 32 << 20
"""The longest event, in bytes. A longer line is not one of ours, and the server must not buffer it."""
OnEvent = Callable[[dict[str, Any]], None]


@dataclass
class Outcome:
    """What came back through the door. ``failure`` is None where the child finished."""

    facts: Facts = field(default_factory=Facts)
    findings: list[Finding] = field(default_factory=list)
    unknowns: list[Unknown] = field(default_factory=list)
    failure: RequestError | None = None
    prints: str = ""
    stalled: bool = False
    """Whether the child was silent for long before the limit: it hung; otherwise the budget ran out."""
    doing: str = ""
    """What it was doing when it was stopped."""


@dataclass(frozen=True)
class Limits:
    """``seconds`` None: no time limit."""

    seconds: float | None
    memory_bytes: int


class Events:
    """Reads a child's JSON lines as they come. User code can write there too: what is not an event is ignored."""

    def __init__(self, channel: socket.socket, outcome: Outcome, on_event: OnEvent | None) -> None:
        self.channel, self.outcome, self.on_event = channel, outcome, on_event
        self.buffer = b""
        self.done = False
        self.error: RequestError | None = None
        self.message = ""
        self.heard = time.monotonic()

    def read(self) -> None:
        while True:
            try:
                part = self.channel.recv(1 << 18)
            except (BlockingIOError, OSError):
                return
            if not part:
                with contextlib.suppress(RuntimeError):
                    asyncio.get_running_loop().remove_reader(self.channel)
                return
            self.buffer += part
            *lines, self.buffer = self.buffer.split(b"\n")
            for line in lines:
                with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                    self._take(json.loads(line))
            if len(self.buffer) > LINE_MOST:
                self.buffer = b""

    def _take(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind != "error":  # its line breaks are ours, and RequestError escapes each line
            event = escaped_json(event)
        self.heard = time.monotonic()
        if kind == "progress":
            self.message = event["message"]
        if kind == "fact":
            self.outcome.facts.add(Fact.from_json(event["fact"]))
        elif kind == "finding":
            self.outcome.findings.append(Finding.from_json(event["finding"]))
        elif kind == "unknown":
            self.outcome.unknowns.append(Unknown(**event["unknown"]))
        elif kind == "error":
            self.error = RequestError(event["code"], event["message"])
        elif kind == "done":
            self.done = True
        if self.on_event is not None:
            self.on_event(event)


class Stream:
    """A pipe with the child's output: always drained, its first and last bytes kept."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.r, self.w = os.pipe()
        os.set_blocking(self.r, False)
        self.head, self.tail, self.total = b"", b"", 0

    def begin(self) -> None:
        os.close(self.w)
        self.w = -1
        self.loop.add_reader(self.r, self.drain)

    def drain(self) -> None:
        for _ in range(16):
            try:
                part = os.read(self.r, 1 << 18)
            except BlockingIOError:
                return
            except OSError:
                part = b""
            if not part:
                self.loop.remove_reader(self.r)
                return
            self.total += len(part)
            room = KEEP - len(self.head)
            self.head += part[:room]
            self.tail = (self.tail + part[room:])[-KEEP:]

    def close(self) -> str:
        self.drain()
        self.loop.remove_reader(self.r)
        os.close(self.r)
        if self.w >= 0:
            os.close(self.w)
        cut = self.total - len(self.head) - len(self.tail)
        middle = f"\n… {cut} bytes left out …\n".encode() if cut > 0 else b""
        return (self.head + middle + self.tail).decode("utf-8", "replace")
