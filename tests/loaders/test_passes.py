"""Iterators that a trainer makes and does not use, or uses after it has set the epoch: no batch, place or epoch is lost with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import IterableDataset, TensorDataset

from dataloader_expert.loaders import DataLoaderConfig, DataLoaderFactory

N, BATCH = 40, 4


class Counting(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        yield from range(N)


def made(workers: int, persistent: bool = False) -> Any:
    config = DataLoaderConfig(
        batch_size=BATCH, seed=5, num_workers=workers, persistent_workers=persistent if workers else None
    )
    return DataLoaderFactory().create_dataloader(TensorDataset(torch.arange(N)), config)


def stream(workers: int) -> Any:
    config = DataLoaderConfig(batch_size=BATCH, shuffle=False, seed=5, num_workers=workers)
    return DataLoaderFactory().create_dataloader(Counting(), config)


def ids(loader: Any, most: int = N) -> list[int]:
    """The ids of a pass, of at most so many batches."""
    seen: list[int] = []
    for at, batch in zip(range(most), loader, strict=False):
        del at
        seen += (batch[0] if isinstance(batch, list | tuple) else batch).tolist()
    return seen


WORKERS = pytest.mark.parametrize(("workers", "persistent"), [(0, False), (2, False), (2, True)])


@WORKERS
def test_a_loaded_state_waits_for_the_first_batch(workers: int, persistent: bool) -> None:
    """Seen: with workers, an iterator that was made and dropped took the rest of the epoch with it."""
    due = made(0)
    epochs = [ids(due) for _ in range(2)]
    begun = made(workers, persistent)
    ids(begun, 3)
    state = begun.state_dict()
    resumed = made(workers, persistent)
    resumed.load_state_dict(state)
    iter(resumed)
    assert resumed.state_dict()["batches"] == 3
    resumed.sampler.set_epoch(0)
    kept = iter(resumed)
    assert ids(resumed) == epochs[0][3 * BATCH :]
    del kept
    assert ids(resumed) == epochs[1]


@WORKERS
def test_an_epoch_that_is_set_after_the_iterator_was_made_counts(workers: int, persistent: bool) -> None:
    """Seen: Lightning makes the iterator, sets the epoch on the sampler, and trained with workers on the order of the epoch before."""
    due = made(0)
    epochs = [ids(due) for _ in range(3)]
    loader = made(workers, persistent)
    going = iter(loader)
    loader.sampler.set_epoch(1)
    assert ids(going) == epochs[1]
    assert ids(loader) == epochs[2]


@WORKERS
def test_an_iterator_that_was_never_used_is_no_epoch(workers: int, persistent: bool) -> None:
    due = made(0)
    epochs = [ids(due) for _ in range(2)]
    loader = made(workers, persistent)
    iter(loader)
    assert [ids(loader), ids(loader)] == epochs


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream_resumes_after_an_iterator_that_was_never_used(workers: int) -> None:
    whole = stream(workers)
    due = ids(whole)
    begun = stream(workers)
    ids(begun, 3)
    resumed = stream(workers)
    resumed.load_state_dict(begun.state_dict())
    iter(resumed)
    assert ids(resumed) == due[3 * BATCH :]


class Sized(Counting):
    def __len__(self) -> int:
        return N


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("drop_last", [False, True])
def test_the_length_of_a_stream_counts_the_last_batch_of_each_worker(workers: int, drop_last: bool) -> None:
    config = DataLoaderConfig(batch_size=7, shuffle=False, num_workers=workers, drop_last=drop_last)
    loader = DataLoaderFactory().create_dataloader(Sized(), config)
    assert len(loader) == len(list(loader))
