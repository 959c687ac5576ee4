"""Driving the real server from outside: started over stdio or HTTP, watched by /proc, never waited for by sleeping.

Every process of a server is known by its environment's TMPDIR, a folder of the test's own, which hosts, children
and what they fork inherit.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters

from dataloader_expert.lab import shm

SERVE = (sys.executable, "-m", "dataloader_expert.server.command", "serve")
SHM = Path("/dev/shm")


def environment(mark: Path, **more: str) -> dict[str, str]:
    mark.mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(mark), **more}


def stdio(mark: Path, *arguments: str, **more: str) -> StdioServerParameters:
    """A server that the client starts."""
    return StdioServerParameters(command=SERVE[0], args=[*SERVE[1:], *arguments], env=environment(mark, **more))


@contextlib.contextmanager
def http(mark: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server at a port of its own; gives its address and process."""
    port = free_port()
    command = [*SERVE, "--http", "--port", str(port), *arguments]
    server = subprocess.Popen(command, env=environment(mark), stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: listens(port), 20), "the server does not listen"
        yield f"http://127.0.0.1:{port}/mcp", server
    finally:
        server.terminate()
        server.wait(10)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def until(holds: Callable[[], Any], seconds: float) -> bool:
    """Whether it comes to hold within the time; looked at less often the longer it takes, for looking takes a core."""
    begun = time.monotonic()
    while not holds():
        waited = time.monotonic() - begun
        if waited > seconds:
            return False
        time.sleep(min(0.1, 0.01 + waited / 10))
    return True


def processes(mark: Path) -> dict[int, str]:
    """The living processes that carry the mark, with their command lines."""
    wanted = f"TMPDIR={mark}\0".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes() and not zombie(entry):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def zombie(entry: Path) -> bool:
    return (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"


def shared_memory(mark: Path, before: set[str]) -> set[str]:
    """New entries of /dev/shm that no process of somebody else's holds."""
    new = {p.name for p in SHM.iterdir()} - before
    if not new:
        return new
    ours = processes(mark)
    others = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and int(p.name) not in ours]
    made_by = {name: int(match[1]) for name in new if (match := re.match(r"torch_(\d+)_", name))}
    return (
        new - shm.held(others) - {name for name, pid in made_by.items() if pid in others}
    )  # one in flight is held by nobody


def host_of(mark: Path, kind: str) -> tuple[int, int]:
    """Warden and host of a kind, ``scan`` or ``user``."""
    found = sorted(
        pid
        for pid, command in processes(mark).items()
        if "boot.py" in command
        and f"DATALOADER_EXPERT_HOST={kind}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    )
    parents = {pid: int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in found}
    warden = next(pid for pid, parent in parents.items() if parent not in parents)
    host = next(pid for pid, parent in parents.items() if parent == warden)
    return warden, host


def speak(server: subprocess.Popen[bytes], *messages: dict[str, Any]) -> None:
    """JSON-RPC by hand, for servers that are to be killed under a client's hands."""
    assert server.stdin is not None
    for message in messages:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


def opened(mark: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A server over stdio that is told to initialize; its answers are not waited for."""
    server = subprocess.Popen(
        [*SERVE, *arguments],
        env=environment(mark),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    speak(server, {"id": 0, "method": "initialize", "params": about}, {"method": "notifications/initialized"})
    return server


def closed(server: subprocess.Popen[bytes]) -> None:
    """The server's pipes closed and its end waited for."""
    for pipe in (server.stdin, server.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(5)
    server.kill()
    server.wait(5)
