"""What each check costs: CPU seconds over a whole data set, in one process, beside those of reading it.

``python -m benchmarks.costs tables|arrays|images|lines|sounds|shards|FOLDER [--least SHARE]``

The data sets are those of ``benchmarks.peers``, or any other that the tools read. What several checks share of a block, such as a small
picture, counts for the first that asks. Checks that take less than ``--least`` of the whole are summed up. Half a minute each.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import keep
from benchmarks.peers import MADE, made
from dataloader_expert.checks.base import Check
from dataloader_expert.lab.starting import ONE_THREAD
from dataloader_expert.probes import base
from dataloader_expert.probes.data import scan

SEEING, STATING, JUDGING = "seeing samples", "stating facts", "judging"
Spent = dict[tuple[str, str], float]
"""CPU seconds by check and phase."""


def timed(spent: Spent, phase: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """The same work, with its check's CPU time noted: that of its thread, as checks state facts in several."""

    def noted(check: Check, *arguments: Any) -> Any:
        begun = time.thread_time()
        try:
            return work(check, *arguments)
        finally:
            spent[type(check).__module__.rpartition("checks.")[2], phase] += time.thread_time() - begun

    return noted


def costs(path: Path) -> tuple[Spent, float]:
    """What each check spent on these data, and CPU seconds of all."""
    spent: Spent = defaultdict(float)
    patches: list[tuple[Any, str, str]] = [
        (Check, "watch", SEEING), (scan, "_facts_of", STATING), (Check, "told", JUDGING),
    ]  # fmt: skip
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    for (owner, name, phase), (_, _, work) in zip(patches, kept, strict=True):
        setattr(owner, name, timed(spent, phase, work))
    errors: list[dict[str, Any]] = []
    request = {
        "source": {"name": str(path), "roots": [str(path)]},
        "probes": [{"probe": "scan"}],
        "cpus": 1.0,
        "seed": 0,
        "memory_bytes": 8 << 30,
    }
    begun = time.process_time()
    try:
        base.run(request, lambda event: errors.append(event) if event["event"] == "error" else None, lambda at: None)
    finally:
        for owner, name, work in kept:
            setattr(owner, name, work)
    if errors:
        raise SystemExit(str(errors[0]))
    return spent, time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--least", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if ONE_THREAD.items() - os.environ.items():  # a library reads them as it is imported
        os.execve(
            sys.executable, [sys.executable, "-m", "benchmarks.costs", *sys.argv[1:]], {**os.environ, **ONE_THREAD}
        )
    path = made(given.data, given.seed) if given.data in MADE else Path(given.data)
    spent, total = costs(path)
    by_check: dict[str, float] = defaultdict(float)
    for (check, _), seconds in spent.items():
        by_check[check] += seconds
    checks = sum(by_check.values())
    print(f"{total:8.2f} s in all, {total - checks:.2f} s of them reading and merging")
    small = 0.0
    for check, seconds in sorted(by_check.items(), key=lambda item: -item[1]):
        if seconds < given.least * total:
            small += seconds
            continue
        parts = ", ".join(
            f"{phase} {spent[check, phase]:.2f}" for phase in (SEEING, STATING, JUDGING) if spent[check, phase] > 0.005
        )
        print(f"{seconds:8.2f} s  {seconds / total:4.0%}  {check:32} {parts}")
    print(f"{small:8.2f} s  {small / total:4.0%}  the other checks")
    name = given.data if given.data in MADE else "other"
    keep("costs", {"data": name, "seed": given.seed, "total_s": total, "checks_s": dict(by_check), "complete": True})


if __name__ == "__main__":
    main()
