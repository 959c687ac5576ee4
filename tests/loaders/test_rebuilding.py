"""The user's own loader, made anew with other settings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from dataloader_expert.loaders.building import CannotRebuild, rebuild

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
