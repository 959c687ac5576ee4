"""What cannot be sent to a worker that is spawned, by name and place."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from dataloader_expert.advice.loader_settings import pickling
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.health.static_checks import StaticChecks
from dataloader_expert.sources.registry import open_source

CODE = """
import multiprocessing, threading
import torch
from torch.utils.data import DataLoader, Dataset

class Scales:
    def __init__(self, by):
        self.by, *self.owners = by if isinstance(by, tuple) else (by,)
        self.owner = self.owners[0] if self.owners else None

class Samples(Dataset):
    def __init__(self):
        self.scales = Scales(({held}))

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.zeros(2)

def make():
    return DataLoader(Samples(), 4)
"""


@pytest.mark.parametrize(
    ("held", "told"),
    [
        ("2", None),
        ("multiprocessing.get_context('spawn').Lock()", None),
        ("lambda x: 2 * x", "`dataset.scales.by` (pipeline.py:13) cannot be pickled"),
        ("threading.Lock()", "`dataset.scales.by` cannot be pickled"),
        ("multiprocessing.get_context('fork').Value('i', 0)", "A SemLock created in a fork context"),
        ("threading.Lock(), self", "`dataset.scales.by` cannot be pickled"),
    ],
)
def test_what_cannot_be_sent_is_named(tmp_path: Path, held: str, told: str | None) -> None:
    """B23: what spawn would say, of the innermost object; what it sends is no fault."""
    if "fork" in held and "fork" not in multiprocessing.get_all_start_methods():
        return
    (tmp_path / "pipeline.py").write_text(CODE.format(held=held))
    ref = SourceRef(f"{tmp_path / 'pipeline.py'}:make", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    facts = Facts(tuple(f for f in StaticChecks().measure(bench) if isinstance(f, Fact)))
    found = list(pickling(facts))
    assert [f.code for f in found] == ([] if told is None else ["unpicklable"])
    assert told is None or told in found[0].message
