"""The user's own loader, made anew with other settings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, SequentialSampler, TensorDataset

from dataloader_expert.loaders.building import CannotRebuild, rebuild
from dataloader_expert.sources.given import noted

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")
"""More workers than cores are what is asked for."""
DATA = TensorDataset(torch.arange(40).float())


class Own(DataLoader[Any]):
    """A class whose arguments are its own."""

    def __init__(self, size: int) -> None:
        super().__init__(DATA, batch_size=size, num_workers=2, prefetch_factor=3, timeout=7, persistent_workers=True)


def test_a_class_with_arguments_of_its_own_is_copied_with_other_settings() -> None:
    """Our promise: a loader of the user's class runs at every number of workers that is tried."""
    own = Own(8)
    alone = rebuild(own, 0)
    assert (type(alone), alone.num_workers, alone.timeout, alone.persistent_workers) == (Own, 0, 0, False)
    assert [len(x) for (x,) in alone] == [8] * 5
    more = rebuild(own, 3, prefetch=5, in_order=False, persistent=False)
    assert (more.num_workers, more.prefetch_factor, more.timeout, more.persistent_workers) == (3, 5, 7, False)
    assert (own.num_workers, own.prefetch_factor, own.persistent_workers) == (2, 3, True)
    assert sorted(v for (x,) in more for v in x.tolist()) == list(range(40))


def test_another_batch_size_of_such_a_class_is_refused() -> None:
    """Our promise: what cannot be changed is said."""
    with pytest.raises(CannotRebuild, match="takes other arguments"):
        rebuild(Own(8), 0, batch_size=4)


def test_persistence_is_the_users_where_nothing_else_is_asked() -> None:
    """Our promise: only the tried setting is changed."""
    loader = DataLoader(DATA, batch_size=8, num_workers=2, persistent_workers=True)
    assert rebuild(loader, 4).persistent_workers
    assert not rebuild(loader, 4, persistent=False).persistent_workers


class Again:
    """Repeats batches forever."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __iter__(self) -> Any:
        while True:
            yield from iter(self.sampler)


class Infinite(DataLoader[Any]):
    """Wraps its batch sampler when it is made, and begins at once."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        object.__setattr__(self, "batch_sampler", Again(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self) -> int:
        return len(self.batch_sampler.sampler)  # type: ignore[union-attr]  # as it was wrapped

    def __iter__(self) -> Any:
        for _ in range(len(self)):
            yield next(self.iterator)


@pytest.mark.parametrize("by", ["batch sampler", "batch size"])
def test_a_class_that_wraps_its_batch_sampler_is_given_what_it_was_given(by: str) -> None:
    """Seen: a class that wrapped its batch sampler was given the wrapped one, and its length raised."""
    how: dict[str, Any] = {"batch_size": 8}
    if by == "batch sampler":
        how = {"batch_sampler": BatchSampler(SequentialSampler(DATA), 8, False)}
    with noted():
        own: Any = Infinite(DATA, **how)
    for _ in range(2):
        own = rebuild(own, 0)
        assert len(own) == 5
        assert sorted(v for (x,) in own for v in x.tolist()) == list(range(40))


def test_what_was_not_seen_to_be_made_and_begins_at_once_is_refused() -> None:
    """Our promise: what is neither made anew nor copied is said, and blamed on nobody."""
    with pytest.raises(CannotRebuild, match="starts its workers when it is made"):
        rebuild(Infinite(DATA, batch_sampler=BatchSampler(SequentialSampler(DATA), 8, False)), 1)


class Stream(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(8))


def test_a_stream_is_rebuilt_although_its_sampler_has_no_length() -> None:
    """Our promise: a loader over a stream runs at every number of workers that is tried."""
    with noted():
        loader = DataLoader(Stream(), batch_size=4)
    assert [x.tolist() for x in rebuild(rebuild(loader, 1), 0)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
