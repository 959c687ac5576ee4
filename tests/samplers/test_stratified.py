"""Every batch holds every class's share, to less than one sample; every sample comes once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.samplers import StratifiedBatchSampler
from tests.samplers.judging import surprise

labels_lists = st.lists(st.integers(0, 6), min_size=1, max_size=120)


@given(labels=labels_lists, size=st.integers(1, 40), seed=st.integers(0, 99), drop=st.booleans())
def test_a_batch_misses_its_shares_by_less_than_one(labels: list[int], size: int, seed: int, drop: bool) -> None:
    """In every batch, the smaller last one too, a class has its share of the batch, rounded up or down."""
    batches = list(StratifiedBatchSampler(labels, size, seed, drop_last=drop))
    full, rest = divmod(len(labels), size)
    assert [len(b) for b in batches] == [size] * full + [rest] * (bool(rest) and not drop)
    shares = np.bincount(labels, minlength=7) / len(labels)
    for batch in batches:
        counts = np.bincount([labels[i] for i in batch], minlength=7)
        assert np.abs(counts - len(batch) * shares).max() < 1 - 1e-9
    drawn = [i for b in batches for i in b]
    assert len(set(drawn)) == len(drawn)
    assert drop or len(drawn) == len(labels)


def test_many_classes_and_samples_hold_their_shares_too() -> None:
    """A thousand classes, most of them rarer than one in a batch."""
    labels = (np.random.default_rng(0).random(50_000) ** 3 * 1_000).astype(int)
    shares = np.bincount(labels, minlength=1_000) / len(labels)
    worst = max(
        float(np.abs(np.bincount(labels[batch], minlength=1_000) - len(batch) * shares).max())
        for batch in StratifiedBatchSampler(labels, 333, 1)
    )
    assert worst < 1


def test_which_samples_share_a_batch_is_random() -> None:
    """Over epochs each sample of a class is as often in the first batch, and in each place of it, as any other."""
    labels = [0] * 8 + [1] * 4
    sampler = StratifiedBatchSampler(labels, 6, 3)
    first = np.array([next(iter(sampler)) for _ in range(1_200)])
    counts = np.bincount(first.reshape(-1), minlength=12)
    assert surprise(counts[:8], np.ones(8)) < 4
    assert surprise(counts[8:], np.ones(4)) < 4
    assert surprise((first >= 8).sum(axis=0), np.ones(6)) < 4


def test_a_samples_companions_are_random() -> None:
    """Of its class any other is as often in the same batch."""
    sampler = StratifiedBatchSampler([0] * 8 + [1] * 4, 6, 3)
    met = np.zeros(12)
    for _ in range(1_000):
        (batch,) = (b for b in sampler if 0 in b)
        met[batch] += 1
    assert surprise(met[1:8], np.ones(7)) < 4
    assert surprise(met[8:], np.ones(4)) < 4


def test_what_is_left_over_goes_to_any_batch() -> None:
    """The one sample that a class has beyond its whole shares is as often in the first batch as in the last."""
    labels = np.array([0] * 26 + [1] * 2 + [2] * 2)
    sampler = StratifiedBatchSampler(labels, 6, 3)
    where = [[(labels[b] == 0).sum() for b in sampler].index(6) for _ in range(1_000)]
    assert surprise(np.bincount(where, minlength=5), np.ones(5)) < 4


def test_which_rare_classes_share_a_batch_is_random() -> None:
    """Ten classes of one sample, two to a batch: in every epoch the circle is walked in another order."""
    labels = [0] * 20 + list(range(1, 11))
    sampler = StratifiedBatchSampler(labels, 6, 3)
    together = sum(any({20, 21} <= set(batch) for batch in sampler) for _ in range(450))
    assert surprise([together, 450 - together], [1, 8]) < 4


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: StratifiedBatchSampler([0, 1], 0), "batch_size is 0; it must be at least 1"),
        (lambda: StratifiedBatchSampler([], 2), "labels are empty"),
        (lambda: StratifiedBatchSampler([[0, 1]], 2), r"labels: .*shape \[1, 2\]"),
    ],
    ids=["no batch", "no labels", "table"],
)
def test_what_cannot_be_stratified_is_refused(make: Callable[[], Any], says: str) -> None:
    """Errors say what was given and what the rule is."""
    with pytest.raises(ValueError, match=says):
        make()
