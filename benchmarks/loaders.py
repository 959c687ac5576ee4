"""Loaders drawn at random: what ``diagnose_io`` recommends for them, against a small grid.

``python -m benchmarks.loaders [--seed N] [--count N] [--table]`` draws loaders from a seed (taken from the clock, and printed,
if none is given): what a sample costs and how evenly, whether it waits, computes, or queues for a store; collating, worker
start-up, length, batch size, kind and present settings. For each, the installed command runs with default arguments; then every
number of workers of a grid, and the recommended settings, run in a fresh process; where another setting was faster, both run
twice more, in turn, and these runs are compared. No rate counts for more than what the drawn costs allow: many workers deliver
in bursts, of which a short run may see one. About a minute and a half per loader.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import command, keep, last

NAME = "loaders"
GRID = (0, 1, 2, 4, 8, 16, 32)
TIMED_S, LIMIT_S = 2.0, 12.0
Setting = tuple[int, int, bool, bool]
SOURCE = """
import contextlib, multiprocessing, random, sys, time
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, get_worker_info

P = {parameters}
SLOTS = multiprocessing.Semaphore(P["slots"]) if P["slots"] else None


def spend(index):
    draw = random.Random(index)
    scale = {{"even": 1.0, "uneven": draw.lognormvariate(-0.32, 0.8), "rare": 10.0 if draw.random() < 0.05 else 0.53}}[P["tail"]]
    if P["cpu_s"]:
        end = time.thread_time() + P["cpu_s"] * scale
        while time.thread_time() < end:
            pass
    if P["wait_s"]:  # a store's answer, which is what is measured
        with SLOTS or contextlib.nullcontext():
            time.sleep(P["wait_s"] * scale)
    return torch.full((16,), float(index))


class Map(Dataset):
    def __len__(self):
        return P["length"]

    def __getitem__(self, index):
        return spend(index)


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for index in range(first, P["length"], step):
            yield spend(index)


def collate(samples):
    if P["collate_s"]:
        end = time.thread_time() + P["collate_s"]
        while time.thread_time() < end:
            pass
    return torch.stack(samples)


def start(worker):
    time.sleep(P["start_s"])  # imports, or a connection that is made


def make(workers=P["workers"], prefetch=P["prefetch"], in_order=True, persistent=P["persistent"]):
    more = {{"collate_fn": collate, "worker_init_fn": start if P["start_s"] else None}}
    if workers:
        more |= {{"prefetch_factor": prefetch, "persistent_workers": persistent, "in_order": in_order}}
    if P["kind"] == "stream":
        return DataLoader(Stream(), batch_size=P["batch_size"], num_workers=workers, **more)
    data = Map()
    if P["kind"] == "batch_sampler":
        batches = BatchSampler(RandomSampler(data), P["batch_size"], False)
        return DataLoader(data, batch_sampler=batches, num_workers=workers, **more)
    return DataLoader(data, batch_size=P["batch_size"], shuffle=True, num_workers=workers, **more)


def rate(workers, prefetch, in_order, persistent, timed_s, limit_s):
    # samples/s over whole epochs, or in the steady state of one that is longer than the time allowed
    began = time.perf_counter()
    loader = make(workers, prefetch or None, in_order, persistent)
    seen, marks, ends = 0, [], []
    while True:
        for batch in loader:
            seen += len(batch)
            marks.append((time.perf_counter(), seen))
            rounds = max(1, workers) * (1 + max(2, prefetch))
            long = len(marks) >= 3 * rounds + max(4, workers) and marks[-1][0] - marks[rounds][0] > timed_s
            late = marks[-1][0] - began > limit_s and len(marks) > max(1, workers) * (4 + max(2, prefetch))
            if (not ends and long) or late or marks[-1][0] - began > 4 * limit_s:  # after what was ready, at least four whole rounds, or else the whole epoch
                break
        else:
            ends.append(marks[-1][0])
            if len(ends) < 3 or ends[-1] - began < timed_s:
                continue
        break
    if len(ends) > 1 and persistent:  # whole epochs; workers that persist have started in the first
        return (len(ends) - 1) * P["length"] / (ends[-1] - ends[0])
    if ends:  # with the start of each
        return len(ends) * P["length"] / (ends[-1] - began)
    first = min(len(marks) - 2, max(1, workers) * max(2, prefetch))
    whole = (len(marks) - 1 - first) // max(1, workers) * max(1, workers)
    if whole < max(1, workers):
        return float("nan")  # batches arrive in rounds of all workers
    (t0, s0), (t1, s1) = marks[first], marks[first + whole]
    steady = (s1 - s0) / (t1 - t0)
    if not workers or persistent:
        return steady
    ahead = min(P["length"], workers * P["batch_size"])
    return P["length"] / (marks[0][0] - began + (P["length"] - ahead) / steady)


