"""The settings that ``diagnose_io`` recommends, against the winner of a full grid and against rules of thumb.

``python -m benchmarks.searching [--seed N] [--only NAME …]`` runs for each workload a grid (at least 36 settings, three
interleaved repeats of two seconds), the installed command with default arguments, then both winners head to head in 40
alternating blocks of half a second, and the returned code in a fresh process. About six to ten minutes per workload; each
result is kept separately, and ``--table`` prints the latest ones.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import CACHE, HERE, command, keep

NAME = "searching"
TRIAL_S, REPEATS, BLOCK_S, BLOCKS = 2.0, 3, 0.5, 40
FOREIGN = 0.15
"""Cores that others may use in a block that counts."""
HUNG_S = 20.0
FOUND_S, FOUND_SHARE = 15.0, 0.05
"""Seconds in which a recommendation is to be found, or the share of the grid's time where that is more."""
LOST = 0.8
Setting = tuple[int, int, bool, int]
"""Workers, prefetch factor, order, torch threads of a worker."""


def grid(waiting: bool, cores: int) -> list[Setting]:
    workers = [n for n in (1, 2, 4, 8, 16, 32) if n <= 16 * cores] if waiting else list(range(1, 2 * cores + 1))
    more = [(n, p, o, 1) for n in workers for p in (1, 2, 4) for o in (True, False)]
    threads = [] if waiting else [(n, p, True, 2) for n in workers for p in (1, 2, 4)]
    return [(0, 0, True, 0), *more, *threads]


class Trial:
    """A loader at one setting, kept alive; blocks of whole rounds after one that is dropped."""

    def __init__(self, name: str, seed: int, setting: Setting) -> None:
        import torch

        from benchmarks import workloads

        workers, prefetch, in_order, threads = setting
        if threads > 1:
            torch.set_num_threads(1)  # before OpenMP's threads are there: workers forked beside them would hang
        loader = getattr(workloads, name)(seed)
        more: dict[str, Any] = {}
        if workers:
            more = {"prefetch_factor": prefetch, "persistent_workers": True, "in_order": in_order}
            if threads > 1:
                more["worker_init_fn"] = _Threads(threads)
        if not isinstance(loader.dataset, torch.utils.data.IterableDataset):
            more["shuffle"] = True
        self.loader: Any = torch.utils.data.DataLoader(
            loader.dataset, batch_size=loader.batch_size, collate_fn=loader.collate_fn, num_workers=workers, **more
        )
        self.n, self.batch, self.drop = max(1, workers), loader.batch_size, max(1, workers) * (1 + prefetch)
        self.stream: Any = None

    def _next(self) -> None:
        batch = next(self.stream, None) if self.stream is not None else None
        if batch is None:
            self.stream = iter(self.loader)
            next(self.stream)

    def run(self, seconds: float) -> float:
        for _ in range(self.drop):
            self._next()
        begun, batches = time.perf_counter(), 0
        while (spent := time.perf_counter() - begun) < seconds:
            for _ in range(self.n):
                self._next()
            batches += self.n
        spent = time.perf_counter() - begun
        return float(batches * self.batch / spent)

    def close(self) -> None:
        shut = getattr(self.stream, "_shutdown_workers", None)
        if shut is not None:
            shut()
        self.stream = None


