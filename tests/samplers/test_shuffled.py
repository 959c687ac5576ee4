"""Every order is equally likely, in small and in large, and torch's own classes are what they look like."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from dataloader_expert.samplers import DistributedShuffleSampler, OrderedSampler, ShuffleSampler
from tests.samplers.judging import surprise


def test_all_orders_of_four_come_equally_often() -> None:
    """Over 4,800 epochs, which are seeded one after the other."""
    sampler = ShuffleSampler(4, 9)
    places = {order: i for i, order in enumerate(permutations(range(4)))}
    counts = np.bincount([places[tuple(sampler.epoch_indices().tolist())] for _ in range(4_800)], minlength=24)
    assert surprise(counts, np.ones(24)) < 4


def test_a_large_epoch_is_shuffled_in_bins_and_still_a_permutation() -> None:
    """Above 2^18 samples indices go to bins: where one lands says nothing about what it is, nor about its neighbour."""
    n = (1 << 20) + 77
    order = ShuffleSampler(n, 4).epoch_indices()
    assert np.array_equal(np.sort(order), np.arange(n))
    landed = np.histogram2d(np.arange(n), order, bins=32)[0].reshape(-1)
    assert surprise(landed, np.ones(32 * 32)) < 4
    steps = np.histogram(np.abs(np.diff(order.astype(np.int64))), bins=16, range=(0, n))[0]
    due = np.diff(1 - (1 - np.linspace(0, 1, 17)) ** 2)  # the distance of two independent places
    assert surprise(steps, due) < 4


def test_a_large_epoch_resumes_and_is_shared_out_within_a_bin() -> None:
    """Blocks of unequal length make no difference."""
    n = (1 << 20) + 77
    whole = ShuffleSampler(n, 4).epoch_indices()
    shares = [ShuffleSampler(n, 4, num_replicas=3, rank=r) for r in range(3)]
    for r, share in enumerate(shares):
        share.load_state_dict(share.state_dict(taken=100_003))
        rest = share.epoch_indices()
        expected = whole[r + 3 * 100_003 :: 3]
        assert np.array_equal(rest[: len(expected)], expected)
        assert rest[len(expected) :].tolist() == whole[: len(rest) - len(expected)].tolist()[-1:]


def test_they_are_torchs_samplers_to_those_who_ask() -> None:
    """Trainers look at the class to see whether a loader shuffles or is distributed."""
    assert isinstance(ShuffleSampler(3), RandomSampler)
    assert isinstance(OrderedSampler(3), SequentialSampler)
    assert not isinstance(OrderedSampler(3), RandomSampler)
    distributed = DistributedShuffleSampler(range(7), 2, 1, seed=3)
    assert isinstance(distributed, DistributedSampler)
    assert (distributed.num_samples, distributed.total_size, len(distributed)) == (4, 8, 4)
    assert ShuffleSampler(range(7)).num_samples == 7


def test_a_distributed_one_without_shuffle_deals_out_in_order() -> None:
    """As torch's does."""
    shares = [list(DistributedShuffleSampler(5, 2, r, shuffle=False)) for r in range(2)]
    assert shares == [[0, 2, 4], [1, 3, 0]]
    assert shares == [list(DistributedSampler(range(5), 2, r, shuffle=False)) for r in range(2)]  # type: ignore[arg-type]  # as good as a dataset
    state = DistributedShuffleSampler(5, 2, 0).state_dict()
    with pytest.raises(ValueError, match="shuffle True, but this sampler has False"):
        DistributedShuffleSampler(5, 2, 0, shuffle=False).load_state_dict(state)


def test_a_distributed_one_needs_ranks() -> None:
    """Without a process group every process would train on everything, in silence."""
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedShuffleSampler(5)


def test_more_ranks_than_samples_get_one_each() -> None:
    """What is short wraps around as often as need be."""
    shares = [list(ShuffleSampler(2, 1, num_replicas=5, rank=r)) for r in range(5)]
    first, second = list(ShuffleSampler(2, 1))
    assert shares == [[first], [second], [first], [second], [first]]
