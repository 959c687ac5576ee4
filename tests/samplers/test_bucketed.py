"""Batches of like length pad less than shuffled ones, and none is over its budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.samplers import LengthBucketBatchSampler, ShuffleSampler, TokenBudgetBatchSampler

lengths_lists = st.lists(st.integers(0, 50), min_size=1, max_size=90)
REAL = np.random.default_rng(1).lognormal(3, 0.8, 3_000).astype(int) + 1
"""Lengths like those of texts: many short, few long."""


def padding(batches: Iterable[Any], lengths: Any) -> float:
    """Share of padded places that hold no token."""
    sizes = [(len(b) * int(max(lengths[i] for i in b)), sum(int(lengths[i]) for i in b)) for b in batches]
    return 1 - sum(t for _, t in sizes) / sum(p for p, _ in sizes)


@given(
    lengths=lengths_lists, size=st.integers(1, 9), window=st.integers(1, 4), seed=st.integers(0, 9), drop=st.booleans()
)
def test_buckets_hold_each_sample_once(lengths: list[int], size: int, window: int, seed: int, drop: bool) -> None:
    """Batches are whole but for one, which drop_last leaves out."""
    batches = list(LengthBucketBatchSampler(lengths, size, window, seed, drop))
    full, rest = divmod(len(lengths), size)
    assert sorted(len(b) for b in batches) == sorted([size] * full + [rest] * (bool(rest) and not drop))
    drawn = [i for b in batches for i in b]
    assert len(set(drawn)) == len(drawn)
    assert drop or len(drawn) == len(lengths)


@given(lengths=lengths_lists, size=st.integers(1, 9), seed=st.integers(0, 9))
def test_in_one_window_batches_do_not_overlap_in_length(lengths: list[int], size: int, seed: int) -> None:
    """Sorted whole, one batch's longest is no longer than the next one's shortest."""
    batches = LengthBucketBatchSampler(lengths, size, len(lengths), seed)
    spans = sorted((min(lengths[i] for i in b), max(lengths[i] for i in b)) for b in batches)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_buckets_pad_less_than_shuffling_and_stay_shuffled() -> None:
    """Padding comes near that of a sorted epoch, which would give the same batches every time."""
    order = list(ShuffleSampler(len(REAL), 3))
    shuffled = padding([order[i : i + 32] for i in range(0, len(order), 32)], REAL)
    sorted_ = padding(np.array_split(np.argsort(REAL), len(REAL) // 32), REAL)
    sampler = LengthBucketBatchSampler(REAL, 32, seed=3)
    first, second = list(sampler), list(sampler)
    assert sorted_ < padding(first, REAL) < 0.2 * shuffled
    assert not {frozenset(b) for b in first} & {frozenset(b) for b in second}


@pytest.mark.parametrize(
    "sampler",
    [LengthBucketBatchSampler(REAL, 32, 1_000), TokenBudgetBatchSampler(REAL, 1_024, window=None)],
    ids=["buckets", "budget"],
)
def test_batches_come_in_no_order_of_length(sampler: Any) -> None:
    """Sorting is for the batches' insides: training must not go from short to long."""
    longest = [int(REAL[b].max()) for b in sampler]
    assert abs(np.corrcoef(np.arange(len(longest)), np.argsort(np.argsort(longest)))[0, 1]) < 0.3


@given(
    lengths=lengths_lists,
    budget=st.integers(50, 200),
    most=st.none() | st.integers(1, 9),
    window=st.none() | st.integers(1, 100),
    seed=st.integers(0, 9),
)
def test_no_batch_is_over_its_budget(
    lengths: list[int], budget: int, most: int | None, window: int | None, seed: int
) -> None:
    """Padded to its longest no batch holds more tokens than allowed, nor more samples; each sample comes once."""
    batches = list(TokenBudgetBatchSampler(lengths, budget, most, window, seed))
    assert all(len(b) * max(lengths[i] for i in b) <= budget for b in batches)
    assert all(1 <= len(b) <= (most or budget) for b in batches)
    assert sorted(i for b in batches for i in b) == list(range(len(lengths)))


@given(lengths=lengths_lists, budget=st.integers(50, 200), seed=st.integers(0, 9))
def test_a_batch_is_as_full_as_its_budget_allows(lengths: list[int], budget: int, seed: int) -> None:
    """Of the sorted epoch no batch could have taken the next one's shortest sample."""
    batches = list(TokenBudgetBatchSampler(lengths, budget, window=None, seed=seed))
    ordered = sorted(batches, key=lambda b: (min(lengths[i] for i in b), max(lengths[i] for i in b), -len(b)))
    for batch, following in pairwise(ordered):
        assert (len(batch) + 1) * max(1, min(lengths[i] for i in following)) > budget or max(
            lengths[i] for i in batch
        ) > min(lengths[i] for i in following)


def test_budget_batches_fill_their_budget_on_lengths_like_real_ones() -> None:
    """Most places hold a token, and batches are near the budget."""
    batches = list(TokenBudgetBatchSampler(REAL, 1_024, seed=2))
    padded = [len(b) * REAL[b].max() for b in batches]
    assert padding(batches, REAL) < 0.03
    assert max(padded) <= 1_024 and np.mean(padded) > 0.95 * 1_024


def test_the_number_of_batches_is_that_of_the_epoch() -> None:
    """With windows it differs from epoch to epoch, and len says which it is."""
    sampler = TokenBudgetBatchSampler(REAL, 500, window=64, seed=2)
    lengths = []
    for epoch in range(6):
        sampler.set_epoch(epoch)
        lengths.append(len(sampler))
        assert len(list(sampler)) == lengths[-1]
    assert len(set(lengths)) > 1


FORMS = {"list": list, "array": np.array, "tensor": torch.tensor, "float32": lambda v: np.array(v, np.float32)}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_a_sample_beyond_the_budget_is_named(form: Callable[[Any], Any]) -> None:
    """It could be in no batch: leaving it out in silence would lose it."""
    with pytest.raises(ValueError, match=r"2 samples are over the budget of 10 tokens.* sample 1 with 70000"):
        TokenBudgetBatchSampler(form([3, 70_000, 10, 11]), 10)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: LengthBucketBatchSampler([1], 0), "batch_size is 0; it must be at least 1"),
        (lambda: LengthBucketBatchSampler([1], 2, 0), "window is 0; it must be at least 1"),
        (lambda: LengthBucketBatchSampler([[1]], 2), r"lengths: dtype int64, shape \[1, 1\]"),
        (lambda: LengthBucketBatchSampler(["a"], 2), "one number per sample is needed"),
        (lambda: LengthBucketBatchSampler([2, -1], 2), r"lengths\[1\] is -1; lengths must be finite and at least 0"),
        (lambda: TokenBudgetBatchSampler([1.0, float("nan")], 2), r"lengths\[1\] is nan"),
        (lambda: TokenBudgetBatchSampler([1], 0), "max_tokens is 0"),
        (lambda: TokenBudgetBatchSampler([1], 5, 0), "max_samples is 0"),
        (lambda: TokenBudgetBatchSampler([1], 5, None, 0), "window is 0"),
    ],
    ids=["no batch", "no window", "table", "text", "negative", "nan", "no tokens", "no samples", "no budget window"],
)
def test_what_cannot_be_bucketed_is_refused(make: Callable[[], Any], says: str) -> None:
    """Errors say what was given and what the rule is."""
    with pytest.raises(ValueError, match=says):
        make()
