"""Stage shares compared with stages of known cost, and with real code after a stage is removed.

``python -m benchmarks.attribution injected`` runs the installed command with default arguments on loaders in which a stage
takes 10, 30 or 60 %, computing or waiting, with 0 and 2 workers, on an idle machine and beside two busy processes. The
reference is the time of that stage in a plain loop in its own process, or, with workers, in workers with the same costs.
``ours`` does the same for files read by our own datasets, in a plugged-in format of known cost. ``real`` measures Pillow,
zlib, memory maps, Parquet and code that holds the interpreter lock against ablation: the same loader with the stage's output
cached, averaged over both orders of removing two stages. ``overhead`` times profiled and plain loaders in alternating blocks.
Half a minute per cell, two minutes for a real one; each result is kept separately.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import timed_format
from benchmarks.common import CACHE, HERE, command, keep

NAME = "attribution"
STAGES, SHARES = ("read", "decode", "transform", "collate"), (0.1, 0.3, 0.6)
WITHIN, WITHIN_OURS = 0.05, 0.03
BUSY = """
import os
parent = os.getppid()
while os.getppid() == parent:  # it ends with whoever was killed
    for _ in range(1_000_000):
        pass
"""
BLOCK_S, PAIRS = 4.0, 16
"""A watched or a plain block of a pair: the tool watches for up to twelve."""
PROCESSES, ROUNDS, CALLS = 4, 12, 3
"""Fresh processes of each loader of an ablation, blocks of each by turns, and calls of the tool: where a process's memory
lies bears on what its code costs, and so does the minute in which it runs."""


def ask(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The installed command's stages of a user's loader, with default arguments."""
    return diagnosed(f"{HERE / 'injected.py'}:{function}", HERE, "--source-args", json.dumps(arguments))


def diagnosed(source: str, root: Path, *more: str) -> dict[str, Any]:
    given = [command(), "diagnose", source, "--root", str(root), "--json", *more]
    done = subprocess.run(given, capture_output=True, text=True, check=False, env=environment())
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def environment() -> dict[str, str]:
    return {**os.environ, "WORKLOADS_FOLDER": str(CACHE / "workloads")}


