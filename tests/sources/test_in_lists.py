"""Loaders that stack nothing and ask their dataset for whole batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.reference import Raised, Reference
from dataloader_expert.sources.registry import open_source

CODE = """
import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

class Windows(Dataset):
    series = np.arange(50.0)

    def __len__(self):
        return 40

    def __getitem__(self, starts):
        return {work}

def make():
    data = Windows()
    return DataLoader(data, sampler=BatchSampler(RandomSampler(data), 8, False), batch_size=None)
"""
LISTS = "torch.from_numpy(self.series[np.asarray(starts)[:, None] + np.arange(3)])"
EITHER = "torch.as_tensor(self.series[starts])"


def opened(folder: Path, work: str) -> Reference:
    (folder / "windows.py").write_text(CODE.format(work=work))
    source = open_source(SourceRef(f"{folder}/windows.py:make", (str(folder),), code=True), [])
    assert isinstance(source, Reference)
    return source


@pytest.mark.parametrize(("work", "sample"), [(LISTS, [[5.0, 6.0, 7.0]]), (EITHER, 5.0)], ids=["lists", "either"])
def test_a_dataset_that_is_asked_for_lists_has_samples(tmp_path: Path, work: str, sample: object) -> None:
    """Seen: "20 of 20 samples raised; fix the dataset", of a loader as torch's documentation shows it, which delivers batches."""
    source = opened(tmp_path, work)
    assert source.samples == 40
    assert [source.sample(5).tolist() for _ in range(2)] == [sample, sample]
    assert source.loader.dataset[[5]].tolist() == source.dataset[[5]].tolist()


def test_what_fails_either_way_is_told_as_it_failed_first(tmp_path: Path) -> None:
    with pytest.raises(Raised, match="ZeroDivisionError"):
        opened(tmp_path, "1 / 0 if isinstance(starts, int) else starts.gone").sample(0)
