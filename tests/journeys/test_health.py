"""Loaders with one fault each, and their clean twins: what the experiments find by themselves, without the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.faults import CASES

from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.data.layout import Layout
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.probes.experiments.batched_indexing import BatchedIndexing
from dataloader_expert.probes.health.static_checks import StaticChecks
from dataloader_expert.probes.health.worker_resources import WorkerResources
from dataloader_expert.probes.health.worker_semantics import WorkerSemantics
from dataloader_expert.probes.sharding import StreamSharding
from dataloader_expert.probes.system.environment import Environment
from tests.making.asking import Asker

ROOT = Path(__file__).parents[2]
EXPERIMENTS: dict[str, type[Probe]] = {
    "rng-duplicated": WorkerSemantics,
    "rng-constant-seed": WorkerSemantics,
    "not-deterministic": WorkerSemantics,
    "iterable-not-sharded": StreamSharding,
    "idle-workers": StreamSharding,
    "poor-mixing": WorkerSemantics,
    "epoch-not-seen-by-workers": WorkerSemantics,
    "handle-shared-across-fork": WorkerResources,
    "opened-per-sample": WorkerResources,
    "wrong-length": StaticChecks,
    "batches-dropped": StaticChecks,
    "same-order-each-epoch": StaticChecks,
    "order-from-global-rng": StaticChecks,
    "unpicklable": StaticChecks,
    "result-unpicklable": StaticChecks,
    "no-timeout": StaticChecks,
    "not-pinned": StaticChecks,
    "stale-shared-memory": StaticChecks,
    "state-snapshots-slow": StaticChecks,
    "batched-fetch-unused": BatchedIndexing,
}


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    asker = Asker()
    plain = asker.tools["diagnose_io"]
    for probe in {*EXPERIMENTS.values()}:

        def recipe(request: Any, probe: Any = probe) -> Any:
            # on a busy machine the scan's first sample, by which its time is judged, is a slow one
            patient = {"most_s": 4.0} if probe is BatchedIndexing else {}
            return (Environment(), Layout(), Scan(near=False, most=16), probe(**patient))

        asker.tools[probe.name] = replace(plain, recipe=recipe)
    yield asker
    asker.close()


@pytest.mark.parametrize("code", EXPERIMENTS)
def test_a_fault_is_found_and_its_clean_twin_is_silent(code: str, asker: Asker) -> None:
    """Our promise: one rule that fires on a clean loader is wrong, one that stays silent on its fault too."""
    found = [
        {f.code for f in asker.ask(EXPERIMENTS[code].name, f"{ROOT}/benchmarks/faults.py:{name}", str(ROOT)).findings}
        for name in CASES[code]
    ]
    assert code in found[0]
    assert code not in found[1]


THREADS = """
import torch
from torch.utils.data import DataLoader, Dataset


class Blurred(Dataset):
    def __init__(self):
        self.kernel = torch.ones(8, 3, 7, 7) / 147

    def __len__(self):
        return 64

    def __getitem__(self, index):
        picture = torch.rand(1, 3, 128, 128)
        return torch.nn.functional.conv2d(picture, self.kernel)[0]


def threads(worker):
    torch.set_num_threads(4)


def make():
    return DataLoader(Blurred(), batch_size=4, num_workers=2, worker_init_fn=threads)
"""


def test_workers_that_hang_only_after_this_process_has_computed(asker: Asker, tmp_path: Path) -> None:
    """Our promise: what a script that starts its workers first never meets is no error. (GNU's OpenMP: after a fork its threads are
    gone; the scan has used them.)"""
    (tmp_path / "train.py").write_text(THREADS)
    report = asker.ask("diagnose_io", f"{tmp_path}/train.py:make", str(tmp_path), budget_s=40)
    assert [f.severity for f in report.findings if f.code == "deadlock"] == ["warning"]
