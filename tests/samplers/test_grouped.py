"""No group is split: not between batches, not between splits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.samplers import GroupBatchSampler, split_by_group

groups_lists = st.lists(st.integers(0, 12), min_size=1, max_size=90)
SHARES = {"train": 0.8, "val": 0.1, "test": 0.1}
some_shares = st.sampled_from([SHARES, {"a": 1.0}, {"a": 0.5, "b": 0.5}, {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}])


@given(groups=groups_lists, size=st.integers(1, 12), seed=st.integers(0, 9))
def test_no_group_is_split_between_batches(groups: list[int], size: int, seed: int) -> None:
    """Each sample comes once, with all of its group, and a batch is over its size only for one group that is."""
    batches = list(GroupBatchSampler(groups, size, seed))
    assert sorted(i for b in batches for i in b) == list(range(len(groups)))
    where = {groups[i]: n for n, b in enumerate(batches) for i in b}
    assert all(where[groups[i]] == n for n, b in enumerate(batches) for i in b)
    assert all(len(b) <= size or len({groups[i] for i in b}) == 1 for b in batches)


@given(groups=groups_lists, size=st.integers(1, 12), seed=st.integers(0, 9))
def test_a_group_waits_for_the_next_batch_only_if_it_does_not_fit(groups: list[int], size: int, seed: int) -> None:
    """Two batches that follow each other could not have been one."""
    batches = list(GroupBatchSampler(groups, size, seed))
    for batch, following in pairwise(batches):
        next_group = sum(groups[i] == groups[following[0]] for i in following)
        assert len(batch) + next_group > size


def test_which_groups_share_a_batch_changes_from_epoch_to_epoch() -> None:
    """Groups are shuffled, not only batches."""
    sampler = GroupBatchSampler(np.arange(300) // 3, 12, 1)
    first, second = ({frozenset(b) for b in sampler} for _ in range(2))
    assert not first & second


@given(groups=groups_lists, shares=some_shares, seed=st.integers(0, 9))
def test_no_group_is_in_two_splits(groups: list[int], shares: dict[str, float], seed: int) -> None:
    """Splits are ascending, hold every sample once, and a split exceeds its share by less than one group."""
    splits = split_by_group(groups, shares, seed)
    assert list(splits) == list(shares)
    assert all((np.diff(rows) > 0).all() for rows in splits.values())
    assert sorted(i for rows in splits.values() for i in rows.tolist()) == list(range(len(groups)))
    homes = [{groups[i] for i in rows.tolist()} for rows in splits.values()]
    assert sum(map(len, homes)) == len(set(groups))
    largest = max(groups.count(g) for g in set(groups))
    assert all(len(splits[name]) - share * len(groups) < largest + 1e-6 for name, share in shares.items())
    assert sum(map(bool, homes)) == min(len(shares), len(set(groups)))


def test_of_many_groups_shares_are_met_nearly() -> None:
    """Sizes differ by a hundred, and each split is within half a percent of its share."""
    sizes = np.random.default_rng(2).integers(1, 100, 400)
    groups = np.repeat(np.arange(400), sizes)
    splits = split_by_group(groups, SHARES, 1)
    assert all(abs(len(splits[name]) / len(groups) - share) < 0.005 for name, share in SHARES.items())


def test_large_groups_leave_no_split_empty_where_it_can_be_helped() -> None:
    """Taken from the largest to the smallest, small groups make up for what large ones leave."""
    sizes = [[80, 10, 10], [168, 124, 52], [50, 40, 6, 4]]
    splits = [split_by_group(np.repeat(range(len(s)), s), SHARES) for s in sizes]
    assert [[len(rows) for rows in s.values()] for s in splits] == [[80, 10, 10], [168, 124, 52], [90, 6, 4]]


def test_a_split_follows_from_its_seed_alone() -> None:
    """The same seed splits the same groups alike, in any form; another one splits them otherwise."""
    groups = [i // 3 for i in range(300)]
    splits = [split_by_group(form, SHARES, 4) for form in (groups, np.array(groups), torch.tensor(groups))]
    splits.append(split_by_group([f"{g:03}" for g in groups], SHARES, 4))
    assert all(s["val"].tolist() == splits[0]["val"].tolist() for s in splits)
    assert split_by_group(groups, SHARES, 5)["val"].tolist() != splits[0]["val"].tolist()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: GroupBatchSampler([1], 0), "batch_size is 0; it must be at least 1"),
        (lambda: split_by_group([1], {}), "each must be above 0, and together they must sum to 1"),
        (lambda: split_by_group([1], {"a": 0.5}), "each must be above 0, and together they must sum to 1"),
        (lambda: split_by_group([1], {"a": 1.5, "b": -0.5}), "each must be above 0, and together they must sum to 1"),
        (lambda: split_by_group([[1]], {"a": 1.0}), r"groups: .*shape \[1, 1\]"),
    ],
    ids=["no batch", "no shares", "half", "negative", "table"],
)
def test_what_cannot_be_grouped_is_refused(make: Callable[[], Any], says: str) -> None:
    """Errors say what was given and what the rule is."""
    with pytest.raises(ValueError, match=says):
        make()