def tried(name: str, seed: int, setting: Setting, seconds: float) -> float:
    """A trial in a process of its own, forked from this one, which computes nothing: OpenMP's threads do not live
    through a fork, and a worker that is given two would wait for them for ever. NaN where it hangs."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        try:
            os.close(reading)
            trial = Trial(name, seed, setting)
            os.write(writing, struct.pack("d", trial.run(seconds)))
            trial.close()
        finally:
            os._exit(0)
    os.close(writing)
    came, _, _ = select.select([reading], [], [], HUNG_S)
    told = os.read(reading, 8) if came else b""
    os.close(reading)
    if not told:
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return float(struct.unpack("d", told)[0]) if told else float("nan")


class _Threads:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, worker: int) -> None:
        import torch

        torch.set_num_threads(self.n)


def foreign(begun: tuple[float, float, float]) -> float:
    """Cores that other processes used since ``usage()``."""
    busy, own, at = usage()
    return max(0.0, (busy - begun[0] - (own - begun[1])) / max(1e-6, at - begun[2]))


def usage() -> tuple[float, float, float]:
    with Path("/proc/stat").open() as f:
        fields = [int(v) for v in f.readline().split()[1:]]
    tick = os.sysconf("SC_CLK_TCK")
    times = os.times()
    return (sum(fields[:3]) + sum(fields[5:8])) / tick, sum(times[:4]), time.perf_counter()


def measure_grid(name: str, seed: int, settings: list[Setting]) -> tuple[dict[Setting, list[float]], float]:
    """Throughputs of every setting, the repeats interleaved, and the seconds that the grid took."""
    found: dict[Setting, list[float]] = {s: [] for s in settings}
    hung: set[Setting] = set()
    begun = time.perf_counter()
    for repeat in range(REPEATS):
        order = settings[:]
        random.Random(repeat).shuffle(order)
        for setting in order:
            rate = float("nan") if setting in hung else tried(name, seed, setting, TRIAL_S)
            if math.isnan(rate):
                hung.add(setting)  # it would again: no setting to train with
            found[setting].append(0.0 if math.isnan(rate) else rate)
    return found, time.perf_counter() - begun


def head_to_head(name: str, seed: int, ours: Setting, theirs: Setting) -> dict[str, Any]:
    """Our throughput over theirs: ratio of medians of alternating blocks, with a bootstrap interval of 90 %."""
    if ours == theirs:
        return {"ratio": 1.0, "low": 1.0, "high": 1.0, "blocks": 0, "same": True}
    rates: dict[Setting, list[float]] = {ours: [], theirs: []}
    discarded = 0
    for i in range(BLOCKS // 2):
        for setting in (ours, theirs) if i % 2 == 0 else (theirs, ours):
            mark = usage()
            rate = tried(name, seed, setting, BLOCK_S)  # made anew: an idle loader's workers would fill their queues
            if foreign(mark) > FOREIGN and discarded < BLOCKS:
                discarded += 1
            rates[setting].append(rate)
    draw = random.Random(0)
    ratios = sorted(
        statistics.median(draw.choices(rates[ours], k=len(rates[ours])))
        / statistics.median(draw.choices(rates[theirs], k=len(rates[theirs])))
        for _ in range(2000)
    )
    ratio = statistics.median(rates[ours]) / statistics.median(rates[theirs])
    return {"ratio": ratio, "low": ratios[100], "high": ratios[1899], "blocks": BLOCKS, "foreign": discarded}


def ask(name: str, seed: int) -> dict[str, Any]:
    """The installed command with default arguments: what it recommends, when it had found it, and its code."""
    begun = time.perf_counter()
    source = f"{HERE / 'workloads.py'}:{name}"
    arguments = [
        command(),
        "diagnose",
        source,
        "--root",
        str(HERE),
        "--source-args",
        json.dumps({"seed": seed}),
        "--json",
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment())
    seconds = time.perf_counter() - begun
    result = json.loads(done.stdout)
    best = result["recommended"]
    setting = (best["num_workers"], best["prefetch_factor"] or 0, best["in_order"], 1 if best["num_workers"] else 0)
    found = result["found_after_s"] + seconds - result["elapsed_s"]
    return {
        "setting": setting,
        "batch_size": best["batch_size"],
        "found_s": found,
        "throughput": best["throughput"],
        "code": result["code"],
    }


def environment() -> dict[str, str]:
    return {**os.environ, "WORKLOADS_FOLDER": str(CACHE / "workloads")}


TIMED = """
    import time
    def batches():
        while True:
            yield from loader
    stream = batches()
    for _ in range(3 * max(1, loader.num_workers) * (loader.prefetch_factor or 1)):
        next(stream)
    begun, n = time.perf_counter(), 0
    while time.perf_counter() - begun < 4:
        next(stream)
        n += 1
    print("RATE", n * {size} / (time.perf_counter() - begun))
"""


def run_code(code: str, size: int) -> float:
    """Samples/s of the returned code in a fresh process."""
    main = code.index('if __name__ == "__main__":')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.py"
        path.write_text(code[:main] + 'if __name__ == "__main__":' + TIMED.replace("{size}", str(size)))
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, check=False, env=environment(), cwd=HERE
        )
    found = re.search(r"RATE (\S+)", done.stdout)
    return float(found[1]) if found else float("nan")


def rules(found: dict[Setting, list[float]]) -> dict[str, Setting]:
    """What rules of thumb would have chosen, from the grid's own first trials."""
    first = {s: r[0] for s, r in found.items()}
    plain = {s[0]: s for s in sorted(first) if s[2] and s[3] <= 1 and s[1] in (0, 2)}
    grown = 0
    for n in sorted(plain)[1:]:
        if first[plain[n]] < 1.03 * first[plain[grown]]:
            break
        grown = n
    tuned = [s for s in first if s[2] and s[3] <= 1 and s[0] in (0, 1, 2, 4) and s[1] in (0, 2, 4)]
    top = max(first[s] for s in tuned)
    return {
        "torch's default": plain[0],
        "num_workers=4": plain[4],
        "add workers until it stops helping": plain[grown],
        "loadtune's way": min((s for s in tuned if first[s] >= 0.95 * top), key=lambda s: (s[0], s[1])),
    }


