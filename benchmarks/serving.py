"""What it costs to have the server: its start, a round trip, and the tokens of its list, beside well-known servers.

``python -m benchmarks.serving`` starts each server over stdio by turns, sends ``initialize`` and then ``tools/list`` again
and again. CPU seconds are those of the process and its children from its start to its end, right after its answer. Tokens
are names, descriptions and input schemas, instructions apart, at four characters each. Peers are used where they are
found: Python's in the environment that ``--python-peers`` names (``pip install mcp-server-git mcp-server-fetch
mcp-server-time``), npm's in the folder of ``--npm-peers`` (``npm install @modelcontextprotocol/server-everything
@modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory
@modelcontextprotocol/server-sequential-thinking @upstash/context7-mcp @playwright/mcp``).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.common import CACHE, command, keep, last
from benchmarks.opening import BARE, INITIALIZE

PYTHON_PEERS = {
    "git": ("mcp-server-git", "-r", "{repository}"),
    "fetch": ("mcp-server-fetch",),
    "time": ("mcp-server-time",),
}
NPM_PEERS = {
    "everything": ("mcp-server-everything",),
    "filesystem": ("mcp-server-filesystem", "{folder}"),
    "memory": ("mcp-server-memory",),
    "sequential-thinking": ("mcp-server-sequential-thinking",),
    "Context7": ("context7-mcp",),
    "Playwright": ("playwright-mcp", "--headless"),
}
CALLS = 100


def sides(python_peers: Path | None, npm_peers: Path | None) -> dict[str, list[str]]:
    """The command of each server that is there."""
    repository = CACHE / "repository"
    if not (repository / ".git").exists():
        subprocess.run(["git", "init", "-q", str(repository)], check=True)
    bare = CACHE / "bare.py"
    bare.write_text(BARE)
    found = {"bare SDK server": [sys.executable, str(bare)], "ours": [command(), "serve", "--root", str(CACHE)]}
    for folder, peers in ((python_peers, PYTHON_PEERS), (npm_peers, NPM_PEERS)):
        for name, (program, *arguments) in peers.items():
            path = (folder or CACHE) / program
            if folder is not None and path.exists():
                words = [a.format(repository=repository, folder=CACHE) for a in arguments]
                found[name] = [str(path), *words]
    return found


class Session:
    """A server that is spoken to by hand, so that no client's time is counted."""

    def __init__(self, arguments: list[str], path: str) -> None:
        self.begun, self.before, self.id = time.perf_counter(), used(), 0
        environment = {**os.environ, "PATH": path}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed server has its bytecode
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.id += 1
        self.say({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})
        assert self.process.stdout is not None
        while True:
            answer: dict[str, Any] = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.id and "method" not in answer:
                result: dict[str, Any] = answer["result"]
                return result

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def end(self) -> float:
        """CPU seconds of the server and what it started."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return used() - self.before


def used() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def started(arguments: list[str], path: str) -> tuple[float, float]:
    """Wall and CPU seconds from starting the process to its answer."""
    session = Session(arguments, path)
    session.ask("initialize", INITIALIZE["params"])  # type: ignore[arg-type]  # a mapping
    wall = time.perf_counter() - session.begun
    return wall, session.end()


def listed(arguments: list[str], path: str) -> dict[str, Any]:
    """Tokens of the list and of the instructions, and the seconds of a round trip."""
    session = Session(arguments, path)
    told = session.ask("initialize", INITIALIZE["params"])  # type: ignore[arg-type]  # a mapping
    session.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    tools = session.ask("tools/list", {})["tools"]
    took = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        session.ask("tools/list", {})
        took.append(time.perf_counter() - begun)
    session.end()
    shown = [{k: t.get(k, "") for k in ("name", "description", "inputSchema")} for t in tools]
    sizes = [len(json.dumps(t, separators=(",", ":"), ensure_ascii=False)) / 4 for t in shown]
    return {
        "tools": len(tools),
        "tokens": round(sum(sizes)),
        "largest": round(max(sizes)),
        "instructions": round(len(told.get("instructions") or "") / 4),
        "round_trip_ms": round(1e3 * statistics.median(took), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--python-peers", type=Path, help="folder of programs")
    parser.add_argument("--npm-peers", type=Path, help="folder of programs, node among them or on the path")
    given = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([*([str(given.npm_peers)] if given.npm_peers else []), os.environ.get("PATH", os.defpath)])
    found = sides(given.python_peers, given.npm_peers)
    for _ in range(given.runs):
        starts: dict[str, list[tuple[float, float]]] = {name: [] for name in found}
        for _ in range(given.starts + 1):
            for name, arguments in found.items():
                starts[name].append(started(arguments, path))
        servers = {}
        for name, arguments in found.items():
            kept = starts[name][1:]  # the first fills the page cache
            servers[name] = {
                "wall_s": round(min(w for w, _ in kept), 3),
                "cpu_s": round(statistics.median(c for _, c in kept), 3),
                **listed(arguments, path),
            }
        keep("serving", {"servers": servers, "starts": given.starts, "complete": True})
    show()


def show() -> None:
    servers = last("serving")[-1]["servers"]
    head = ("server", "start, s", "CPU, s", "round trip, ms", "tools", "tokens", "largest", "instructions")
    print(" | ".join(head))
    for name, s in servers.items():
        row = (s["wall_s"], s["cpu_s"], s["round_trip_ms"], s["tools"], s["tokens"], s["largest"], s["instructions"])
        print(" | ".join([name, *map(str, row)]))
    print(
        f"CPU beyond the bare server: {1e3 * (servers['ours']['cpu_s'] - servers['bare SDK server']['cpu_s']):.0f} ms"
    )


if __name__ == "__main__":
    main()
