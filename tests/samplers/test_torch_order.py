"""The order of a plain shuffling DataLoader, of any epoch, for any rank."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, RandomSampler

from dataloader_expert.samplers import TorchShuffleSampler


def plain(n: int, seed: int, epochs: int, **more: Any) -> list[list[int]]:
    """What a plain loader gives, pass by pass."""
    generator = torch.Generator().manual_seed(seed)
    loader: DataLoader[Any] = DataLoader(range(n), shuffle=True, generator=generator, **more)  # type: ignore[arg-type]  # as good as a dataset
    return [list(chain.from_iterable(b.tolist() for b in loader)) for _ in range(epochs)]


@given(n=st.integers(1, 50), seed=st.integers(0, 2**62), size=st.integers(1, 60))
def test_each_epoch_is_a_plain_loaders_pass(n: int, seed: int, size: int) -> None:
    """Whatever its batches; also through a loader of its own."""
    sampler = TorchShuffleSampler(n, seed)
    due = plain(n, seed, 4, batch_size=size)
    assert [list(sampler) for _ in range(4)] == due
    loader: DataLoader[Any] = DataLoader(range(n), size, sampler=TorchShuffleSampler(n, seed))  # type: ignore[arg-type]  # as good as a dataset
    assert [list(chain.from_iterable(b.tolist() for b in loader)) for _ in range(4)] == due


@pytest.mark.parametrize("drop_last", [False, True])
def test_so_it_is_with_workers_that_are_begun_anew(drop_last: bool) -> None:
    """Each pass of theirs draws a seed for them."""
    sampler = TorchShuffleSampler(20, 5)
    whole = [list(sampler) for _ in range(3)]
    kept = 18 if drop_last else 20
    due = plain(20, 5, 3, batch_size=3, drop_last=drop_last, num_workers=1, persistent_workers=False)
    assert [order[:kept] for order in whole] == due


def test_any_epoch_is_found_in_any_order() -> None:
    """Forwards, backwards and again."""
    due = plain(13, 7, 6, batch_size=4)
    sampler = TorchShuffleSampler(13, 7)
    for epoch in (5, 0, 3, 3, 4, 1):
        sampler.set_epoch(epoch)
        assert list(sampler) == due[epoch]
        sampler.set_epoch(epoch)
        assert sampler.epoch_indices().tolist() == due[epoch]


def test_the_state_is_the_generators_when_a_pass_begins() -> None:
    """A plain loader that begins with it has this epoch, and its workers' seeds."""
    sampler = TorchShuffleSampler(9, 2)
    due = plain(9, 2, 4)
    sampler.set_epoch(2)
    generator = torch.Generator()
    generator.set_state(sampler.start_state())
    loader: DataLoader[Any] = DataLoader(range(9), shuffle=True, generator=generator)  # type: ignore[arg-type]  # as good as a dataset
    assert [[int(i) for i in loader] for _ in range(2)] == due[2:]


@given(n=st.integers(1, 40), world=st.integers(1, 5), epoch=st.integers(0, 3), drop_last=st.booleans())
def test_ranks_share_the_epoch(n: int, world: int, epoch: int, drop_last: bool) -> None:
    """Each takes every so manyth; together all, but for what is dropped or comes again to make the last round whole."""
    due = plain(n, 3, epoch + 1)[epoch]
    shares = []
    for rank in range(world):
        sampler = TorchShuffleSampler(n, 3, num_replicas=world, rank=rank, drop_last=drop_last)
        sampler.set_epoch(epoch)
        shares.append(list(sampler))
        assert len(sampler) == len(shares[-1])
    rounds = [i for row in zip(*shares, strict=True) for i in row]
    if drop_last:
        assert rounds == due[: n - n % world]
    else:
        assert rounds[:n] == due and set(rounds[n:]) <= set(due)


def test_it_resumes_in_its_midst() -> None:
    """In the epoch that it was in, and goes on with the next."""
    due = plain(17, 1, 4)
    sampler = TorchShuffleSampler(17, 1)
    sampler.set_epoch(2)
    going = iter(sampler)
    taken = [next(going) for _ in range(6)]
    resumed = TorchShuffleSampler(17, 1)
    resumed.load_state_dict(sampler.state_dict())
    assert taken + list(resumed) == due[2]
    assert list(resumed) == due[3]
    with pytest.raises(ValueError, match="the state has seed 1, but this sampler has 2"):
        TorchShuffleSampler(17, 2).load_state_dict(sampler.state_dict())


def test_it_is_a_random_sampler_to_those_who_ask() -> None:
    """And leaves the global state alone."""
    before = torch.get_rng_state()
    assert isinstance(TorchShuffleSampler(3), RandomSampler)
    assert sorted(TorchShuffleSampler([7, 8, 9])) == [0, 1, 2]
    assert list(TorchShuffleSampler(0)) == []
    assert torch.equal(torch.get_rng_state(), before)
