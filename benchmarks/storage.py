"""Cold storage compared with ``dd``, and memory that is not a disk: what ``diagnose_io`` reports for a gigabyte dropped from the cache.

``python -m benchmarks.storage`` writes 1 GiB of shards once, then alternates: drop them from the page cache and read them with
``dd``; run the installed command, which drops what it reads by itself. Files on tmpfs have no cold figure.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import CACHE, command, keep

NAME, FILES, ROWS, WIDTH, TURNS = "storage", 16, 4096, 4096, 3


def shards(folder: Path, files: int) -> list[Path]:
    """Files of 64 MiB of bytes that no disk makes smaller."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    paths = [folder / f"{i:02}.npz" for i in range(files)]
    for path in paths:
        if not path.exists():
            np.savez(path, rows=rng.integers(0, 256, (ROWS, WIDTH * 4), np.uint8))
    os.sync()
    return paths


def dropped(paths: list[Path]) -> None:
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def by_dd(paths: list[Path]) -> float:
    """MB/s of reading every file with dd, none in the cache, by the seconds that dd itself tells."""
    dropped(paths)
    spent = 0.0
    for path in paths:
        reading = ["dd", f"if={path}", "of=/dev/null", "bs=1M"]
        done = subprocess.run(reading, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
        told = re.search(r"copied, ([0-9.e-]+) s", done.stderr)
        if told is None:
            raise RuntimeError(f"dd says no time: {done.stderr[-200:]}")
        spent += float(told[1])
    return sum(p.stat().st_size for p in paths) / spent / 1e6


def asked(folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [command(), "diagnose", str(folder), "--root", str(folder), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    why = [u["why"] for u in result["unknowns"] if "cold" in u["what"]]
    return {"cold": result["storage"]["cold_mb_s"], "warm": result["storage"]["warm_mb_s"], "why": why}


def main() -> None:
    paths = shards(CACHE / "gigabyte", FILES)
    rows = []
    for _ in range(TURNS):
        dd, told = by_dd(paths), asked(paths[0].parent)
        cold = told["cold"]["value"] if told["cold"] else None
        rows.append({"dd": dd, "cold": cold, "warm": told["warm"]["value"], "why": told["why"]})
        print(
            f"dd {dd:.0f} MB/s, cold {cold and round(cold)} MB/s, warm {rows[-1]['warm']:.0f} MB/s {told['why']}",
            flush=True,
        )
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        shards(Path(folder), 1)
        memory = asked(Path(folder))
    ratios = [r["cold"] / r["dd"] for r in rows if r["cold"]]
    ratio = statistics.median(ratios) if ratios else None
    print(f"cold over dd {ratio}; on tmpfs cold {memory['cold']} ({memory['why']})")
    keep(NAME, {"rows": rows, "ratio": ratio, "tmpfs": memory, "complete": len(ratios) == TURNS})


if __name__ == "__main__":
    main()
