"""Cold start, round trips and tokens of the tool list, compared with well-known MCP servers and a bare server on the same SDK.

``python -m benchmarks.cold_start --peers DIR`` starts each server as its own process, one after the other, in several rounds
with rotating order. For each it reports the CPU time until it has answered ``initialize`` and ``tools/list`` (including its
children), the wall time until then, the peak resident memory, the round trips, and the tokens of its list. CPU time is the
figure that a loaded machine inflates least. Figures are medians over rounds, without the first.

``--install`` fills DIR through npm and pip with the peers below and the o200k tokenizer. Python servers run with compiled
bytecode, as after any first start. Nothing is sent to a network: servers are only asked for their lists.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import CACHE, command, keep, last
from benchmarks.opening import BARE, INITIALIZE

NPM = (
    "node@22",
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-memory",
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/server-sequential-thinking",
    "@upstash/context7-mcp",
    "@playwright/mcp",
    "chrome-devtools-mcp",
    "gpt-tokenizer",
)
PIP = ("mcp-server-fetch", "mcp-server-git", "mcp-server-time", "mcp-server-motherduck")
LONGEST_S = 60.0
TOKENS = """
const {countTokens} = require("gpt-tokenizer/encoding/o200k_base");
let text = ""; process.stdin.on("data", d => text += d);
process.stdin.on("end", () => console.log(JSON.stringify(JSON.parse(text).map(t => countTokens(t)))));
"""
BAR_MS = 100
"""What ours may take beyond the bare server, CPU milliseconds."""


@dataclass(frozen=True)
class Server:
    name: str
    command: tuple[str, ...]


def servers(peers: Path) -> list[Server]:
    """Ours, the bare one, and each peer that is installed."""
    CACHE.mkdir(parents=True, exist_ok=True)
    bare = CACHE / "bare.py"
    bare.write_text(BARE)
    modules, node = peers / "node_modules" / ".bin", str(peers / "node_modules" / ".bin" / "node")
    root = str(CACHE)
    placed = {
        "filesystem": ("mcp-server-filesystem", root),
        "memory": ("mcp-server-memory",),
        "everything": ("mcp-server-everything",),
        "sequential-thinking": ("mcp-server-sequential-thinking",),
        "context7": ("context7-mcp",),
        "playwright": ("playwright-mcp", "--headless"),
        "chrome-devtools": ("chrome-devtools-mcp", "--headless", "--usageStatistics=false"),
    }
    python = {
        "fetch": ("mcp-server-fetch",),
        "git": ("mcp-server-git",),
        "time": ("mcp-server-time",),
        "motherduck": ("mcp-server-motherduck", "--db-path", ":memory:", "--read-write"),
    }
    found = [
        Server("dataloader-expert", (command(), "serve", "--root", root)),
        Server("bare server on the same SDK", (sys.executable, str(bare))),
    ]
    for name, (program, *more) in placed.items():
        if (modules / program).exists():
            found.append(Server(name, (node, str((modules / program).resolve()), *more)))
    for name, (program, *more) in python.items():
        if (peers / "py" / "bin" / program).exists():
            found.append(Server(name, (str(peers / "py" / "bin" / program), *more)))
    return found


def install(peers: Path) -> None:
    """The peers, by npm and pip; no browser is fetched."""
    peers.mkdir(parents=True, exist_ok=True)
    quiet = {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "PUPPETEER_SKIP_DOWNLOAD": "1"}
    subprocess.run(
        ["npm", "install", "--no-fund", "--no-audit", *NPM], cwd=peers, env={**os.environ, **quiet}, check=True
    )
    subprocess.run([sys.executable, "-m", "venv", "py"], cwd=peers, check=True)
    subprocess.run([peers / "py" / "bin" / "pip", "install", "-q", *PIP], cwd=peers, check=True)


class Talk:
    """A server process and JSON-RPC with it, line by line."""

    def __init__(self, server: Server) -> None:
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            server.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        self.buffer, self.id = b"", 0

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.id += 1
        self.send({"id": self.id, "method": method, "params": params})
        for message in self.messages():
            if message.get("id") == self.id and "method" not in message:
                result: dict[str, Any] = message["result"]
                return result
        raise RuntimeError("the server ended")

    def messages(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        until = time.perf_counter() + LONGEST_S
        while True:
            line, found, rest = self.buffer.partition(b"\n")
            if found:
                self.buffer = rest
                if line.startswith(b"{"):
                    yield json.loads(line)
                continue
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.perf_counter()))
            piece = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("no answer")
            self.buffer += piece

    def cpu(self) -> float:
        """CPU seconds of the process and of its living descendants."""
        return sum(_spent(pid) for pid in _family(self.process.pid))

    def end(self) -> tuple[float, float]:
        """CPU seconds of the whole life, children that were waited for included, and peak resident MiB."""
        family = _family(self.process.pid)
        self.process.kill()
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = -9
        for pid in family[1:]:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(p for child in children for p in _family(int(child)))]


def _spent(pid: int) -> float:
    """By the process's own CPU clock, in nanoseconds; its children that have ended by the kernel's ticks."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        own = time.clock_gettime((~pid << 3) | 2)  # clock_getcpuclockid(3) of a process
    except OSError:
        return 0.0
    return own + sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")