if __name__ == "__main__":
    import json, os
    timed_s, limit_s, settings = json.loads(sys.argv[1])
    for one in settings:  # each in a process of its own, which has imported and nothing else
        pid = os.fork()
        if pid == 0:
            os.setsid()
            SLOTS = SLOTS and multiprocessing.Semaphore(P["slots"])  # workers that were killed may have held the last one
            with open(sys.argv[0] + ".rate", "w") as out:
                out.write(str(rate(*one, timed_s, limit_s)))
            os._exit(0)
        _, failed = os.waitpid(pid, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, 9)  # its workers may be in the middle of a batch
        print("nan" if failed else open(sys.argv[0] + ".rate").read(), flush=True)
"""


def drawn(draw: random.Random) -> dict[str, Any]:
    """One loader's parameters; a batch takes at most four seconds of one process."""
    kind = draw.choice(["map", "map", "map", "stream", "batch_sampler"])
    nature = draw.choice(["cpu", "wait", "both", "store"])
    cost = 10 ** draw.uniform(-4.5, -1.0)
    cpu = min(0.01, cost) if nature in ("cpu", "both") else min(1e-4, cost / 10)
    wait = cost if nature != "cpu" else 0.0
    size = max(1, min(draw.choice([1, 4, 16, 32, 64, 256]), int(4.0 / (cpu + wait))))
    length = max(size * 2, int(10 ** draw.uniform(1.6, 4.7)))
    workers = draw.choice([0, 0, 1, 2, 4, 8, 16])
    return {
        "kind": kind, "cpu_s": cpu, "wait_s": wait, "tail": draw.choice(["even", "even", "uneven", "rare"]),
        "slots": draw.choice([1, 2, 4, 8]) if nature == "store" else 0,
        "collate_s": draw.choice([0.0, 0.0, 0.0, size * cpu]), "start_s": draw.choice([0.0, 0.0, 0.0, 1.0]),
        "length": length, "batch_size": size, "workers": workers, "persistent": draw.random() < 0.3 and workers > 0,
        "prefetch": draw.choice([2, 2, 4]) if workers else None,
    }  # fmt: skip


def possible(parameters: dict[str, Any], workers: int) -> float:
    """The most samples/s that the drawn costs allow: as many at a time as there are processes, cores and the store's slots."""
    indices = range(min(parameters["length"], 20_000))
    scale = 1.0
    if parameters["tail"] == "uneven":
        scale = statistics.fmean(random.Random(i).lognormvariate(-0.32, 0.8) for i in indices)
    elif parameters["tail"] == "rare":
        draws = [random.Random(i) for i in indices]
        for draw in draws:
            draw.lognormvariate(-0.32, 0.8)  # as the loader does first
        scale = statistics.fmean(10.0 if draw.random() < 0.05 else 0.53 for draw in draws)
    cpu: float = parameters["cpu_s"] * scale + parameters["collate_s"] / parameters["batch_size"]
    wait: float = parameters["wait_s"] * scale
    processes = max(1, workers)
    return min(
        processes / (cpu + wait),
        min(processes, os.cpu_count() or 1) / cpu if cpu else math.inf,
        parameters["slots"] / wait if parameters["slots"] and wait else math.inf,
    )


