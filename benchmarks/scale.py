"""Memory of ``dataloader-expert check`` on data far larger than memory: the whole process tree, at several sizes.

``python -m benchmarks.scale tables|texts|arrays [--gib 0.5 5 50] [--seed N]``

Half a GiB of shards is generated and repeated by hard links until the size is reached, so that every sample beyond the first
half GiB is a duplicate that must be found. Reported are wall seconds, GiB read per second, and the largest sum over all processes
of the proportional set size without mapped files (Pss_Anon and Pss_Shmem), sampled twice a second. A run of 50 GiB takes about
half an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import command, keep

BASE = 512 << 20
SHARDS = 8


def tables(path: Path, rng: Any) -> None:
    """20 numbers, a class and a key."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = BASE // SHARDS // (20 * 8)
    columns: dict[str, Any] = {f"x{i}": rng.normal(i, 1 + i, rows) for i in range(20)}
    columns["label"] = rng.integers(0, 10, rows)
    parquet.write_table(pa.table(columns), path.with_suffix(".parquet"), compression="none", row_group_size=65_536)


def texts(path: Path, rng: Any) -> None:
    """Records of some 60 words."""
    words = np.array([f"w{i:x}" for i in rng.integers(0, 1 << 24, 50_000)])
    size = 0
    with path.with_suffix(".jsonl").open("w", encoding="utf-8") as file:
        while size < BASE // SHARDS:
            text = " ".join(words[rng.integers(0, len(words), 60)])
            size += file.write(json.dumps({"text": text, "label": int(rng.integers(10))}) + "\n")


def arrays(path: Path, rng: Any) -> None:
    """One array of 256 float32 a sample."""
    rows = BASE // SHARDS // 1024
    np.savez(path.with_suffix(".npz"), x=rng.normal(0, 1, (rows, 256)).astype(np.float32), y=rng.integers(0, 10, rows))


def held(root: int) -> int:
    """Bytes of anonymous and shared memory of a process and all below it, shared pages counted once."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        children.setdefault(parent, []).append(int(entry.name))
    total, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return total << 10


def measured(folder: Path) -> dict[str, Any]:
    begun = time.perf_counter()
    most = 0
    arguments = [command(), "check", str(folder), "--root", str(folder), "--json"]
    with tempfile.TemporaryFile() as out, subprocess.Popen(arguments, stdout=out) as process:
        while process.poll() is None:
            most = max(most, held(process.pid))
            time.sleep(0.5)  # between two looks at what it holds
        out.seek(0)
        result = json.loads(out.read())
    wall = time.perf_counter() - begun
    found = {f["code"]: f["count"] for f in result["findings"]}
    return {"wall_s": wall, "held_bytes": most, "samples": result["coverage"]["samples_read"], "findings": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("tables", "texts", "arrays"))
    parser.add_argument("--gib", type=float, nargs="+", default=[0.5, 5.0, 50.0])
    parser.add_argument("--seed", type=int, default=time.time_ns() % (1 << 31))
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    top = Path(tempfile.mkdtemp(prefix="scale-"))
    print(f"seed {given.seed}")
    try:
        base = top / "base"
        base.mkdir()
        for i in range(SHARDS):
            {"tables": tables, "texts": texts, "arrays": arrays}[given.kind](base / f"shard-{i}", rng)
        shards = sorted(base.iterdir())
        size = sum(s.stat().st_size for s in shards)
        runs = []
        for gib in given.gib:
            folder = top / f"{gib}"
            folder.mkdir()
            times = max(1, round(gib * (1 << 30) / size))
            for turn in range(times):
                for shard in shards:
                    os.link(shard, folder / f"{turn:04}-{shard.name}")
            run = measured(folder) | {"gib": times * size / (1 << 30)}
            runs.append(run)
            print(
                f"{run['gib']:6.2f} GiB, {run['samples']:,} samples: {run['wall_s']:.1f} s, "
                f"{run['gib'] / run['wall_s']:.3f} GiB/s, {run['held_bytes'] / (1 << 20):,.0f} MiB held, "
                f"{run['findings'].get('duplicate-samples', 0):,} duplicates",
                flush=True,
            )
        keep("scale", {"kind": given.kind, "seed": given.seed, "runs": runs, "complete": True})
    finally:
        shutil.rmtree(top)


if __name__ == "__main__":
    main()