def measured(server: Server, trips: int) -> dict[str, Any]:
    """One cold start: seconds until ``initialize`` and until the list, CPU until then, then round trips of a ping."""
    talk = Talk(server)
    try:
        about = talk.ask("initialize", INITIALIZE["params"])  # type: ignore[arg-type]  # a dict of dicts
        answered = time.perf_counter() - talk.begun
        talk.send({"method": "notifications/initialized"})
        listed = talk.ask("tools/list", {})
        wall, cpu = time.perf_counter() - talk.begun, talk.cpu()
        took = []
        for _ in range(trips):
            begun = time.perf_counter()
            talk.ask("ping", {})
            took.append(time.perf_counter() - begun)
    finally:
        _, peak = talk.end()
    return {
        "initialize_s": round(answered, 4),
        "listed_s": round(wall, 4),
        "cpu_s": round(cpu, 4),
        "peak_mib": round(peak, 1),
        "ping_ms": round(1e3 * statistics.median(took), 3) if took else None,
        "tools": listed["tools"],
        "instructions": about.get("instructions") or "",
    }


def seen(tool: dict[str, Any]) -> str:
    """What a client shows its model of a tool: name, description and input schema."""
    schema = json.dumps(tool["inputSchema"], ensure_ascii=False, separators=(",", ":"))
    return f"{tool['name']}\n{tool.get('description', '')}\n{schema}"


def tokens(texts: list[str], peers: Path) -> list[int] | None:
    """Tokens by o200k; None where the tokenizer is not installed."""
    node = peers / "node_modules" / ".bin" / "node"
    if not (peers / "node_modules" / "gpt-tokenizer").exists():
        return None
    done = subprocess.run(
        [node, "-e", TOKENS], input=json.dumps(texts), cwd=peers, capture_output=True, text=True, check=True
    )
    counted: list[int] = json.loads(done.stdout)
    return counted


def run(peers: Path, rounds: int, trips: int) -> dict[str, Any]:
    there = servers(peers)
    taken: dict[str, list[dict[str, Any]]] = {s.name: [] for s in there}
    units = [there[:2], *([peer] for peer in there[2:])]  # ours and the bare server are neighbours in time
    for number in range(rounds + 1):
        at = number % len(units)
        turned = [server for unit in units[at:] + units[:at] for server in (unit if number % 2 else unit[::-1])]
        for server in turned:
            taken[server.name].append(measured(server, trips))
            print(f"round {number}: {server.name} {taken[server.name][-1]['cpu_s']:.2f} s CPU", file=sys.stderr)
    told = {}
    for name, runs in taken.items():
        tools, instructions = runs[-1]["tools"], runs[-1]["instructions"]
        texts = [*map(seen, tools), instructions]
        counted = tokens(texts, peers)
        told[name] = {
            "starts": [{k: v for k, v in r.items() if k not in ("tools", "instructions")} for r in runs],
            "tools": len(tools),
            "characters": sum(map(len, texts[:-1])),
            "tokens": None if counted is None else sum(counted[:-1]),
            "largest_tool_tokens": None if counted is None else max(counted[:-1], default=0),
            "instructions_tokens": None if counted is None else counted[-1],
        }
    return {"servers": told, "discarded": 1, "complete": len(there) >= 8}


def show() -> None:
    """A table of the last run, and how far ours is from the bare server, of each kept run."""
    runs = last("cold_start")
    if not runs:
        return
    columns = ("CPU s", "initialize s", "list s", "peak MiB", "ping ms", "tools", "tokens", "largest", "instructions")
    print(f"{'server':<30}" + "".join(f"{c:>14}" for c in columns))
    for name, one in runs[-1]["servers"].items():
        keys = ("cpu_s", "initialize_s", "listed_s", "peak_mib", "ping_ms")
        figures = [f"{statistics.median(s[k] for s in one['starts'][1:]):.2f}" for k in keys]
        counted = [str(one[k]) for k in ("tools", "tokens", "largest_tool_tokens", "instructions_tokens")]
        print(f"{name:<30}" + "".join(f"{f:>14}" for f in (*figures, *counted)))
    each = [beyond_ms(one["servers"]) for one in runs]
    told = ", ".join(f"{beyond:.0f}" for beyond in each)
    print(
        f"CPU beyond the bare server: {statistics.median(each):.0f} ms, the median of {len(runs)} runs ({told}, each the "
        f"median of its pairs); at most {BAR_MS} wanted"
    )


def beyond_ms(taken: dict[str, Any]) -> float:
    """CPU milliseconds that ours takes beyond the bare server, the median over rounds: neighbours in time are compared."""
    ours, bare = (taken[name]["starts"][1:] for name in ("dataloader-expert", "bare server on the same SDK"))
    beyond: list[float] = [a["cpu_s"] - b["cpu_s"] for a, b in zip(ours, bare, strict=True)]
    return 1e3 * statistics.median(beyond)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, default=CACHE / "peers")
    parser.add_argument("--install", action="store_true", help="install the peers first, by npm and pip")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--trips", type=int, default=200)
    parser.add_argument("--show", action="store_true", help="only show what was kept")
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if given.install:
        install(given.peers.resolve())
    if not given.show:
        keep("cold_start", run(given.peers.resolve(), given.rounds, given.trips))
    show()


if __name__ == "__main__":
    main()
