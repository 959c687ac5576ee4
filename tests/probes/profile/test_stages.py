"""The stages of loaders whose workers cannot be observed."""

from __future__ import annotations

import time
from pathlib import Path

from dataloader_expert.advice.transport import iterating, main_busy
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench, evidence
from dataloader_expert.probes.descriptors import OPEN_FILES
from dataloader_expert.probes.health.static_checks import SETTINGS
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import OWN_ITER, RECEIVING, Stages, stage_facts, watched
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.serving import serving
from dataloader_expert.sources.registry import open_source

CODE = """
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.ones(64, 64) @ torch.ones(64, 64)

def make():
    return DataLoader(Squares(), batch_size=8, num_workers=2, multiprocessing_context="spawn")
"""


def test_samples_of_workers_that_are_not_forked_are_timed_in_this_process(tmp_path: Path) -> None:
    """Seen: such workers, whose start nothing ends, were started to be told that they cannot be observed: no stage was known."""
    (tmp_path / "squares.py").write_text(CODE)
    ref = SourceRef(f"{tmp_path}/squares.py:make", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    said = [*Stages(most_s=0.1, whole=False).measure(bench)]
    assert {"unattributed", "transform"} & {
        str(f.at["stage"]) for f in said if isinstance(f, Fact) and f.quantity is STAGE
    }


OWN = """
import threading
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.ones(4)

class Augmenting(DataLoader):
    def __iter__(self):
        for batch in super().__iter__():
            until = time.thread_time() + 0.03
            while time.thread_time() < until:
                pass
            yield {"x": batch, "lock": threading.Lock()}  # no worker could send that

def make():
    return Augmenting(Squares(), batch_size=8, num_workers=1)
"""


def test_what_the_loader_computes_itself_is_no_transfer(tmp_path: Path) -> None:
    """Seen: "96 % of a sample's time is spent in worker_transfer", of batches that the loader's own __iter__ augmented."""
    (tmp_path / "own.py").write_text(OWN)
    ref = SourceRef(f"{tmp_path}/own.py:make", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    served = serving(bench, None, None)
    seen = watched(bench, served, time.monotonic() + 0.1, 0.1)
    facts = Facts(tuple(f for f in stage_facts(served, seen.lines, seen) if isinstance(f, Fact)))
    sent = facts.find(STAGE, stage="worker_transfer")
    assert sent is not None and facts.value(OWN_ITER) >= 29 > 8 * sent.value["cpu_ms"]
    plan = Fact(CURRENT, {"num_workers": 2}, evidence("declared", "a test"))
    known = Facts((*facts, plan, Fact(SETTINGS, {"iterates": "Augmenting"}, plan.evidence)))
    [found] = iterating(known)
    assert found.code == "main-process-busy" and "`Augmenting.__iter__`" in found.message
    assert not [*main_busy(known)]


NESTED = """
import torch
from torch.utils.data import DataLoader, Dataset

class Tracks(Dataset):
    def __len__(self):
        return 400

    def __getitem__(self, index):
        return [{"box": torch.zeros(4), "id": torch.tensor(k)} for k in range(3)]

def make():
    return DataLoader(Tracks(), batch_size=10, num_workers=1, collate_fn=list)
"""


def test_tensors_are_counted_however_deep_they_lie(tmp_path: Path) -> None:
    """Seen: "the number of open files grows by 51,781 per 1,000 samples", an error, of descriptors of tensors on their way to the main
    process: those in dictionaries in a list of samples were not counted."""
    (tmp_path / "nested.py").write_text(NESTED)
    ref = SourceRef(f"{tmp_path}/nested.py:make", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda at: None, lambda text, share: None)
    facts = Facts(tuple(f for f in Stages(most_s=0.3).measure(bench) if isinstance(f, Fact)))
    assert facts.value(RECEIVING)["tensors"] == 10 * 3 * 2
    assert facts.value(OPEN_FILES) == 0
