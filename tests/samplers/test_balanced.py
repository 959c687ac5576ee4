"""P classes by K samples; a class's samples are all used before one comes again; and the first seed's call forms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.samplers import ClassBalancedBatchSampler

labels_lists = st.lists(st.integers(0, 6), min_size=1, max_size=80)
UNEVEN = [2] * 3 + [0] * 10 + [1] * 6


def by_class(batches: Iterable[list[int]], labels: Any) -> dict[int, list[int]]:
    """Each class's samples in the order in which they came."""
    came: dict[int, list[int]] = defaultdict(list)
    for batch in batches:
        for i in batch:
            came[int(labels[i])].append(i)
    return came


@given(labels=labels_lists, k=st.integers(1, 5), seed=st.integers(0, 9), data=st.data())
def test_a_batch_is_p_classes_by_k_samples(labels: list[int], k: int, seed: int, data: st.DataObject) -> None:
    """Each batch has P distinct classes with K samples each, and an epoch is as long as the data fill it."""
    p = data.draw(st.integers(1, len(set(labels))))
    batches = list(ClassBalancedBatchSampler(labels, p, k, seed))
    assert len(batches) == max(1, len(labels) // (p * k))
    for batch in batches:
        assert sorted(Counter(labels[i] for i in batch).values()) == [k] * p


@given(labels=labels_lists, k=st.integers(1, 5), seed=st.integers(0, 9), whole=st.booleans(), data=st.data())
def test_a_class_is_used_up_before_one_of_its_samples_comes_again(
    labels: list[int], k: int, seed: int, whole: bool, data: st.DataObject
) -> None:
    """No sample is repeated while another of its class waits, whichever way batches are asked for."""
    p = None if whole else data.draw(st.integers(1, len(set(labels))))
    came = by_class(ClassBalancedBatchSampler(labels, p, k, seed, drop_last=not whole), labels)
    counts = Counter(labels)
    for label, samples in came.items():
        passes = [samples[at : at + counts[label]] for at in range(0, len(samples), counts[label])]
        assert all(len(set(run)) == len(run) for run in passes)


@given(seed=st.integers(0, 99))
def test_rounds_deal_out_all_classes(seed: int) -> None:
    """Where P divides the classes they come equally often, but for the round in which the epoch ends."""
    labels = np.arange(600) % 12
    came = by_class(ClassBalancedBatchSampler(labels, 4, 3, seed), labels)
    counts = [len(came[c]) for c in range(12)]
    assert max(counts) - min(counts) <= 3


def test_where_p_does_not_divide_the_classes_none_is_left_behind() -> None:
    """Those left over at a round's end are random ones: over many rounds all come about equally often."""
    labels = np.arange(3_000) % 7
    came = by_class(ClassBalancedBatchSampler(labels, 3, 1, 5), labels)
    counts = np.array([len(came[c]) for c in range(7)])
    assert np.abs(counts / counts.mean() - 1).max() < 0.15


def test_classes_meet_in_all_pairs() -> None:
    """A batch's classes are drawn anew: no two always come together, none never."""
    labels = np.arange(4_000) % 8
    met = Counter(
        (a, b)
        for batch in ClassBalancedBatchSampler(labels, 2, 1, 5)
        for a, b in [sorted(int(labels[i]) for i in batch)]
    )
    assert len(met) == 28
    assert max(met.values()) < 3 * min(met.values())


def test_labels_alone_give_batches_of_every_class_in_sorted_order() -> None:
    """The first seed's form: as many batches as the rarest class has samples."""
    sampler = ClassBalancedBatchSampler(UNEVEN, drop_last=True, shuffle=True, seed=3)
    batches = list(sampler)
    assert [[UNEVEN[i] for i in batch] for batch in batches] == [[0, 1, 2]] * 3
    assert len(sampler) == 3 and sampler.batch_size == 3
    assert sorted(batch[2] for batch in batches) == [0, 1, 2]


def test_without_drop_last_an_epoch_ends_with_the_most_frequent_class() -> None:
    """The first seed repeated an exhausted class's last sample for ever; here it begins anew in another order."""
    sampler = ClassBalancedBatchSampler(UNEVEN, drop_last=False, seed=3)
    batches = list(sampler)
    assert len(batches) == len(sampler) == 10
    assert [[UNEVEN[i] for i in batch] for batch in batches] == [[0, 1, 2]] * 10
    times = Counter(i for batch in batches for i in batch)
    assert [times[i] for i in range(3, 13)] == [1] * 10
    assert sorted(times[i] for i in range(3)) == [3, 3, 4]
    assert sorted(times[i] for i in range(13, 19)) == [1, 1, 2, 2, 2, 2]
    runs = {tuple(b[2] for b in batches[at : at + 3]) for at in (0, 3, 6)}
    assert len(runs) > 1


def test_the_most_frequent_class_need_not_be_left_out() -> None:
    """One epoch without drop_last shows every sample; epochs of P by K samples show all of them in turn."""
    labels = np.array([0] * 200 + [1] * 8)
    batches = list(ClassBalancedBatchSampler(labels, drop_last=False, seed=3))
    assert {i for batch in batches for i in batch} == set(range(208))
    sampler = ClassBalancedBatchSampler(labels, 2, 4, seed=3)
    shown = [{i for batch in sampler for i in batch} for _ in range(12)]
    assert all(len(epoch) == 8 + 104 for epoch in shown)
    assert set.union(*shown) == set(range(208))


@pytest.mark.parametrize("drop_last", [True, False])
def test_without_shuffle_samples_come_in_their_own_order(drop_last: bool) -> None:
    """The same in every epoch, as the first seed had it."""
    sampler = ClassBalancedBatchSampler([1, 0, 1, 0, 1], drop_last=drop_last, shuffle=False)
    expected = [[1, 0], [3, 2], [1, 4]] if not drop_last else [[1, 0], [3, 2]]
    assert [list(sampler) for _ in range(2)] == [expected] * 2


FORMS = {"array": np.array, "tensor": torch.tensor, "tuple": tuple, "strings": lambda v: [str(x) for x in v]}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_labels_alone_may_be_an_array(form: Callable[[Any], Any]) -> None:
    """`if not labels` broke on arrays and tensors."""
    assert list(ClassBalancedBatchSampler(form(UNEVEN), seed=1)) == list(ClassBalancedBatchSampler(UNEVEN, seed=1))


def test_a_rarest_class_below_k_samples_leaves_no_whole_batch() -> None:
    """With drop_last an epoch ends with the rarest class, here before it began; without, samples are repeated."""
    assert list(ClassBalancedBatchSampler([0, 0, 0, 1], None, 2)) == []
    assert [len(b) for b in ClassBalancedBatchSampler([0, 0, 0, 1], None, 2, drop_last=False)] == [4, 4]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ClassBalancedBatchSampler([0, 1], 3, 1), "classes_per_batch is 3, but labels have 2 classes"),
        (lambda: ClassBalancedBatchSampler([0, 1], 1, 0), "samples_per_class is 0; it must be at least 1"),
        (lambda: ClassBalancedBatchSampler([0, 1], 0, 1), "classes_per_batch is 0; it must be at least 1"),
        (lambda: ClassBalancedBatchSampler([]), "labels are empty"),
        (lambda: ClassBalancedBatchSampler(np.zeros((2, 2))), r"labels: .*shape \[2, 2\]; one value per sample"),
    ],
    ids=["too many classes", "no samples", "no classes", "no labels", "table"],
)
def test_what_cannot_be_balanced_is_refused(make: Callable[[], Any], says: str) -> None:
    """Errors say what was given and what the rule is."""
    with pytest.raises(ValueError, match=says):
        make()
