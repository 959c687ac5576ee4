"""What a cache of samples would gain, timed with the user's own sampler where there is one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.experiments.sample_cache import both, own_order
from dataloader_expert.probes.serving import serving
from tests.probes.health.test_as_started import reference


class Squares(Dataset[torch.Tensor]):
    def __init__(self) -> None:
        self.read = 0

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        self.read += 1
        return torch.tensor(index * index)


class Evens:
    """Batches of the user's own."""

    drawn = 0

    def __iter__(self) -> Iterator[list[int]]:
        for start in range(0, 64, 16):
            Evens.drawn += 1
            yield list(range(start, start + 16, 2))


def bench_of(loader: DataLoader[Any]) -> Bench:
    source = reference(loader.dataset)
    source.loader, source.iterable = loader, False
    return Bench(source, SourceRef("memory:x", ("/",), code=True), 0, math.inf, lambda i: None, lambda m, s: None)


def test_both_loaders_draw_with_the_users_own_sampler() -> None:
    """Seen: a gain of 2 beside a batch sampler that took most of the time, which the loaders compared did not have."""
    bench = bench_of(DataLoader(Squares(), batch_sampler=Evens()))
    served = serving(bench)
    assert own_order(served)
    made, kept, size = both(bench, served, 16, time.monotonic() + 60)
    assert size == 8
    plan = served.current.but(shuffle=True)
    for one in (made, kept):
        before, read = Evens.drawn, served.dataset.read
        assert [len(batch) for batch in one.loader(plan)] == [8] * 4
        assert Evens.drawn == before + 4
        assert (served.dataset.read > read) is (one is made)


def test_samplers_of_torch_are_none_of_the_users() -> None:
    assert not own_order(serving(bench_of(DataLoader(Squares(), batch_size=8, shuffle=True))))
