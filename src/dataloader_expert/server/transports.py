"""Serving over stdio and streamable HTTP."""

from __future__ import annotations

import hmac
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server import MCPServer

from dataloader_expert.server.app import Server, build, registered
from dataloader_expert.server.logs import plain_logs
from dataloader_expert.tools.execution import Settings

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
Scope = dict[str, Any]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


def serve_stdio(settings: Settings) -> None:
    """Serves until stdin ends. A blocked read of stdin ignores exceptions from signals, so signals end the process at once."""
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda n, _: os._exit(128 + n))  # the hosts end with their control sockets
    with plain_logs():
        server = build(settings)
    server.run()


def serve_http(settings: Settings, host: str, port: int, allowed_hosts: list[str], token: str | None) -> None:
    """Serves streamable HTTP at ``/mcp``.

    Raises:
        ValueError: for an address beyond loopback without ``--allowed-host`` and ``--token``.
    """
    import uvicorn

    if host not in LOOPBACK and (not allowed_hosts or token is None):
        raise ValueError(f"--host {host} is reachable from outside this machine: pass --allowed-host and --token too")
    server = Server(settings)
    with plain_logs():
        made = registered(server)
    app = http_app(made, host, port, allowed_hosts, token)

    class Answering(uvicorn.Server):
        """On shutdown, ends the measuring processes first, so that calls in flight are answered and do not delay it."""

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            server.door.close()
            await super().shutdown(sockets)

    print(f"MCP over streamable HTTP at http://{f'[{host}]' if ':' in host else host}:{port}/mcp", file=sys.stderr)
    Answering(uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=1)).run()


def http_app(mcp: MCPServer[Any], host: str, port: int, allowed_hosts: list[str], token: str | None) -> Any:
    """The ASGI application, with Host and Origin checks, and the bearer token required if there is one."""
    from mcp.server.transport_security import TransportSecuritySettings

    names = [*allowed_hosts, *(f"{h}:*" for h in allowed_hosts if ":" not in h)]
    for own in sorted({host, "127.0.0.1", "localhost"} if host in LOOPBACK else {host}):
        name = f"[{own}]" if ":" in own else own  # IPv6 as a Host header has it
        names += [name, f"{name}:{port}"]
    security = TransportSecuritySettings(
        allowed_hosts=names, allowed_origins=[f"{scheme}://{n}" for n in names for scheme in ("http", "https")]
    )
    app = mcp.streamable_http_app(transport_security=security, host=host)
    return app if token is None else _guarded(app, token)


def _guarded(app: Any, token: str) -> App:
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, expected):
                await send(
                    {"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]}
                )
                await send({"type": "http.response.body", "body": b"a bearer token is needed"})
                return
        await app(scope, receive, send)

    return guarded
