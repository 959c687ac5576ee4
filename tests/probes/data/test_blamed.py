"""What takes long after a sample was read is not told as that sample's fault, and does not take all the time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from dataloader_expert.checks.base import Check
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.data import own_samples
from dataloader_expert.probes.data.looking import watch
from dataloader_expert.probes.data.scan import Scan
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.registry import open_source

CODE = """
import torch

class Volumes(torch.utils.data.Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        return torch.arange(4.0) + index
"""


@pytest.mark.parametrize(("seconds", "looked_at"), [(0.0, 1), (60.0, 20)], ids=["no time", "time"])
def test_checks_are_not_blamed_on_a_sample_and_end_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, looked_at: int
) -> None:
    """Seen: "no result within 28 s at sample 266", an error, of a sample of 25 MB that is read in 0.05 s: all checks over the first samples
    took the rest, after the time for them had ended."""
    told: list[int] = []
    looked: list[int] = []
    plain = watch

    def noting(blocks: Iterable[Block], checks: Sequence[Check], population: int = 0) -> None:
        for block in blocks:
            looked.extend([told[-1]] * block.samples)
            plain([block], checks, population)

    monkeypatch.setattr(own_samples, "watch", noting)
    (tmp_path / "volumes.py").write_text(CODE)
    ref = SourceRef(f"{tmp_path}/volumes.py:Volumes", (str(tmp_path),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, time.monotonic() + seconds, told.append, lambda message, part: None)
    assert [*Scan(near=False).measure(bench)]
    assert looked == [-1] * looked_at