@contextmanager
def busy(n: int) -> Iterator[None]:
    """``n`` processes that compute beside what is measured."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(n)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def shares_of(result: dict[str, Any]) -> dict[str, float]:
    return {s["name"]: s["share"]["value"] for s in result["stages"]}


@functools.cache
def truth(module: str, *given: str, others: int) -> dict[str, float]:
    """The stages' shares of a loop beside as many busy processes, in a fresh process."""
    with busy(others):
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{module}", *given],
            capture_output=True, text=True, check=True, env=environment(), cwd=HERE.parent,
        )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def injected(limit: int | None, ours: bool, only: list[str]) -> None:
    stages = [s for s in (("read", "decode") if ours else STAGES) if not only or s in only]
    cells = list(itertools.product(stages, SHARES, (False, True), (0, 2), (0, 2)))
    if limit is not None:  # every so many, over all stages and loads
        cells = cells[:: max(1, len(cells) // limit)]
    rows = []
    for stage, share, waits, workers, others in cells:
        if ours:
            data = timed_format.write(CACHE / "timed", stage, share, waits)
            given = ("--format", "timed", "--num-workers", str(workers), "--batch-size", "8")
            with timed_format.installed():
                true = truth("timed_format", str(data), str(workers), others=others)
                with busy(others):
                    result = diagnosed(str(data), data, *given)
            second = "decode" if stage == "read" else "read"
        else:
            asked = {"stage": stage, "share": share, "waits": waits, "workers": workers}
            true = truth("injected", "truth", json.dumps(asked), others=others)
            with busy(others):
                result = ask("parts", asked)
            second = "transform" if stage == "decode" else "decode"
        found = shares_of(result)
        errors = {s: found.get(s, 0.0) - true[s] for s in (stage, second)}
        right = result["bottleneck"] == (stage if share > 0.5 else second)
        row = {
            "kind": "ours" if ours else "injected",
            "cell": [stage, share, "waits" if waits else "works", workers, others],
            "true": {s: round(true[s], 4) for s in errors},
            "errors": {k: round(v, 4) for k, v in errors.items()},
            "right": right,
            "overhead": result["overhead"],
            "elapsed_s": result["elapsed_s"],
        }
        keep(NAME, row)
        rows.append(row)
        print(row["cell"], row["errors"], "bottleneck", "right" if right else "WRONG", flush=True)
    told(rows, WITHIN_OURS if ours else WITHIN)


def told(rows: list[dict[str, Any]], within: float = WITHIN) -> None:
    worst = [max(abs(v) for v in r["errors"].values()) for r in rows]
    inside, right = sum(w <= within for w in worst), sum(r["right"] for r in rows)
    print(
        f"{inside} of {len(rows)} within {100 * within:.0f} points (median {statistics.median(worst):.3f}, worst ",
        end="",
    )
    print(f"{max(worst):.3f}); bottleneck right in {right}")


def ablated(name: str, stages: tuple[str, str]) -> tuple[dict[str, float], dict[str, float]]:
    """What a sample saves without each of two stages, over the whole sample, and the mean of leaving it out of the whole
    and of what is left without the other: the two differ where one stage bears on what the other costs (what it reads
    lies in a cache; together they free enough for the allocator to give it back). Errors are those against the mean.
    Medians of blocks that alternate between the four loaders, in fresh processes.
    """
    alone: dict[str, list[float]] = {s: [] for s in stages}
    orders: dict[str, list[float]] = {s: [] for s in stages}
    ways = ((), (stages[0],), (stages[1],), stages)
    for _ in range(PROCESSES):
        given = [[sys.executable, "-m", "benchmarks.injected", name, *held] for held in ways]
        loaders: list[subprocess.Popen[str]] = []
        for each in given:
            loaders.append(
                subprocess.Popen(
                    each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(), cwd=HERE.parent
                )
            )
            _block(loaders[-1])  # one after the other: the first makes the files
        for _ in range(ROUNDS):
            took = {held: _block(loader) for held, loader in zip(ways, loaders, strict=True)}
            for stage, other in (stages, stages[::-1]):
                saved = took[()] - took[(stage,)]
                alone[stage].append(saved / took[()])
                orders[stage].append((saved + took[(other,)] - took[stages]) / 2 / took[()])
        for loader in loaders:
            loader.communicate()
    one, both = ({s: round(statistics.median(v), 4) for s, v in found.items()} for found in (alone, orders))
    return one, both


def _block(loader: subprocess.Popen[str]) -> float:
    assert loader.stdin is not None and loader.stdout is not None
    loader.stdin.write("\n")
    loader.stdin.flush()
    return float(loader.stdout.readline())


def real(only: list[str]) -> None:
    from benchmarks import injected as users

    named: Any = users
    rows = []
    for name, stages in named.REAL.items():
        if only and name not in only:
            continue
        true, orders = ablated(name, stages)
        results = [ask("real", {"name": name}) for _ in range(CALLS)]
        shares = [shares_of(r) for r in results]
        errors = {s: statistics.median(found.get(s, 0.0) for found in shares) - share for s, share in orders.items()}
        top = max(true, key=lambda s: true[s])
        spots = [r["hotspots"][0] for r in results if r["hotspots"]]
        row: dict[str, Any] = {
            "kind": "real",
            "cell": [name],
            "true": true,
            "both_orders": orders,
            "errors": {k: round(v, 4) for k, v in errors.items()},
            "unattributed": round(statistics.median(found.get("unattributed", 0.0) for found in shares), 4),
            "right": all(r["bottleneck"] == top for r in results),
            "hotspot": [[spot[k] for k in ("function", "line", "stage")] for spot in spots],
            "overhead": [r["overhead"] for r in results],
        }
        keep(NAME, row)
        rows.append(row)
        print(
            name, "ablation", true, orders, "error", row["errors"], row["unattributed"], row["hotspot"][0], flush=True
        )
    told(rows)


def overhead() -> None:
    """Throughput of a watched loader over a plain one, in alternating blocks, at samples of 1, 3 and 10 ms."""
    from benchmarks import workloads
    from dataloader_expert.probes.profile.instrumentation import Watch, watching
    from dataloader_expert.probes.profile.sampling_profiler import Ticker
    from dataloader_expert.probes.profile.stages import EVERY_S

    users: Any = workloads
    for cpu, workers in itertools.product((0.001, 0.003, 0.010), (0, 2)):
        ratios = []
        for i in range(PAIRS):
            rates = {}
            for watch_it in (True, False) if i % 2 else (False, True):
                loader = users.shuffled(users.Costs(cpu=cpu), batch_size=16)
                loader = type(loader)(loader.dataset, batch_size=16, num_workers=workers)
                ticker = Ticker(workers, EVERY_S, cpu) if watch_it else None
                watch = Watch("unattributed", lambda index: None, len, ticker)
                with watching(watch) if watch_it else busy(0):
                    stream = iter(loader)
                    for _ in range(3 * max(1, workers)):
                        next(stream)
                    begun, n = time.perf_counter(), 0
                    while time.perf_counter() - begun < BLOCK_S:
                        for _ in range(max(1, workers)):
                            next(stream)
                        n += max(1, workers)
                    rates[watch_it] = n / (time.perf_counter() - begun)
                    del stream
                if ticker is not None:
                    ticker.finish()
                watch.close()
            ratios.append(rates[False] / rates[True] - 1)
        row = {"kind": "overhead", "cell": [cpu, workers], "median": statistics.median(ratios), "all": ratios}
        keep(NAME, row)
        print(f"{1e3 * cpu:.0f} ms, {workers} workers: {row['median']:+.2%} (of {len(ratios)} pairs)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("injected", "ours", "real", "overhead"))
    parser.add_argument("--cells", type=int, default=None, help="run about N of the injected cells, spread evenly")
    parser.add_argument("--only", nargs="+", default=[], help="only these stages, or these names of real ones")
    asked = parser.parse_args()
    parts = {
        "injected": lambda: injected(asked.cells, False, asked.only),
        "ours": lambda: injected(asked.cells, True, asked.only),
        "real": lambda: real(asked.only),
        "overhead": overhead,
    }
    parts[asked.part]()


if __name__ == "__main__":
    main()
