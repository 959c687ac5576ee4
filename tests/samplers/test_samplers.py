"""What every sampler owes: real indices, an order by seed and epoch alone, and what its name promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert import samplers
from dataloader_expert.samplers import (
    ClassBalancedBatchSampler,
    CurriculumSampler,
    GroupBatchSampler,
    LengthBucketBatchSampler,
)

Values = list[int]
MAKERS: dict[str, Callable[[Values, int], Any]] = {
    "ClassBalancedBatchSampler": lambda v, seed: ClassBalancedBatchSampler(v, len(set(v)), 2, seed),
    "LengthBucketBatchSampler": lambda v, seed: LengthBucketBatchSampler(v, 4, window=3, seed=seed),
    "GroupBatchSampler": lambda v, seed: GroupBatchSampler(v, 4, seed),
    "CurriculumSampler": lambda v, seed: CurriculumSampler([float(x) for x in v], epochs=4, seed=seed),
}
some = st.lists(st.integers(0, 5), min_size=1, max_size=80)


def indices(sampler: Any) -> list[int]:
    return [i for item in sampler for i in (item if isinstance(item, list) else [item])]


def test_every_sampler_of_the_package_is_held_to_the_contract() -> None:
    """A new sampler without a row here fails."""
    assert set(samplers.__all__) == set(MAKERS)


@pytest.mark.parametrize("name", MAKERS)
@given(values=some, seed=st.integers(0, 9))
def test_the_order_follows_from_seed_and_epoch_alone(name: str, values: Values, seed: int) -> None:
    """Two samplers of one seed agree in every epoch, and indices are those of the data."""
    first, second = MAKERS[name](values, seed), MAKERS[name](values, seed)
    for epoch in (0, 3):
        first.set_epoch(epoch)
        second.set_epoch(epoch)
        drawn = indices(first)
        assert drawn == indices(second)
        assert set(drawn) <= set(range(len(values)))
        assert len(list(first)) == len(first)


@given(values=some, size=st.integers(1, 9), seed=st.integers(0, 9))
def test_buckets_show_each_sample_once(values: Values, size: int, seed: int) -> None:
    """Bucketing changes the order, not the epoch."""
    sampler = LengthBucketBatchSampler(values, size, window=3, seed=seed)
    assert sorted(indices(sampler)) == list(range(len(values)))
    assert all(len(b) <= size for b in sampler)


@given(values=some, size=st.integers(1, 9), seed=st.integers(0, 9))
def test_no_group_is_split_and_each_sample_comes_once(values: Values, size: int, seed: int) -> None:
    """A group's samples are in one batch, and a batch holds more than its size only for a group that does."""
    batches = list(GroupBatchSampler(values, size, seed))
    assert sorted(i for b in batches for i in b) == list(range(len(values)))
    where = {values[i]: n for n, b in enumerate(batches) for i in b}
    assert all(where[values[i]] == n for n, b in enumerate(batches) for i in b)
    assert all(len(b) <= size or len({values[i] for i in b}) == 1 for b in batches)


@given(values=some, k=st.integers(1, 4), seed=st.integers(0, 9), data=st.data())
def test_balanced_batches_hold_p_classes_by_k_samples(values: Values, k: int, seed: int, data: st.DataObject) -> None:
    """Each batch has P distinct classes with K samples each."""
    p = data.draw(st.integers(1, len(set(values))))
    for batch in ClassBalancedBatchSampler(values, p, k, seed):
        assert sorted(Counter(values[i] for i in batch).values()) == [k] * p


def test_a_curriculum_begins_with_the_easiest_and_ends_with_all() -> None:
    """The share grows from start to one."""
    difficulty = np.arange(100.0)[::-1]
    sampler = CurriculumSampler(difficulty.tolist(), epochs=5, start=0.2)
    assert set(sampler) == set(range(80, 100))
    sampler.set_epoch(5)
    assert sorted(sampler) == list(range(100))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ClassBalancedBatchSampler([0, 1], 3, 1), "there are 2 classes"),
        (lambda: ClassBalancedBatchSampler([0, 1], 1, 0), "at least 1"),
        (lambda: LengthBucketBatchSampler([1], 0), "at least 1"),
        (lambda: GroupBatchSampler([1], 0), "at least 1"),
        (lambda: CurriculumSampler([1.0], start=0), "start is in"),
    ],
    ids=["too many classes", "no samples", "no bucket", "no batch", "no share"],
)
def test_a_senseless_argument_is_refused_with_the_rule(make: Callable[[], Any], says: str) -> None:
    """Errors say what was given and what the rule is."""
    with pytest.raises(ValueError, match=says):
        make()