def rates(file: Path, settings: list[Setting]) -> dict[Setting, float]:
    """Samples/s of the loader at each of these settings, each in a process of its own."""
    argv = [sys.executable, "-W", "ignore", str(file), json.dumps([TIMED_S, LIMIT_S, settings])]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=10 * LIMIT_S * len(settings), check=True)
    return dict(zip(settings, map(float, done.stdout.split()), strict=True))


def counted(parameters: dict[str, Any], rate: dict[Setting, float]) -> dict[Setting, float]:
    """The rates, none for more than is possible."""
    return {s: min(r, possible(parameters, s[0])) if r == r else 0.0 for s, r in rate.items()}


def beside(parameters: dict[str, Any], file: Path, chosen: Setting, top: Setting) -> float:
    """The rate at ``chosen`` over that at ``top``, each afresh and twice: the highest of many rates was lucky too."""
    there, back = (counted(parameters, rates(file, order)) for order in ([top, chosen], [chosen, top]))
    return (there[chosen] + back[chosen]) / (there[top] + back[top])


def claimed(speedup: dict[str, Any] | None) -> float:
    """The gain that the result claims: one whose interval excludes a loss; others are told as probable."""
    return float(speedup["value"]) if speedup and (speedup["low"] or 0.0) > 1 else 1.0


def one(parameters: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loader.py"
        file.write_text(SOURCE.format(parameters=repr(parameters)))
        argv = [command(), "diagnose", f"{file}:make", "--root", folder, "--json"]
        begun = time.monotonic()
        told = json.loads(subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False).stdout)
        took = time.monotonic() - begun
        best = told.get("recommended")
        kept = parameters["persistent"]
        given = (parameters["workers"], parameters["prefetch"] or 0, True, kept)
        chosen = given
        if best:
            chosen = (
                best["num_workers"], best["prefetch_factor"] or 0, best["in_order"], best["persistent_workers"],
            )  # fmt: skip
        grid = ((n, given[1] or 2, True, kept) if n else (0, 0, True, False) for n in GRID)
        rate = rates(file, sorted({given, chosen, *grid}))
        sure = counted(parameters, rate)
        top = max(sure, key=lambda s: sure[s])
        of_best = 1.0 if sure[chosen] == sure[top] else beside(parameters, file, chosen, top)
    return {
        "parameters": parameters, "took_s": round(took, 1), "summary": told.get("summary"),
        "measured": best is not None, "chosen": chosen, "best": top, "of_best": of_best,
        "over_present": rate[chosen] / rate[given], "claimed": claimed(told.get("speedup")), "speedup": told.get("speedup"),
        "said_more": any(n["tool"] == "diagnose_io" for n in told.get("next", [])),
        "rates": [[*s, r] for s, r in rate.items()],
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    near = [r["of_best"] for r in rows]
    lines = [
        f"{len(rows)} loaders: recommended over the grid's best {statistics.median(near):.3f} in the median, "
        f"{sum(n >= 0.9 for n in near)} at 0.9 or more",
        f"not measured: {sum(not r['measured'] for r in rows)}",
        f"below 0.9 and not said: {sum(r['of_best'] < 0.9 and not r['said_more'] for r in rows)}",
        f"gains claimed that a fresh run does not show: "
        f"{sum((r['claimed'] or 1) > 1 and r['over_present'] < 1 for r in rows)}",
        f"the command took {statistics.median(r['took_s'] for r in rows):.1f} s in the median",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--table", action="store_true", help="of the last three runs; nothing is run")
    args = parser.parse_args()
    if args.table:
        print(table([row for run in last(NAME) for row in run["loaders"]]))
        return
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 31)
    draw, rows = random.Random(seed), []
    print(f"seed {seed}", flush=True)
    for _ in range(args.count):
        rows.append(one(drawn(draw)))
        row = rows[-1]
        print(
            f"{row['of_best']:.3f} {row['chosen']} of {row['best']} {row['parameters']}\n  {row['summary']}", flush=True
        )
    keep(NAME, {"seed": seed, "complete": True, "loaders": rows})
    print(table(rows))


if __name__ == "__main__":
    main()
