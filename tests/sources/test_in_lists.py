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

def each():
    return {{"train": make(), "val": make()}}

class Once:
    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return self.batches

class Refusing:
    def __iter__(self):
        raise OSError("no list of batches")

class Sliced:
    def __iter__(self):
        yield from ([i, i + 1] for i in range(0, 40, 2))

def once():
    return DataLoader(Windows(), sampler=Once(iter([[0, 1], [2, 3]])), batch_size=None)

def used_up():
    return DataLoader(Windows(), sampler=Once(([i, i + 1] for i in (0, 2))), batch_size=None)

def refusing():
    return DataLoader(Windows(), sampler=Refusing(), batch_size=None)

def sliced():
    return DataLoader(Windows(), sampler=Sliced(), batch_size=None)
"""
LISTS = "torch.from_numpy(self.series[np.asarray(starts)[:, None] + np.arange(3)])"
EITHER = "torch.as_tensor(self.series[starts])"


def opened(folder: Path, work: str, name: str = "make") -> Reference:
    (folder / "windows.py").write_text(CODE.format(work=work))
    source = open_source(SourceRef(f"{folder}/windows.py:{name}", (str(folder),), code=True), [])
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


@pytest.mark.parametrize("name", ["each", "sliced", "once"])
def test_loaders_of_splits_and_own_samplers_may_ask_for_lists_too(tmp_path: Path, name: str) -> None:
    """Seen: of two such loaders by split, "20 of 20 samples raised"."""
    assert opened(tmp_path, LISTS, name).sample(5).tolist() == [[5.0, 6.0, 7.0]]


@pytest.mark.parametrize("name", ["refusing", "used_up"])
def test_a_sampler_that_raises_or_comes_once_costs_no_sample(tmp_path: Path, name: str) -> None:
    """Seen: a sampler whose ``__iter__`` raised ended the request, and one that comes once lost its first batch."""
    source = opened(tmp_path, EITHER, name)
    assert source.sample(5).tolist() == 5.0
    assert name == "refusing" or len(list(source.loader.sampler)) == 2


def test_asking_an_iterator_takes_nothing_from_it(tmp_path: Path) -> None:
    assert len(list(opened(tmp_path, LISTS, "once").loader.sampler)) == 2