def run(name: str, seed: int) -> dict[str, Any]:
    from benchmarks import workloads

    cores = len(os.sched_getaffinity(0))
    ours = ask(name, seed)
    found, seconds = measure_grid(name, seed, grid(name in workloads.WAITING, cores))
    medians = {s: statistics.median(r) for s, r in found.items()}
    winner = max(medians, key=lambda s: medians[s])
    duel = head_to_head(name, seed, ours["setting"], winner)
    rate, interval = run_code(ours["code"], ours["batch_size"]), ours["throughput"]
    return {
        "workload": name,
        "seed": seed,
        "settings": len(found),
        "grid_s": round(seconds, 1),
        "winner": winner,
        "ours": ours["setting"],
        "found_s": round(ours["found_s"], 2),
        "duel": duel,
        "code": {"rate": rate, "low": interval["low"], "high": interval["high"]},
        "peers": {who: medians[s] / medians[winner] for who, s in rules(found).items()},
        "grid": [[*s, round(m, 1)] for s, m in medians.items()],
        "complete": True,
    }


def recent(seed: int) -> dict[str, dict[str, Any]]:
    path = HERE / "results" / f"{NAME}.jsonl"
    rows: dict[str, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        row = json.loads(line)
        if row["seed"] == seed and row["complete"]:
            rows[row["workload"]] = row
    return rows


def table(rows: dict[str, dict[str, Any]]) -> str:
    lines = [f"{'workload':10} {'ours':18} {'winner':18} ratio (90 %)           found/grid s   code inside"]
    for name, row in rows.items():
        d, c = row["duel"], row["code"]
        lines.append(
            f"{name:10} {row['ours']!s:18} {row['winner']!s:18} {d['ratio']:.3f} ({d['low']:.3f} to {d['high']:.3f})  "
            f"{row['found_s']:5.1f}/{row['grid_s']:5.0f}    {c['rate']:.0f} in {c['low'] or 0:.0f} to {c['high'] or 0:.0f}"
            + ("" if _inside(row) else " NO")
        )
    if rows:
        shares = [r["duel"]["ratio"] for r in rows.values()]
        least = min(rows, key=lambda n: rows[n]["duel"]["high"])
        lines.append(
            f"median {statistics.median(shares):.3f} of the grid's winner over {len(rows)} workloads, "
            f"least upper bound {rows[least]['duel']['high']:.3f} ({least})"
        )
        late = [n for n, r in rows.items() if r["found_s"] > max(FOUND_S, FOUND_SHARE * r["grid_s"])]
        inside = sum(_inside(r) for r in rows.values())
        lines.append(
            f"found too late: {', '.join(late) or 'none'}; code inside its interval on {inside} of {len(rows)}"
        )
        peers = next(iter(rows.values()))["peers"]
        lines += [f"  {who}: " + " ".join(f"{r['peers'][who]:.2f}" for r in rows.values()) for who in peers]
        lines.append("  best constant: " + constant(rows))
    return "\n".join(lines)


def _inside(row: dict[str, Any]) -> bool:
    code = row["code"]
    return bool(code["low"] is not None and code["low"] <= code["rate"] <= code["high"])


def constant(rows: dict[str, dict[str, Any]]) -> str:
    """The one setting with the best mean share, and its share of each workload's winner."""
    shares: dict[Setting, dict[str, float]] = {}
    for name, row in rows.items():
        top = max(g[-1] for g in row["grid"])
        for *setting, rate in row["grid"]:
            shares.setdefault(tuple(setting), {})[name] = rate / top
    whole = {s: by for s, by in shares.items() if len(by) == len(rows)}
    best = max(whole, key=lambda s: sum(whole[s].values()))
    theirs = sum(share < LOST for share in whole[best].values())
    ours = sum(row["duel"]["ratio"] < LOST for row in rows.values())
    return f"{best}: {' '.join(f'{whole[best][n]:.2f}' for n in rows)}; loses a fifth on {theirs}, ours on {ours}"


def main() -> None:
    from benchmarks import workloads

    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[w.__name__ for w in workloads.WORKLOADS])
    parser.add_argument("--table", action="store_true", help="only print what was kept")
    asked = parser.parse_args()
    os.environ["WORKLOADS_FOLDER"] = str(CACHE / "workloads")
    print(f"seed {asked.seed}")
    for name in [] if asked.table else asked.only:
        row = run(name, asked.seed)
        keep(NAME, row)
        print(table({name: row}), flush=True)
    print(table(recent(asked.seed)))


if __name__ == "__main__":
    main()
