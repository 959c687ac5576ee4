"""Large epochs are sorted, shuffled and made piece by piece: what holds in one piece holds in many."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.samplers import (
    ClassBalancedBatchSampler,
    StratifiedBatchSampler,
    balanced,
    bucketed,
    ordering,
)
from dataloader_expert.samplers import grouped as grouped_module
from dataloader_expert.samplers import stratified as stratified_module
from dataloader_expert.samplers import weighted as weighted_module
from dataloader_expert.samplers.ordering import class_codes, grouped_by, shuffled, shuffled_segments
from tests.samplers import test_balanced, test_bucketed, test_contract, test_grouped, test_stratified, test_weighted
from tests.samplers.judging import surprise
from tests.samplers.makers import BY_LENGTH, MAKERS

SMALL = {"CHUNK": 16, "BINNED": 8, "TOGETHER": 12, "ALONE": 5, "BLOCK": 16, "PIECE": 4, "MERGED": 16, "WALKED": 3}
MODULES = [ordering, balanced, bucketed, grouped_module, stratified_module, weighted_module]


@pytest.fixture
def in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        for name, size in SMALL.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, size)


PROPERTIES: list[Callable[[], Any]] = [
    test_balanced.test_a_batch_is_p_classes_by_k_samples,
    test_balanced.test_a_class_is_used_up_before_one_of_its_samples_comes_again,
    test_balanced.test_rounds_deal_out_all_classes,
    test_balanced.test_the_most_frequent_class_need_not_be_left_out,
    test_bucketed.test_buckets_hold_each_sample_once,
    test_bucketed.test_in_one_window_batches_do_not_overlap_in_length,
    test_bucketed.test_no_batch_is_over_its_budget,
    test_grouped.test_no_group_is_split_between_batches,
    test_grouped.test_a_group_waits_for_the_next_batch_only_if_it_does_not_fit,
    test_stratified.test_a_batch_misses_its_shares_by_less_than_one,
    test_stratified.test_which_samples_share_a_batch_is_random,
    test_stratified.test_what_is_left_over_goes_to_any_batch,
    test_stratified.test_which_rare_classes_share_a_batch_is_random,
    test_weighted.test_the_table_holds_the_weights_exactly,
    test_weighted.test_without_replacement_no_sample_comes_twice,
    test_weighted.test_without_replacement_all_orders_come_as_torchs_do,
    test_weighted.test_without_replacement_the_order_is_random,
]


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: str(holds.__name__)[5:])
@pytest.mark.usefixtures("in_small_pieces")
def test_what_holds_in_one_piece_holds_in_many(holds: Callable[[], Any]) -> None:
    """Chunks, bins and blocks of a few samples: everything crosses their edges."""
    holds()


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.usefixtures("in_small_pieces")
def test_pieces_are_resumed_and_shared_out(name: str) -> None:
    """A block that is asked for out of turn is the one that came in turn."""
    if name in BY_LENGTH:
        test_contract.test_ranks_share_the_batches_of_an_epoch_in_an_order_of_their_own(name=name)
    else:
        test_contract.test_ranks_share_an_epoch_out(name=name)
    test_contract.test_a_state_gives_exactly_the_rest(name=name)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_keys_are_grouped_stably(kind: Any, in_small_pieces: None) -> None:
    """As numpy's own stable sort has it, whatever the keys' type, number and range."""
    rng = np.random.default_rng(0)
    for count in (0, 1, 16, 17, 300, 1_000):
        for most in (1, 2, 200, 256, 257, 60_000, 1 << 20, 1 << 32):
            keys = rng.integers(0, min(most, int(np.iinfo(kind).max) + 1), count).astype(kind)
            order = grouped_by(keys)
            assert order.dtype == np.int32
            assert np.array_equal(order, np.argsort(keys, kind="stable"))


@given(
    labels=st.lists(st.integers(-300, 300), min_size=1, max_size=60),
    kind=st.sampled_from([np.int16, np.int32, np.int64, np.float64]),
)
def test_codes_are_places_among_the_sorted_labels(labels: list[int], kind: Any) -> None:
    """Counted or sorted, in the narrowest type."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "CHUNK", 16)
        codes, counts = class_codes(np.array(labels, kind))
    _, places, times = np.unique(labels, return_inverse=True, return_counts=True)
    assert codes.dtype == np.uint8
    assert np.array_equal(codes, places) and np.array_equal(counts, times)


