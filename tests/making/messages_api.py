"""The Messages API on loopback, scripted: no model, no network. It keeps what a client would show its model.

Each request is answered by the first step of the script that is left and fits: a tool to call, or words.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Step:
    """``system``: what the request's system prompt must hold; then ``tool`` with ``given``, or ``say``."""

    system: str = ""
    tool: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    say: str = "done"

    def fits(self, body: dict[str, Any]) -> bool:
        names = {tool.get("name") for tool in body.get("tools", [])}
        return self.system in json.dumps(body.get("system", "")) and (not self.tool or self.tool in names)


@dataclass
class Api:
    """What was asked, and what is left of the script."""

    steps: list[Step]
    port: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def asked(self, system: str) -> list[dict[str, Any]]:
        """The requests whose system prompt holds the words, in order."""
        return [body for body in self.bodies if system in json.dumps(body.get("system", "")) and body.get("tools")]

    def results(self, system: str) -> list[tuple[bool, str]]:
        """The tools' results in the last of those requests: whether it is an error, and its text."""
        last = self.asked(system)[-1]
        blocks = [b for m in last["messages"] if isinstance(m["content"], list) for b in m["content"]]
        return [(bool(b.get("is_error")), _text(b["content"])) for b in blocks if b.get("type") == "tool_result"]

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.bodies.append(body)
            step = next((s for s in self.steps if s.fits(body)), Step()) if body.get("tools") else Step()
            if step in self.steps:
                self.steps.remove(step)
            number = len(self.bodies)
        if step.tool:
            return {"type": "tool_use", "id": f"toolu_{number:04}", "name": step.tool, "input": step.given}
        return {"type": "text", "text": step.say}


@contextlib.contextmanager
def serving(steps: list[Step]) -> Iterator[Api]:
    api = Api(list(steps))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def reply(self, data: bytes, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            self.reply(b"{}")

        do_HEAD = do_GET

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            if "count_tokens" in self.path:
                self.reply(b'{"input_tokens": 10}')
            elif "/v1/messages" not in self.path:
                self.reply(b"{}")
            else:
                message = _message(body, api.answer(body))
                if body.get("stream"):
                    self.reply(_streamed(message), "text/event-stream")
                else:
                    self.reply(json.dumps(message).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()


def _message(body: dict[str, Any], block: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "none"),
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }


def _streamed(message: dict[str, Any]) -> bytes:
    (block,) = message["content"]
    if block["type"] == "tool_use":
        begun, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        begun, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": begun}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": ended, "usage": {"output_tokens": 10}}),
        ("message_stop", {}),
    ]
    return "".join(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events).encode()


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
