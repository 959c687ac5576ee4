"""A dataset that keeps its samples: read once, the same ever after, shared by workers that are forked later."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from dataloader_expert.loaders import CachedDataset


class Counted(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.reads: Counter[int] = Counter()

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        self.reads[index] += 1
        return torch.tensor([index, self.reads[index]])


def test_each_sample_is_read_once() -> None:
    """Our promise: by whichever index it is asked for."""
    source = Counted()
    kept = CachedDataset(source)
    assert [kept[i].tolist() for i in (3, 3, -9, 0)] == [[3, 1], [3, 1], [3, 1], [0, 1]]
    assert source.reads == {3: 1, 0: 1}
    assert len(kept) == 12
    for index in (12, -13):
        with pytest.raises(IndexError):
            kept[index]


@pytest.mark.parametrize("workers", [0, 2])
def test_what_was_filled_no_loader_reads_again(workers: int) -> None:
    """Our promise: three epochs deliver the first reading of every sample."""
    kept = CachedDataset(Counted()).fill()
    loader = DataLoader(kept, batch_size=5, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    for _ in range(3):
        assert sorted(row for batch in loader for row in batch.tolist()) == [[i, 1] for i in range(12)]


def test_some_samples_may_be_filled() -> None:
    source = Counted()
    assert CachedDataset(source).fill(range(0, 12, 4)).kept.keys() == source.reads.keys() == {0, 4, 8}
