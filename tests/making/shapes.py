"""Ordinary loaders, each of which a search can get wrong: what a sample costs, how long a batch takes, how workers start.

What waits really waits and what computes really computes; no clock is asserted on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, get_worker_info


class Costs(Dataset[torch.Tensor]):
    """Each sample waits ``wait_s`` and computes ``cpu_s``; the first of a process takes ``first_s`` more."""

    def __init__(self, length: int, wait_s: float = 0.0, cpu_s: float = 0.0, first_s: float = 0.0) -> None:
        self.length, self.wait_s, self.cpu_s, self.first_s = length, wait_s, cpu_s, first_s

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.first_s:
            first, self.first_s = self.first_s, 0.0
            time.sleep(first)
        if self.wait_s:
            time.sleep(self.wait_s)
        compute(self.cpu_s)
        return torch.full((8,), float(index))


class Whole(Costs):
    """Samples of a batch are fetched in one request, which waits ``wait_s``."""

    def __getitems__(self, indices: list[int]) -> list[torch.Tensor]:
        time.sleep(self.wait_s)
        return [torch.full((8,), float(i)) for i in indices]


class Unsharded(IterableDataset[torch.Tensor]):
    """A stream of which each worker gives everything."""

    def __init__(self, length: int, cpu_s: float) -> None:
        self.length, self.cpu_s = length, cpu_s

    def __iter__(self) -> Iterator[torch.Tensor]:
        for index in range(self.length):
            compute(self.cpu_s)
            yield torch.full((8,), float(index))


class Sharded(Unsharded):
    """A stream that is sharded across workers, and waits for each sample."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        info = get_worker_info()
        for index in range(0 if info is None else info.id, self.length, 1 if info is None else info.num_workers):
            time.sleep(self.cpu_s)
            yield torch.full((8,), float(index))


class Own(DataLoader[torch.Tensor]):
    """A user's subclass whose arguments are its own."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(Costs(512, wait_s), batch_size=16, num_workers=1)


def compute(seconds: float) -> None:
    """Uses that many seconds of CPU."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def connect(worker: int) -> None:
    """A worker that needs 3 s to start, in which it waits."""
    time.sleep(3.0)


def slow_collate(samples: list[torch.Tensor]) -> torch.Tensor:
    compute(0.05)
    return torch.stack(samples)


def batches(data: Costs, size: int) -> BatchSampler:
    return BatchSampler(RandomSampler(data), size, False)


@dataclass(frozen=True)
class Shape:
    """A loader, and what its search must come to: at least ``gain`` times the present throughput by at least ``workers``
    workers, and no more than ``most``."""

    make: Callable[[], DataLoader[Any]]
    gain: float = 1.0
    workers: int = 0
    most: int = 64


SHAPES: dict[str, Shape] = {
    "2 workers, 20 ms": Shape(lambda: DataLoader(Costs(512, 0.02), batch_size=16, num_workers=2), 3.0, 8),
    "no workers, 20 ms": Shape(lambda: DataLoader(Costs(512, 0.02), batch_size=16), 6.0, 8),
    "4 workers, 100 ms": Shape(lambda: DataLoader(Costs(512, 0.1), batch_size=8, num_workers=4), 3.0, 12),
    "batch sampler, 0.3 s a batch": Shape(
        lambda: DataLoader((d := Costs(960, 0.02)), batch_sampler=batches(d, 15), num_workers=1), 6.0, 8
    ),
    "workers that start in 3 s": Shape(
        lambda: DataLoader(Costs(4000, 0.02), batch_size=16, num_workers=2, worker_init_fn=connect), 2.0, 4
    ),
    "64 x 50 ms": Shape(lambda: DataLoader(Costs(4096, 0.05), batch_size=64, num_workers=2), 5.0, 10),
    "1024 x 1 ms": Shape(lambda: DataLoader(Costs(65536, 0.001), batch_size=1024, num_workers=2), 3.0, 6),
    "40 samples": Shape(lambda: DataLoader(Costs(40, 0.03), batch_size=4), 2.0, 3, 10),
    "persistent workers": Shape(
        lambda: DataLoader(Costs(512, 0.02), batch_size=16, num_workers=1, persistent_workers=True), 6.0, 8
    ),
    "slow collate": Shape(lambda: DataLoader(Costs(2048), batch_size=32, collate_fn=slow_collate)),
    "first sample of 10 s": Shape(lambda: DataLoader(Costs(2048, 0.02, first_s=10.0), batch_size=16), 4.0, 4),
    "a request for each batch": Shape(lambda: DataLoader(Whole(2048, 0.1), batch_size=16, num_workers=1), 4.0, 6),
    "unsharded stream": Shape(lambda: DataLoader(Unsharded(4000, 0.002), batch_size=16, num_workers=2), 1.0, 0, 1),
    "sharded stream": Shape(lambda: DataLoader(Sharded(4000, 0.02), batch_size=16, num_workers=1), 6.0, 8),
    "1 microsecond": Shape(lambda: DataLoader(Costs(1 << 20), batch_size=64, num_workers=4), 1.0, 0, 4),
    "2 s a sample": Shape(lambda: DataLoader(Costs(512, 2.0), batch_size=2, num_workers=1), 4.0, 6),
    "a class of the user's": Shape(lambda: Own(0.02), 6.0, 8),
    "spawned workers": Shape(
        lambda: DataLoader(
            Costs(4096, 0.05), batch_size=64, num_workers=1, multiprocessing_context="spawn", persistent_workers=True
        ),
        3.0,
        4,
    ),
    "forkserver": Shape(
        lambda: DataLoader(
            Costs(4096, 0.05),
            batch_size=64,
            num_workers=1,
            multiprocessing_context="forkserver",
            persistent_workers=True,
        ),
        3.0,
        4,
    ),
}
"""By name."""
