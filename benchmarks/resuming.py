"""What a kill costs: every sampler, JASPER and the loading engine, killed with SIGKILL at two random batches and resumed each time.

``python -m benchmarks.resuming`` compares the delivered ids batch by batch with those of an uninterrupted run, and counts samples
that were read twice: fetched, also by workers, but not delivered before the kill. Two processes of a gloo group do the same for
a length that they do not divide.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.making.resuming import ENGINE, EPOCHS, JASPER, STREAMS, Case, Outcome, outcomes_of
from tests.samplers.makers import MAKERS, gives_batches

from benchmarks.common import keep

WORKERS = (0, 2, 3)
NAMES = (*MAKERS, JASPER, *ENGINE)


def outcomes(cases: list[Case]) -> list[Outcome]:
    """The cases, carried out in one process of their own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.json").write_text(json.dumps([asdict(c) for c in cases]))
        command = [sys.executable, "-m", "tests.making.resuming", str(folder / "plan.json"), str(folder)]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[1])
        return outcomes_of((folder / "outcomes.json").read_text())


def shared_out(ranks: Outcome, single: Outcome) -> bool:
    """Whether ranks together delivered the single process's epochs, and again only what makes the last round whole: the first
    sample, or the ranks' own first batch."""
    first = 1 if ranks.case.name in (JASPER, *ENGINE) or not gives_batches(MAKERS[ranks.case.name]([0, 1], 0)) else None
    for epoch in range(EPOCHS):
        whole = [ids for e, ids in single.alone[0] if e == epoch]
        begun = next(ids for e, ids in ranks.alone[0] if e == epoch)
        together = Counter(i for rank in ranks.alone for e, ids in rank if e == epoch for i in ids)
        again = together - Counter(i for ids in whole for i in ids)
        if again not in (Counter(), Counter(begun[:first])):
            return False
        if together.total() - again.total() != sum(map(len, whole)):
            return False
    return True


def _as_without_workers(outcome: Outcome, without: Outcome) -> bool | None:
    """Whether the batches are those without workers; None where workers take files, or ranks their shares."""
    if outcome.case.ranks > 1 or outcome.case.name in STREAMS:
        return None
    return outcome.alone == without.alone


def rows(kills: int, seed: int, names: list[str]) -> Iterator[dict[str, Any]]:
    for name in names:
        plain = [Case(name, w, 1, kills, seed) for w in WORKERS]
        ranked = [Case(name, w, 2, max(1, kills // 4), seed) for w in WORKERS[:2]]
        found = outcomes([*plain, *ranked])
        for outcome in found:
            again = [outcome.again(k) for k in outcome.kills]
            yield {
                **asdict(outcome.case),
                "samples": outcome.samples,
                "equal": sum(map(outcome.equal, outcome.kills)),
                "as_without_workers": _as_without_workers(outcome, found[0]),
                "shared_out": shared_out(outcome, found[0]) if outcome.case.ranks > 1 else None,
                "killed_at": [[k.phase, *k.batch] for k in outcome.kills],
                "again": again,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each case; of two processes a quarter of it")
    parser.add_argument("--seed", type=int, default=None, help="of the batches at which runs are killed; by the clock")
    parser.add_argument("--only", nargs="*", choices=NAMES, default=list(NAMES))
    given = parser.parse_args()
    print(f"{'':40} workers ranks  kills  equal  unequal  samples read again: all, per kill, most")
    made = []
    seed = time.time_ns() % (1 << 31) if given.seed is None else given.seed
    print(f"seed {seed}")
    for row in rows(given.kills, seed, given.only):
        made.append(row)
        total, most = sum(row["again"]), max(row["again"])
        print(
            f"{row['name']:40} {row['workers']:7} {row['ranks']:5} {row['kills']:6} {row['equal']:6} "
            f"{row['kills'] - row['equal']:8}  {total:6} {total / row['kills']:6.1f} {most:4} of {row['samples']}"
            + ("" if row["as_without_workers"] in (True, None) else "  BATCHES DEPEND ON WORKERS")
            + ("" if row["shared_out"] in (True, None) else "  RANKS DO NOT SHARE THE EPOCH"),
            flush=True,
        )
    kills, equal = (sum(r[k] for r in made) for k in ("kills", "equal"))
    print(f"{equal} of {kills} killed runs delivered what they would have alone")
    complete = given.only == list(NAMES) and given.kills >= 20
    keep("resuming", {"seed": seed, "cases": made, "kills": kills, "equal": equal, "complete": complete})


if __name__ == "__main__":
    main()
