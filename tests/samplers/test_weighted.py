"""Draws follow their weights, exactly so in the table, from both of the ways to draw and in every block."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.samplers import WeightedSampler, weighted
from dataloader_expert.samplers.weighted import alias_table
from tests.samplers.judging import surprise

SHAPES: dict[str, Any] = {
    "one": [3.0],
    "two": [1.0, 3.0],
    "three, one of them 0": [2.0, 0.0, 1.0],
    "equal": np.ones(50),
    "ascending": np.arange(40),
    "zeros between": np.where(np.arange(99) % 3, np.arange(99), 0),
    "zeros at the end": np.append(np.ones(20), np.zeros(30)),
    "one huge": np.append(np.ones(200), 1e6),
    "all but nothing": np.append(np.full(200, 1e-12), [1.0, 2.0]),
    "heavy tail": 1 / np.arange(1, 300.0) ** 2,
    "large numbers": np.array([1e307, 2e307, 1.7e308, 0, 1e308]),
    "small numbers": np.array([1e-310, 2e-310, 0.0, 3e-310]),
    "float32": np.linspace(0, 1, 77, dtype=np.float32),
    "float16": np.linspace(0, 9, 33, dtype=np.float16),
    "int8": np.arange(100, dtype=np.int8),
    "bool": np.arange(30) % 4 == 0,
    "tensor": torch.linspace(0.5, 2, 60),
}
DRAWS = 60_000
weights_lists = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-6, 1.0), st.floats(1.0, 1e6)), min_size=1, max_size=60
).filter(any)


def shares_of(weights: Any) -> Any:
    wide = np.asarray(weights, np.longdouble)
    return wide / wide.sum()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tabled", [True, False], ids=["table", "sorted uniforms"])
def test_draws_follow_the_weights(shape: str, tabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pearson's statistic over an epoch, over its first tenth and over three epochs; blocks end within it."""
    monkeypatch.setattr(weighted, "BLOCK", 7_001)
    monkeypatch.setattr(weighted, "MERGED", 7_001)
    monkeypatch.setattr(weighted, "WALKED", 16)  # as is, no shape here has more samples than one walk
    monkeypatch.setattr(weighted, "TABLED", 1 << 25 if tabled else 0)
    weights = SHAPES[shape]
    sampler = WeightedSampler(weights, DRAWS, seed=11)
    epochs = [sampler.epoch_indices() for _ in range(3)]
    for drawn in (epochs[0], epochs[0][: DRAWS // 10], epochs[0][-DRAWS // 10 :], np.concatenate(epochs)):
        assert surprise(np.bincount(drawn, minlength=len(weights)), shares_of(weights)) < 4


@pytest.mark.parametrize("tabled", [True, False], ids=["table", "sorted uniforms"])
def test_draws_are_independent_of_each_other(tabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours in an epoch come as pairs of independent draws would, though the uniforms were sorted."""
    monkeypatch.setattr(weighted, "BLOCK", 5_000)
    monkeypatch.setattr(weighted, "MERGED", 5_000)
    monkeypatch.setattr(weighted, "TABLED", 1 << 25 if tabled else 0)
    weights = np.array([1.0, 2.0, 0.0, 3.0, 4.0])
    drawn = WeightedSampler(weights, DRAWS, seed=2).epoch_indices()
    pairs = np.bincount(drawn[:-1] * 5 + drawn[1:], minlength=25)
    assert surprise(pairs, np.outer(shares_of(weights), shares_of(weights)).reshape(-1)) < 4


@given(weights=weights_lists)
def test_the_table_holds_the_weights_exactly(weights: list[float]) -> None:
    """What the table gives each sample, its own part and what others pass on to it, is its share of the weights."""
    given_as, n = np.array(weights), len(weights)
    kept, alias = alias_table(given_as, float(given_as.sum()))
    assert ((kept >= 0) & (kept <= 1)).all()
    held = kept.astype(np.float64)
    np.add.at(held, alias, 1.0 - kept.astype(np.float64))
    receives = np.bincount(alias, minlength=n)
    wanted = given_as * n / given_as.sum()
    assert (np.abs(held - wanted) <= 1e-9 + 6e-8 * (receives + 1)).all()
    assert not held[given_as == 0].any()


@pytest.mark.parametrize("tabled", [True, False], ids=["table", "sorted uniforms"])
def test_an_epoch_can_be_resumed_in_any_block(tabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block has a generator of its own, so that a resumed epoch draws none of those before it."""
    monkeypatch.setattr(weighted, "BLOCK", 100)
    monkeypatch.setattr(weighted, "MERGED", 100)
    monkeypatch.setattr(weighted, "TABLED", 1 << 25 if tabled else 0)
    for world in (1, 3):
        whole = WeightedSampler(range(1, 50), 730, seed=4, num_replicas=world, rank=0)
        drawn = list(whole)
        for stop in (0, 1, 99, 100, 101, len(drawn) - 1, len(drawn)):
            rest = WeightedSampler(range(1, 50), 730, seed=4, num_replicas=world, rank=0)
            rest.load_state_dict(whole.state_dict(taken=stop))
            assert list(rest) == drawn[stop:]


@pytest.mark.parametrize("tabled", [True, False], ids=["table", "sorted uniforms"])
def test_a_resumed_epoch_draws_no_block_before_its_place(tabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long epoch nothing is drawn only to be thrown away."""
    monkeypatch.setattr(weighted, "BLOCK", 100)
    monkeypatch.setattr(weighted, "MERGED", 100)
    monkeypatch.setattr(weighted, "TABLED", 1 << 25 if tabled else 0)
    sampler = WeightedSampler(np.ones(50), 730)
    sampler.load_state_dict(sampler.state_dict(taken=555))
    generators: list[object] = []
    generator = np.random.Generator

    def noted(bits: Any) -> np.random.Generator:
        generators.append(bits)
        return generator(bits)

    monkeypatch.setattr(np.random, "Generator", noted)
    assert len(list(sampler)) == 175
    assert len(generators) == 3  # one for each of the blocks of draws 500 to 729


def test_a_uniform_number_of_0_draws_no_weight_of_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands where samples of weight 0 end, not where they are."""

    class Zeros:
        def random(self, size: int) -> Any:
            return np.zeros(size)

        def shuffle(self, values: Any) -> None:
            pass

    monkeypatch.setattr(weighted, "TABLED", 0)
    sampler = WeightedSampler([0.0, 0.0, 1.0, 0.0, 2.0])
    monkeypatch.setattr(np.random, "Generator", lambda bits: Zeros())
    assert list(sampler) == [2] * 5


@given(weights=weights_lists, walked=st.integers(1, 7))
def test_cumulated_weights_end_whole_and_rise_with_them(weights: list[float], walked: int) -> None:
    """No uniform number passes the last weight above 0 of a piece, and one that is 0 adds nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighted, "WALKED", walked)
        ends, within = weighted.cumulated(np.array(weights))
    assert ends[-1] == pytest.approx(sum(weights))
    for i in range(0, len(weights), walked):
        own, sums = weights[i : i + walked], within[i : i + walked].tolist()
        assert sums[-1] == weighted.FULL
        assert sums == sorted(sums)
        for j in range(1, len(own)):
            assert own[j] or sums[j] == sums[j - 1]


def test_blocks_are_not_each_other() -> None:
    """A generator per block must not begin each with the same numbers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighted, "BLOCK", 50)
        drawn = WeightedSampler(np.ones(1000), 200, seed=4).epoch_indices().reshape(4, 50)
    assert all((a != b).any() for a, b in pairwise(drawn))


@given(weights=weights_lists, seed=st.integers(0, 99), data=st.data())
def test_without_replacement_no_sample_comes_twice(weights: list[float], seed: int, data: st.DataObject) -> None:
    """Draws are distinct, and none has weight 0."""
    possible = np.count_nonzero(weights)
    count = data.draw(st.integers(1, int(possible)))
    drawn = list(WeightedSampler(weights, count, False, seed))
    assert len(set(drawn)) == len(drawn) == count
    assert all(weights[i] for i in drawn)


@pytest.mark.parametrize(
    "weights", [[1e-40, 0.0, 1.0, 0.0], [1e-300, 0.0, 1e300, 0.0], [5e-324, 0.0, 1.0, 0.0]], ids=str
)
def test_without_replacement_a_faint_weight_is_still_no_0(weights: list[float]) -> None:
    """However far apart weights are, one above 0 comes before one of 0."""
    sampler = WeightedSampler(weights, 2, False, 1)
    assert all(sorted(sampler) == [0, 2] for _ in range(50))


def test_without_replacement_a_key_of_0_does_not_choose_a_weight_of_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2^23 exponential numbers one is 0, and 0 / 0 is no reason to be chosen, nor to warn."""

    class Zeros:
        def standard_exponential(self, dtype: Any, out: Any) -> None:
            out[:] = 0

        def shuffle(self, values: Any) -> None:
            pass

    sampler = WeightedSampler([0.0, 1.0, 0.0, 2.0], 2, False)
    monkeypatch.setattr(np.random, "Generator", lambda bits: Zeros())
    assert sorted(sampler) == [1, 3]


def test_without_replacement_all_orders_come_as_torchs_do() -> None:
    """Which samples come follows successive draws, by arithmetic and as torch.multinomial has it."""
    weights = np.array([1.0, 2.0, 3.0, 4.0, 0.0])
    shares, times = shares_of(weights).astype(float), 2_000
    sets = {
        (i, j): shares[i] * shares[j] * (1 / (1 - shares[i]) + 1 / (1 - shares[j])) for j in range(5) for i in range(j)
    }
    ours = WeightedSampler(weights, 2, False, 5)
    drawn = np.sort([ours.epoch_indices() for _ in range(times)], axis=1)
    generator = torch.Generator().manual_seed(5)
    theirs = torch.multinomial(torch.from_numpy(weights).expand(times, 5), 2, generator=generator)
    for found in (drawn, np.sort(theirs.numpy(), axis=1)):
        counts = [int(((found[:, 0] == i) & (found[:, 1] == j)).sum()) for i, j in sets]
        assert surprise(counts, list(sets.values())) < 4


def test_without_replacement_the_order_is_random() -> None:
    """Samples are chosen by weight, but a heavy one does not come first for that."""
    sampler = WeightedSampler([1.0, 100.0, 10_000.0], 3, False, 3)
    first = [int(sampler.epoch_indices()[0]) for _ in range(1_200)]
    assert surprise(np.bincount(first, minlength=3), [1, 1, 1]) < 4


def test_an_epoch_may_be_longer_or_shorter_than_the_data() -> None:
    """num_samples are the draws of an epoch, of all ranks."""
    assert len(list(WeightedSampler([1.0, 2.0], 17))) == 17
    shares = [WeightedSampler([1.0, 2.0], 17, num_replicas=2, rank=r) for r in range(2)]
    assert [len(list(s)) for s in shares] == [9, 9]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: WeightedSampler([1.0, -2.0, 3.0]), r"weights\[1\] is -2.0"),
        (lambda: WeightedSampler([1.0, 2.0, float("nan")]), r"weights\[2\] is nan"),
        (lambda: WeightedSampler([float("inf"), 1.0]), r"weights\[0\] is inf"),
        (lambda: WeightedSampler([float("inf"), float("-inf")]), r"weights\[0\] is inf"),
        (lambda: WeightedSampler([0.0, 0.0]), "all weights are 0"),
        (lambda: WeightedSampler([]), "all weights are 0"),
        (lambda: WeightedSampler([[1.0]]), r"weights: .*shape \[1, 1\]"),
        (lambda: WeightedSampler(["a"]), "one number per sample"),
        (lambda: WeightedSampler([1.0], 0), "num_samples is 0"),
        (lambda: WeightedSampler([1.0, 0.0, 2.0], 3, False), "3 draws without replacement, but 2 weights"),
    ],
    ids=[
        "negative",
        "nan",
        "infinite",
        "both infinite",
        "all 0",
        "none",
        "table",
        "text",
        "no draws",
        "too many draws",
    ],
)
def test_weights_that_cannot_be_drawn_by_are_refused(make: Callable[[], Any], says: str) -> None:
    """Errors name the first that breaks the rule."""
    with pytest.raises(ValueError, match=says):
        make()


def test_a_state_of_the_other_kind_of_draw_is_refused() -> None:
    """With and without replacement are two orders."""
    state = WeightedSampler([1.0, 2.0], 2, True).state_dict()
    with pytest.raises(ValueError, match="replacement True, but this sampler has False"):
        WeightedSampler([1.0, 2.0], 2, False).load_state_dict(state)