def test_codes_hold_as_many_classes_as_there_are() -> None:
    """At the edges of 8 and 16 bits."""
    for count, kind in ((256, np.uint8), (257, np.uint16), (1 << 16, np.uint16), ((1 << 16) + 1, np.uint32)):
        codes, counts = class_codes(np.arange(count)[::-1])
        assert codes.dtype == kind
        assert np.array_equal(codes, np.arange(count)[::-1]) and (counts == 1).all()


@pytest.mark.journey
@pytest.mark.usefixtures("in_small_pieces")
def test_all_orders_through_bins_come_equally_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins are random and each is shuffled: no order of four is rarer than another, of indices or of values."""
    monkeypatch.setattr(ordering, "BINNED", 2)
    rng = np.random.Generator(np.random.SFC64([7]))
    places = {order: i for i, order in enumerate(permutations(range(4)))}
    for values in (None, np.arange(4, dtype=np.int32)):
        counts = np.bincount([places[tuple(shuffled(rng, 4, values).tolist())] for _ in range(2_400)], minlength=24)
        assert surprise(counts, np.ones(24)) < 4


@pytest.mark.parametrize("alone", [2, 3, 4, 100])
def test_segments_keep_their_values_in_any_order(alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments come in their order, and all orders of each, and of two of them together, equally often."""
    monkeypatch.setattr(ordering, "ALONE", alone)
    monkeypatch.setattr(ordering, "TOGETHER", 6)
    rng = np.random.Generator(np.random.SFC64([7]))
    values = np.array([5, 6, 7, 8, 1, 2, 3, 9], np.int32)
    starts, sizes = np.array([0, 4, 1, 7]), np.array([3, 3, 3, 1])
    seen = np.zeros((6, 6))
    orders = [list(permutations(values[s : s + 3].tolist())) for s in (0, 4)]
    for _ in range(1_440):
        came = np.concatenate([part for _, _, part in shuffled_segments(rng, values, starts, sizes)]).tolist()
        assert sorted(came[6:9]) == [6, 7, 8] and came[9:] == [9]
        seen[orders[0].index(tuple(came[:3])), orders[1].index(tuple(came[3:6]))] += 1
    assert surprise(seen.reshape(-1), np.ones(36)) < 4


def test_a_large_stratified_epoch_holds_its_shares() -> None:
    """Many blocks, classes from one sample to most of them, each sample once."""
    labels = (np.random.default_rng(0).random(700_001) ** 4 * 40).astype(int)
    labels[:3] = [40, 41, 42]
    shares = np.bincount(labels) / len(labels)
    batches = list(StratifiedBatchSampler(labels, 50, 1))
    table = np.zeros((len(batches), len(shares)))
    drawn = np.concatenate(batches)
    np.add.at(table, (np.repeat(np.arange(len(batches)), [len(b) for b in batches]), labels[drawn]), 1)
    assert np.abs(table - np.array([len(b) for b in batches])[:, None] * shares).max() < 1
    assert np.array_equal(np.sort(drawn), np.arange(len(labels)))


def test_a_large_balanced_epoch_is_balanced() -> None:
    """Many blocks: of a rare class each sample comes as often as any other, of a frequent one at most once."""
    labels = np.where(np.random.default_rng(0).random(600_000) < 0.99, 0, np.arange(600_000) % 9 + 1)
    batches = np.array(list(ClassBalancedBatchSampler(labels, 4, 5, 1)))
    classes = labels[batches].reshape(-1, 4, 5)
    assert (classes == classes[:, :, :1]).all()
    ordered = np.sort(classes[:, :, 0], axis=1)
    assert (ordered[:, 1:] != ordered[:, :-1]).all()
    times = np.bincount(batches.reshape(-1), minlength=len(labels))
    for label in range(10):
        of_class = times[labels == label]
        assert of_class.max() - of_class.min() <= 1
        assert abs(of_class.sum() / batches.size - 0.1) < 0.01
