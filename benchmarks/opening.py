"""How long the server takes to answer ``initialize``, compared with a bare server on the same SDK, in alternating pairs.

``python -m benchmarks.opening`` starts each as a process, sends ``initialize`` over stdio and times the answer.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

from benchmarks.common import CACHE, command, keep, last

BARE = '''
from mcp.server import MCPServer

mcp = MCPServer("bare", log_level="WARNING")


@mcp.tool()
def echo(text: str) -> str:
    """Gives the text back."""
    return text


mcp.run()
'''
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}


def opening(arguments: list[str]) -> float:
    """Seconds from starting the process to its answer."""
    begun = time.perf_counter()
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    spent = time.perf_counter() - begun
    process.kill()
    process.wait()
    if "result" not in answer:
        raise RuntimeError(f"no answer: {answer}")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=7)
    given = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    bare = CACHE / "bare.py"
    bare.write_text(BARE)
    for _ in range(given.runs):
        pairs = []
        for i in range(given.pairs + 1):
            sides = [[sys.executable, str(bare)], [command(), "serve", "--root", str(CACHE)]]
            order = (0, 1) if i % 2 == 0 else (1, 0)
            took = {side: opening(sides[side]) for side in order}
            pairs.append([round(took[0], 4), round(took[1], 4)])
        kept = pairs[1:]  # the first pair fills the page cache
        ratio = statistics.median(ours / theirs for theirs, ours in kept)
        keep("opening", {"pairs": pairs, "discarded": 1, "ratio": ratio, "complete": True})
    show()


def show() -> None:
    runs = last("opening")
    ratios = [r["ratio"] for r in runs]
    bare = statistics.median(p[0] for r in runs for p in r["pairs"][1:])
    ours = statistics.median(p[1] for r in runs for p in r["pairs"][1:])
    print(
        f"initialize: bare server {bare:.2f} s, ours {ours:.2f} s, ratio {statistics.median(ratios):.2f} ({len(runs)} runs)"
    )


if __name__ == "__main__":
    main()
