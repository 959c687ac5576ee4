"""Datasets and loaders as users write them, each with one planted trait. Referenced by path, run in the child."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
)

Sample = dict[str, Any]


class Fine(Dataset[Sample]):
    """The twin without a trait: rows in memory, balanced, deterministic."""

    def __init__(self, n: int = 400) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x = torch.rand(n, 8, generator=generator) * 3 + 5

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Sample:
        return {"x": self.x[index], "label": index % 4}


class Waits(Fine):
    def __getitem__(self, index: int) -> Sample:
        time.sleep(0.004)
        return super().__getitem__(index)


class OneSlow(Fine):
    """Few enough samples that each is read, however soon a busy machine ends the watching."""

    def __init__(self) -> None:
        super().__init__(64)

    def __getitem__(self, index: int) -> Sample:
        if index == 7:
            time.sleep(0.1)
        return super().__getitem__(index)


class SlowOnce(Fine):
    """A sample that is slow the second time that it is read, and never again: what a busy machine looks like."""

    reads = 0

    def __init__(self) -> None:
        super().__init__(64)

    def __getitem__(self, index: int) -> Sample:
        if index == 7:
            self.reads += 1
            if self.reads == 2:
                time.sleep(0.1)
        return super().__getitem__(index)


class LeaksFiles(Fine):
    """Keeps every file that it opens."""

    kept: list[Any] = []  # noqa: RUF012  # the leak

    def __getitem__(self, index: int) -> Sample:
        self.kept.append(Path(__file__).open())  # noqa: SIM115  # the leak
        return super().__getitem__(index)


class LeaksMemory(Fine):
    kept: list[bytes] = []  # noqa: RUF012  # the leak

    def __getitem__(self, index: int) -> Sample:
        self.kept.append(b"x" * 500_000)
        return super().__getitem__(index)


class Random(Fine):
    def __getitem__(self, index: int) -> Sample:
        return {"x": torch.rand(8), "label": index % 4}


class Imbalanced(Fine):
    def __getitem__(self, index: int) -> Sample:
        return {**super().__getitem__(index), "label": int(index % 40 == 0)}


class Named(Fine):
    """Pairs whose class is a name."""

    def __getitem__(self, index: int) -> Any:
        return self.x[index], "dog" if index % 5 else "cat"


class Raises(Fine):
    def __getitem__(self, index: int) -> Sample:
        if index == 11:
            raise ValueError("no picture for this row")
        return super().__getitem__(index)


class Stream(IterableDataset[Sample]):
    def __iter__(self) -> Iterator[Sample]:
        for i in range(200):
            yield {"x": torch.full((4,), float(i)), "label": i % 3}


class HoldsNan(Fine):
    def __getitem__(self, index: int) -> Sample:
        sample = super().__getitem__(index)
        return {**sample, "x": sample["x"] * float("nan")} if index == 5 else sample


class Ragged(Fine):
    def __getitem__(self, index: int) -> Sample:
        return {"x": torch.ones(index % 7 + 1, 3), "label": index % 4}


def burn(seconds: float) -> None:
    """Uses the processor, on this thread's own clock."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def slow_collate(samples: list[Sample]) -> Any:
    burn(0.02)
    return default_collate(samples)


def with_slow_collate() -> DataLoader[Sample]:
    return DataLoader(Fine(), batch_size=8, collate_fn=slow_collate)


def with_own_sampler() -> DataLoader[Sample]:
    """A loader with a sampler, a collate function and a seed of its own."""
    weights = [39.0 if i % 40 == 0 else 1.0 for i in range(400)]
    generator = torch.Generator().manual_seed(3)
    sampler = WeightedRandomSampler(weights, 400, generator=generator)
    return DataLoader(Imbalanced(), batch_size=10, sampler=sampler, collate_fn=slow_collate, generator=generator)


class Arrays(Dataset[Sample]):
    """A few rows of any dtype and shape: the cheap twin of those below."""

    def __init__(self, n: int = 64, dtype: str = "float32", shape: tuple[int, ...] = (8,)) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x = (torch.rand(n, *shape, generator=generator) * 200).to(getattr(torch, dtype))

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> Sample:
        return {"x": self.x[index], "label": index % 4}


class Naps(Arrays):
    def __init__(self, seconds: float = 0.004) -> None:
        super().__init__()
        self.seconds = seconds

    def __getitem__(self, index: int) -> Sample:
        time.sleep(self.seconds)  # a store that answers late: what is measured
        return super().__getitem__(index)


class Burns(Arrays):
    def __init__(self, seconds: float = 0.002) -> None:
        super().__init__()
        self.seconds = seconds

    def __getitem__(self, index: int) -> Sample:
        burn(self.seconds)
        return super().__getitem__(index)


class Hoards(Fine):
    """In workers each sample leaves eight megabytes behind, up to 160: two workers may, four are too many."""

    held: ClassVar[list[bytearray]] = []

    def __getitem__(self, index: int) -> Sample:
        if get_worker_info() is not None and len(self.held) < 20:
            self.held.append(bytearray(b"x") * (8 << 20))
        time.sleep(0.02)  # slow enough for memory to be looked at between two samples
        return super().__getitem__(index)


class StartsLate(Arrays):
    """The first sample that a worker reads takes a second: a connection made, an index loaded."""

    begun_in = 0

    def __getitem__(self, index: int) -> Sample:
        if get_worker_info() is not None and self.begun_in != os.getpid():
            self.begun_in = os.getpid()
            time.sleep(1)
        return super().__getitem__(index)


def with_own_settings() -> DataLoader[Sample]:
    """A loader that differs from torch's defaults in every setting."""
    return DataLoader(
        Arrays(), batch_size=5, num_workers=1, prefetch_factor=3, pin_memory=True, persistent_workers=True
    )


class OwnLoader(DataLoader[Sample]):
    """A user's own class of loader."""


def with_everything() -> DataLoader[Sample]:
    """A loader of its own class, with what a DataLoader can be told beyond the common settings."""
    return OwnLoader(
        Arrays(),
        batch_size=6,
        shuffle=True,
        drop_last=True,
        num_workers=1,
        timeout=60,
        generator=torch.Generator().manual_seed(5),
        worker_init_fn=seeded,
        multiprocessing_context="fork",
        collate_fn=own_collate,
    )


def own_collate(samples: list[Sample]) -> Any:
    return default_collate(samples)


def seeded(worker: int) -> None:
    torch.manual_seed(worker)


class Net(torch.nn.Module):
    def __init__(self, features: int = 8) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(features, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.linear(x)
        return out


class Declares(Net):
    """Says of its input what timm's models do."""

    def __init__(self) -> None:
        super().__init__()
        self.default_cfg = {"mean": [0.5], "std": [0.25], "input_size": [1, 2, 4]}


class DeepNet(torch.nn.Module):
    """Eight layers: a step keeps what each gave, a forward pass only what the next needs."""

    def __init__(self) -> None:
        super().__init__()
        layers = [m for _ in range(8) for m in (torch.nn.Linear(8, 8), torch.nn.ReLU())]
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.layers(x)
        return out
