"""Whether another run reads the same samples: a fresh interpreter with other hashes, as each run of a training script has.

The order of a set of texts differs from run to run. Where classes are numbered by it, a label is another one when training is resumed, evaluated
or served, without an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.profile.rereads import word_of
from dataloader_expert.sources.items import items_of
from dataloader_expert.sources.opened import below

OTHER_RUN = Quantity(
    "other_run",
    "samples",
    "samples that differ in a run with other hashes, the fields that do, and lines of code that use hashes",
)
COMPARED = 12
SEEDS = ("1", "2")
"""Values of ``PYTHONHASHSEED``: few texts are in one order by chance, and hardly in both."""
HASHED = re.compile(r"\b(?:frozenset|set|hash)\(")
LINES = 3


@dataclass(frozen=True)
class OtherRun(Probe):
    name: ClassVar[str] = "other_run"
    doing: ClassVar[str] = "comparing with another run"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    share: float = 0.5
    most_s: float = 20.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        source: Any = bench.source
        if source.format != "reference" or source.iterable or hangs(bench):
            return
        lines = _lines(bench.ref.roots)
        if not lines:
            return  # nothing that a hash decides
        size = len(source.dataset)
        drawn = sorted({i * (size - 1) // (COMPARED - 1) for i in range(COMPARED)})
        own, again = read(source.dataset, drawn), read(source.dataset, drawn)
        steady = [i for i in drawn if own.get(str(i)) is not None and own.get(str(i)) == again.get(str(i))]
        bench.progress("reading in another run", None)
        until = time.monotonic() + max(1.0, min(self.most_s, self.share * bench.left()))
        runs = []
        for seed in SEEDS:
            found = _run(bench.ref, steady, seed, until - time.monotonic())
            if not isinstance(found, str):
                runs.append(found)
            elif not runs:
                yield Unknown("reading in another run", found)
                return
        differ = {i: _fields(own[str(i)], runs, str(i)) for i in steady}
        differ = {i: fields for i, fields in differ.items() if fields}
        value = {
            "compared": len(steady),
            "differ": sorted(differ),
            "fields": sorted({name for fields in differ.values() for name in fields}),
            "lines": lines[:LINES],
        }
        yield Fact(OTHER_RUN, value, evidence("counted", "other_run", seen=len(steady), population=size))


def read(dataset: Any, indices: Sequence[int]) -> dict[str, dict[str, str]]:
    """A digest of each field of these samples."""
    found = {}
    for index in indices:
        with contextlib.suppress(Exception):  # the scan has said which samples raise
            found[str(index)] = {name: word_of(value) for name, value in items_of(dataset[index])}
    return found


def _fields(own: dict[str, str], runs: list[dict[str, dict[str, str]]], index: str) -> list[str]:
    """The fields of a sample that differ in some run which read it."""
    return [name for name in own if any(index in run and run[index].get(name) != own[name] for run in runs)]


def _lines(roots: tuple[str, ...]) -> list[dict[str, Any]]:
    """Lines of the user's modules that use hashes."""
    found = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is None or not str(file).endswith(".py") or not below(os.path.realpath(file), roots):
            continue
        with contextlib.suppress(OSError, UnicodeDecodeError):
            lines = Path(file).read_text(encoding="utf-8").splitlines()
            found += [{"file": str(file), "line": n} for n, line in enumerate(lines, 1) if HASHED.search(line)]
    return found


def _run(ref: SourceRef, indices: list[int], seed: str, seconds: float) -> dict[str, dict[str, str]] | str:
    """What a fresh interpreter reads; if nothing, why."""
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    asked = json.dumps({"source": ref.to_json(), "indices": indices}).encode()
    argv = [sys.executable, "-W", "ignore", "-c", f"import {__name__} as run; run.main()"]
    try:
        done = subprocess.run(
            argv, input=asked, env=environment, timeout=max(1.0, seconds), capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return "it did not end in time: raise budget_s"
    if done.returncode or not done.stdout:
        return f"it ended with exit code {done.returncode}"
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


def main() -> None:
    """Runs in the fresh interpreter; what the user's code prints goes nowhere."""
    from dataloader_expert.sources.files import Listing
    from dataloader_expert.sources.reference import Reference

    asked = json.load(sys.stdin)
    told = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    ref = SourceRef.from_json(asked["source"])
    source: Any = Reference.open(Listing(Path(), ref.roots), ref)
    with told:
        json.dump(read(source.dataset, asked["indices"]), told)


PROBES = (OtherRun,)
