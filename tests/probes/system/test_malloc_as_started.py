"""What judging data has freed does not make loading cheaper than it is in a script that only loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dataloader_expert.probes.system.malloc import PAGE, counts

USERS = """
import torch

class Large(torch.utils.data.Dataset):
    def __len__(self):
        return 1000

    def __getitem__(self, index):
        return torch.full((300_000,), float(index))
"""
TOLD = """
import json, os, sys
from pathlib import Path
import numpy as np
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.system.malloc_as_started import MallocAsStarted
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.system.malloc import mapped_from
from dataloader_expert.sources.files import Listing
from dataloader_expert.sources.reference import Reference

root = sys.argv[1]
ref = SourceRef(f"{root}/users.py:Large", (root,), code=True)
source = Reference.open(Listing(Path("."), ref.roots), ref)
bench = Bench(source, ref, 0, None, lambda index: None, lambda message, share: None)
probe = MallocAsStarted(32)

def told_by_a_fork():
    if os.fork():
        os.wait()
    else:
        print(mapped_from(), flush=True)
        os._exit(0)

probe.ready(bench)
np.ones(3_000_000)
told_by_a_fork()
found = list(probe.measure(bench))
print(json.dumps(found[0].value), flush=True)
told_by_a_fork()
print(mapped_from(), flush=True)
"""


@pytest.mark.journey
def test_the_measuring_process_and_its_workers_take_the_bounds_of_one_that_only_loads(tmp_path: Path) -> None:
    """Samples of 1.2 MB: a process that has freed an array of 24 MB would keep those, one that has not gives them back."""
    if not counts():
        return
    (tmp_path / "users.py").write_text(USERS)
    done = subprocess.run([sys.executable, "-c", TOLD, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    judged, told, worker, main = map(json.loads, done.stdout.splitlines())
    assert judged >= 24_000_000
    assert 1_200_000 <= told["worker"] <= told["main"] < 1_300_000
    assert abs(worker - told["worker"]) <= PAGE
    assert abs(main - told["main"]) <= PAGE
