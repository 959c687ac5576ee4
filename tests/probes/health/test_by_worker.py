"""Samples whose content depends on the worker that reads them, read by two real workers."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.advice.worker_semantics import by_worker, twins
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.health.worker_semantics import TWINS, WorkerSemantics
from dataloader_expert.sources.registry import open_source

CODE = """
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

class Samples(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        worker = get_worker_info()
        return torch.full((8,), float(index)) + {added}

def make():
    return DataLoader(Samples(), 4, num_workers=2)
"""


def test_slow_samples_are_not_read_again_and_again(tmp_path: Path) -> None:
    """Our promise: of samples of which some take long, quick ones are read in both workers."""
    slow = CODE.format(added="(slowly() if index % 32 == 0 else torch.rand(8))")
    reads = tmp_path / "reads"
    code = f"import time\ndef slowly():\n    with open({str(reads)!r}, 'a') as file:\n        file.write('.')\n    time.sleep(0.2)\n    return 0\n{slow}"
    (tmp_path / "some_slow.py").write_text(code)
    ref = SourceRef(f"{tmp_path / 'some_slow.py'}:make", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    facts = Facts(tuple(f for f in WorkerSemantics().measure(bench) if isinstance(f, Fact)))
    read = facts.find(TWINS)
    assert read is not None and read.value["random"]
    assert len(reads.read_text()) == 2  # each to see what it takes


@pytest.mark.parametrize(
    ("added", "codes"),
    [("0", []), ("(worker.id if worker and index else 0)", ["workers-differ"]), ("torch.rand(8)", [])],
    ids=["the index", "the worker", "chance"],
)
def test_what_depends_on_the_worker_is_an_error(tmp_path: Path, added: str, codes: list[str]) -> None:
    """Our promise: a sample that two workers read differently is told; random augmentation is not."""
    (tmp_path / "of_workers.py").write_text(CODE.format(added=added))
    ref = SourceRef(f"{tmp_path / 'of_workers.py'}:make", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    facts = Facts(tuple(f for f in WorkerSemantics().measure(bench) if isinstance(f, Fact)))
    assert [f.code for rule in (twins, by_worker) for f in rule(facts)] == codes
