"""No noise reported as a gain: ten ``diagnose_io`` calls on a loader that cannot be improved, ten on one that waits.

``python -m benchmarks.noise`` writes a module with two datasets: rows in memory (no number of workers helps) and one that waits
8 ms per sample (every worker helps). On the first, no call may claim a ``speedup`` whose ``low`` exceeds 1; on the second, the
recommended throughputs must agree within 3 %.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from benchmarks.common import CACHE, client, keep, last, timed_call

MODULE = '''
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    """Rows in memory: as good as it gets."""

    def __init__(self):
        self.x = torch.randn(20_000, 32, generator=torch.Generator().manual_seed(0))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], index % 10


class Waits(Dataset):
    """Waits 8 ms a sample."""

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        time.sleep(0.008)
        return torch.full((16,), float(index)), index % 10


def good():
    return DataLoader(Rows(), batch_size=64, shuffle=True)
'''


async def run(calls: int) -> dict[str, Any]:
    folder = CACHE / "noise"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "datasets.py").write_text(MODULE)
    good, waits = [], []
    async with client(folder) as opened:
        for _ in range(calls):
            _, r = await timed_call(opened, "diagnose_io", {"source": f"{folder}/datasets.py:good"})
            good.append({"speedup": r["speedup"], "recommended": r["recommended"]["num_workers"]})
            _, r = await timed_call(opened, "diagnose_io", {"source": f"{folder}/datasets.py:Waits"})
            waits.append(
                {
                    "throughput": r["recommended"]["throughput"]["value"],
                    "workers": r["recommended"]["num_workers"],
                    "speedup": r["speedup"],
                }
            )
    return {"good": good, "waits": waits, "complete": len(good) == calls}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--calls", type=int, default=10)
    given = parser.parse_args()
    for _ in range(given.runs):
        keep("noise", asyncio.run(run(given.calls)))
    show()


def show() -> None:
    for run_ in last("noise"):
        claims = [g for g in run_["good"] if (g["speedup"]["low"] or 0) > 1]
        values = sorted(w["throughput"] for w in run_["waits"])
        middle = values[len(values) // 2]
        spread = max(values[-1] / middle - 1, 1 - values[0] / middle)
        workers = sorted({w["workers"] for w in run_["waits"]})
        print(
            f"{run_['at']} load {run_['machine']['load']}: {len(run_['good'])} calls on a good loader, "
            f"{len(claims)} claims of a gain; {len(values)} calls on one that waits: {values[0]:.0f} to {values[-1]:.0f} "
            f"samples/s at {workers} workers, within {spread:.1%} of their median"
        )


if __name__ == "__main__":
    main()
