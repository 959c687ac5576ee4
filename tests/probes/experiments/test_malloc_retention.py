"""Memory that goes back to the kernel with each sample: found by a run, and silent where keeping it gains nothing."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.faults import CASES

from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.data.layout import Layout
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.probes.experiments.malloc_retention import FREED, PAGES, MallocRetention
from dataloader_expert.probes.system.environment import Environment
from dataloader_expert.sources.registry import open_source
from tests.making import users
from tests.making.asking import Asker

pytestmark = pytest.mark.journey

ROOT = Path(__file__).parents[3]
TAKEN = """
import resource, sys
import numpy as np
from dataloader_expert.loaders.freeing import keep_freed_memory

def taken():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        one = np.full(800_000, 1, dtype=np.float32)
        other = np.sqrt(one)
        three = one + other
        del one, other, three
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20

taken()
plain = taken()
assert keep_freed_memory()
taken()
print(plain, taken())
"""


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    asker = Asker()

    def recipe(request: Any) -> Any:
        # Three times what the tool gives it: beside busy processes a short pair tells less than its neighbours do
        return (Environment(), Layout(), Scan(near=False, most=16), MallocRetention(share=0.6, most_s=6.0))

    asker.tools["freeing"] = replace(asker.tools["diagnose_io"], recipe=recipe)
    yield asker
    asker.close()


def test_memory_given_back_is_found_and_keeping_it_advised(asker: Asker) -> None:
    """Our promise: the cure was run, and its gain stands beside it."""
    found, silent = (
        asker.ask("freeing", f"{ROOT}/benchmarks/faults.py:{name}", str(ROOT)) for name in CASES["memory-given-back"]
    )
    assert "memory-given-back" in {f.code for f in found.findings}
    advice = next(a for a in found.advice if a.setting == "worker_init_fn")
    assert advice.gain is not None and advice.gain.low is not None and advice.gain.low > 1.05
    assert "memory-given-back" not in {f.code for f in silent.findings}
    assert not any(a.setting == "worker_init_fn" for a in silent.advice)


class Stalling:
    """Takes memory anew with every sample, and stalls in all but the first so many processes that read it."""

    def __init__(self, file: Path, processes: int) -> None:
        self.file, self.processes, self.seen = file, processes, set[int]()

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, i: int) -> int:
        if os.getpid() not in self.seen:
            self.seen.add(os.getpid())
            with self.file.open("ab") as counted:
                counted.write(b".")
            if self.file.stat().st_size > self.processes:
                time.sleep(60)
        with mmap.mmap(-1, 4 << 20) as taken:  # whatever the allocator of the tests' process has come to keep
            taken.write(bytes(4 << 20))
        return i


def measured(dataset: Stalling, seconds: float) -> Facts:
    ref = SourceRef(f"{Path(users.__file__)}:Fine", (str(ROOT),), code=True)
    source = open_source(ref, [])
    source.dataset = dataset  # type: ignore[attr-defined]  # opened by a reference: such a source has one
    bench = Bench(source, ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None)
    probe, facts = MallocRetention(share=1.0, most_s=seconds), Facts()
    probe.ready(bench)
    for said in probe.measure(bench):
        assert isinstance(said, Fact)
        facts.add(said)
    return facts


def test_a_pair_that_time_cuts_off_takes_none_before_it_along(tmp_path: Path) -> None:
    """Our promise: what was measured stays measured."""
    told = measured(Stalling(tmp_path / "read", 1 + 2 * 4), 3.0)
    assert told.value(PAGES) > 500
    freed = told.find(FREED)
    assert freed is not None and freed.evidence.seen in (3, 4)
    assert list(measured(Stalling(tmp_path / "stalled", 0), 0.5)) == []


def test_a_process_that_keeps_what_it_frees_takes_no_pages_anew() -> None:
    """What mallopt(3) says of the two thresholds is so."""
    done = subprocess.run([sys.executable, "-c", TAKEN], capture_output=True, text=True, check=True)
    plain, kept = map(float, done.stdout.split())
    assert plain > 1000
    assert kept < 10
