"""What every sampler owes: an order by seed and epoch alone, shared out to ranks, resumable, for a plain DataLoader."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch.utils.data import DataLoader, DistributedSampler, Sampler

from dataloader_expert import samplers
from dataloader_expert.samplers import OrderedSampler, ShuffleSampler, WeightedSampler
from dataloader_expert.samplers.base import IndexSampler
from tests.samplers.makers import BY_LENGTH, MAKERS, ONCE, UNSEEDED, Values, flat, gives_batches

some = st.lists(st.integers(0, 5), min_size=1, max_size=60)
seeds = st.integers(0, 2**40)
every_sampler = pytest.mark.parametrize("name", MAKERS)
every_seeded = pytest.mark.parametrize("name", sorted(set(MAKERS) - UNSEEDED))
INDEX = sorted(n for n, make in MAKERS.items() if not gives_batches(make([0, 1], 0)))
MANY: Values = [(i * i + i // 7) % 6 for i in range(211)]
FORMS: dict[str, Callable[[Values], Any]] = {
    "array": np.array,
    "narrow array": lambda v: np.array(v, np.int8),
    "unsigned array": lambda v: np.array(v, np.uint8),
    "float32 array": lambda v: np.array(v, np.float32),
    "tensor": torch.tensor,
    "float tensor": lambda v: torch.tensor(v, dtype=torch.float32),
    "tuple": tuple,
}


def at_epoch(name: str, values: Values, seed: int, epoch: int, **more: Any) -> list[Any]:
    """What a fresh sampler gives in this epoch."""
    sampler = MAKERS[name](values, seed, **more)
    sampler.set_epoch(epoch)
    return list(sampler)


def ranks(name: str, values: Values, seed: int, world: int, epoch: int, **more: Any) -> list[list[Any]]:
    return [at_epoch(name, values, seed, epoch, num_replicas=world, rank=r, **more) for r in range(world)]


def test_every_sampler_of_the_package_is_held_to_the_contract() -> None:
    """A new sampler without a row here fails; split_by_group is a function, and has tests of its own."""
    assert set(samplers.__all__) == {*MAKERS, "split_by_group"}


@every_sampler
@given(values=some, seed=seeds)
@example(values=MANY, seed=1)
def test_the_order_follows_from_seed_and_epoch_alone(name: str, values: Values, seed: int) -> None:
    """Two samplers of one seed agree in every epoch, whatever they gave before, and indices are those of the data."""
    travelled = MAKERS[name](values, seed)
    for epoch in (3, 0, 1):
        travelled.set_epoch(epoch)
        drawn = list(travelled)
        assert drawn == at_epoch(name, values, seed, epoch)
        assert set(flat(drawn)) <= set(range(len(values)))
        assert len(drawn) == len(travelled)
        assert all(type(i) is int for i in flat(drawn))


@every_seeded
def test_another_seed_and_another_epoch_give_another_order(name: str) -> None:
    """A seed that nothing depends on would pass all else."""
    orders = [at_epoch(name, MANY, seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert all(a != b for i, a in enumerate(orders) for b in orders[:i])


@pytest.mark.parametrize("name", sorted(ONCE))
@given(values=some, seed=seeds)
@example(values=MANY, seed=1)
def test_an_epoch_is_every_sample_once(name: str, values: Values, seed: int) -> None:
    """Coverage: nothing is left out and nothing comes twice, where a sampler does not say otherwise."""
    assert sorted(flat(at_epoch(name, values, seed, 2, drop_last=False))) == list(range(len(values)))


@every_sampler
@given(values=some, seed=seeds, begun=st.booleans())
@example(values=MANY, seed=1, begun=True)
@example(values=MANY, seed=1, begun=False)
def test_in_one_process_each_pass_moves_on_to_the_next_epoch(name: str, values: Values, seed: int, begun: bool) -> None:
    """Nobody has to call set_epoch, and a pass that was broken off counts as one."""
    sampler = MAKERS[name](values, seed)
    if begun:
        next(iter(sampler))
        sampler.move_on()
        assert list(sampler) == at_epoch(name, values, seed, 1)
        return
    assert [list(sampler) for _ in range(3)] == [at_epoch(name, values, seed, e) for e in range(3)]
    sampler.set_epoch(1)
    assert list(sampler) == at_epoch(name, values, seed, 1)


@every_sampler
@pytest.mark.parametrize("world", [1, 2])
def test_an_iterator_that_is_never_used_is_no_pass(name: str, world: int) -> None:
    """A DataLoader with workers asks for two and uses one: neither epoch nor place may be lost by that."""
    sampler = MAKERS[name](MANY, 5, num_replicas=world, rank=0)
    iter(sampler)
    assert list(sampler) == at_epoch(name, MANY, 5, 0, num_replicas=world, rank=0)
    sampler.load_state_dict(sampler.state_dict(taken=3))
    iter(sampler)
    assert list(sampler) == at_epoch(name, MANY, 5, 0, num_replicas=world, rank=0)[3:]


@every_sampler
def test_with_several_ranks_only_set_epoch_moves_on(name: str) -> None:
    """Ranks that counted for themselves could disagree."""
    sampler = MAKERS[name](MANY, 5, num_replicas=2, rank=1)
    first = list(sampler)
    assert list(sampler) == first and sampler.epoch == 0
    sampler.set_epoch(1)
    assert list(sampler) == at_epoch(name, MANY, 5, 1, num_replicas=2, rank=1)


@pytest.mark.parametrize("name", sorted(set(MAKERS) - BY_LENGTH))
@given(values=some, seed=seeds, world=st.integers(2, 5), epoch=st.integers(0, 2))
@example(values=MANY, seed=1, world=2, epoch=0)
@example(values=MANY, seed=1, world=3, epoch=1)
@example(values=MANY, seed=1, world=13, epoch=2)
def test_ranks_share_an_epoch_out(name: str, values: Values, seed: int, world: int, epoch: int) -> None:
    """Shares are equally long and are, round by round, the single process's epoch; only the last round wraps around."""
    whole = at_epoch(name, values, seed, epoch, drop_last=False)
    shares = ranks(name, values, seed, world, epoch, drop_last=False)
    assert {len(s) for s in shares} == {-(-len(whole) // world)}
    dealt = [item for turn in zip(*shares, strict=True) for item in turn]
    assert dealt[: len(whole)] == whole
    assert dealt[len(whole) :] == [whole[i % len(whole)] for i in range(len(dealt) - len(whole))]


@pytest.mark.parametrize("name", sorted(BY_LENGTH))
@given(values=some, seed=seeds, world=st.integers(2, 5), epoch=st.integers(0, 2), drop=st.booleans())
@example(values=MANY, seed=1, world=3, epoch=1, drop=False)
def test_ranks_share_the_batches_of_an_epoch_in_an_order_of_their_own(
    name: str, values: Values, seed: int, world: int, epoch: int, drop: bool
) -> None:
    """Which batches come at one step depends on the ranks; which there are does not."""
    whole = at_epoch(name, values, seed, epoch, drop_last=drop)
    shares = ranks(name, values, seed, world, epoch, drop_last=drop)
    assert {len(s) for s in shares} == {len(whole) // world if drop else -(-len(whole) // world)}
    dealt = [tuple(item) for turn in zip(*shares, strict=True) for item in turn]
    every = set(map(tuple, whole))
    assert set(dealt) <= every if drop else set(dealt) == every
    assert len(set(dealt[: len(whole)])) == len(dealt[: len(whole)])
    assert dealt[len(whole) :] == [dealt[i % len(whole)] for i in range(len(dealt) - len(whole))]


@pytest.mark.parametrize("name", sorted(set(MAKERS) - BY_LENGTH))
@given(values=some, seed=seeds, world=st.integers(2, 5))
@example(values=MANY, seed=1, world=3)
@example(values=MANY, seed=1, world=13)
def test_with_drop_last_ranks_get_whole_rounds_only(name: str, values: Values, seed: int, world: int) -> None:
    """Nothing wraps around: what makes no whole round is left out, and lengths are told beforehand."""
    whole = at_epoch(name, values, seed, 1, drop_last=True)
    shares = ranks(name, values, seed, world, 1, drop_last=True)
    rounds = len(whole) // world
    assert [item for turn in zip(*shares, strict=True) for item in turn] == whole[: rounds * world]
    sampler = MAKERS[name](values, seed, drop_last=True, num_replicas=world, rank=0)
    sampler.set_epoch(1)
    assert len(sampler) == rounds


@every_sampler
@given(values=some, seed=seeds, world=st.integers(1, 3), share=st.floats(0, 1))
@example(values=MANY, seed=1, world=1, share=0.4)
@example(values=MANY, seed=1, world=3, share=0.4)
def test_a_state_gives_exactly_the_rest(name: str, values: Values, seed: int, world: int, share: float) -> None:
    """Stopped anywhere, even before the first or behind the last item, a new sampler goes on from the state as JSON."""
    more = {"num_replicas": world, "rank": seed % world, "drop_last": False}
    first = MAKERS[name](values, seed, **more)
    first.set_epoch(2)
    whole = list(first)
    stop = round(share * len(whole))
    first.set_epoch(2)
    going = iter(first)
    taken = [next(going) for _ in range(stop)]
    state = json.loads(json.dumps(first.state_dict()))
    second = MAKERS[name](values, seed, **more)
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert taken + list(second) == whole
    following = list(second)
    assert following == (at_epoch(name, values, seed, 3, **more) if world == 1 else whole)


@every_sampler
def test_a_state_may_say_what_training_has_consumed(name: str) -> None:
    """With workers a sampler is ahead of training: the loader counts, and its number is what holds."""
    sampler = MAKERS[name](MANY, 3)
    whole = list(sampler)
    again = MAKERS[name](MANY, 3)
    again.load_state_dict(sampler.state_dict(taken=7))
    assert list(again) == whole[7:]


@every_sampler
def test_set_epoch_keeps_a_place_that_was_loaded_for_that_epoch_alone(name: str) -> None:
    """Training loops name each epoch, the one that they resume in too; any other begins at its beginning."""
    sampler = MAKERS[name](MANY, 3)
    sampler.load_state_dict(MAKERS[name](MANY, 3).state_dict(taken=5))
    sampler.set_epoch(0)
    assert list(sampler) == at_epoch(name, MANY, 3, 0)[5:]
    sampler.set_epoch(0)
    assert list(sampler) == at_epoch(name, MANY, 3, 0)
    sampler.load_state_dict(MAKERS[name](MANY, 3).state_dict(taken=5))
    sampler.set_epoch(1)
    assert list(sampler) == at_epoch(name, MANY, 3, 1)


@every_sampler
@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"values": MANY[:-6]}, "samples 205, but this sampler has 211"),
        ({"num_replicas": 2, "rank": 0}, "num_replicas 2, but this sampler has 1"),
    ],
    ids=["length", "ranks"],
)
def test_a_state_of_another_order_is_refused(name: str, other: dict[str, Any], says: str) -> None:
    """A state is a place in one order: in another one it would repeat some samples and lose others in silence."""
    state = MAKERS[name](**{"values": MANY, "seed": 3, "num_replicas": 1, "rank": 0, **other}).state_dict()
    with pytest.raises(ValueError, match=says):
        MAKERS[name](MANY, 3).load_state_dict(state)


@every_seeded
def test_a_state_of_another_seed_is_refused(name: str) -> None:
    """The order is another one."""
    with pytest.raises(ValueError, match="seed 4, but this sampler has 3"):
        MAKERS[name](MANY, 3).load_state_dict(MAKERS[name](MANY, 4).state_dict())


def test_a_state_of_another_sampler_is_refused() -> None:
    """Every sampler would take two numbers."""
    with pytest.raises(ValueError, match="sampler ShuffleSampler, but this sampler has OrderedSampler"):
        OrderedSampler(5).load_state_dict(ShuffleSampler(5).state_dict())


@pytest.mark.parametrize("name", INDEX)
@given(values=some, seed=seeds, world=st.integers(1, 3), share=st.floats(0, 1))
@example(values=MANY, seed=1, world=1, share=0.4)
@example(values=MANY, seed=1, world=3, share=1.0)
def test_an_epoch_as_one_array_equals_iteration(name: str, values: Values, seed: int, world: int, share: float) -> None:
    """epoch_indices is a pass: the same indices as int32, the rest of a resumed one, and it moves on."""
    sampler = MAKERS[name](values, seed, num_replicas=world, rank=world - 1)
    whole = sampler.epoch_indices()
    assert whole.dtype == np.int32
    assert whole.tolist() == at_epoch(name, values, seed, 0, num_replicas=world, rank=world - 1)
    stop = round(share * len(whole))
    sampler.load_state_dict(sampler.state_dict(taken=stop))
    assert sampler.epoch_indices().tolist() == whole[stop:].tolist()
    following = at_epoch(name, values, seed, int(world == 1), num_replicas=world, rank=world - 1)
    assert sampler.epoch_indices().tolist() == following


@every_sampler
@pytest.mark.parametrize("form", FORMS)
def test_values_come_as_any_array_like(name: str, form: str) -> None:
    """A list, arrays and tensors of any number type mean the same; `if not values` would break on most of them."""
    if name == "WeightedSampler":
        given_as = FORMS[form](MANY)
        assert list(WeightedSampler(given_as, seed=9)) == list(WeightedSampler(MANY, seed=9))
        return
    assert list(MAKERS[name](FORMS[form](MANY), 9)) == at_epoch(name, MANY, 9, 0)


@pytest.mark.parametrize("name", ["ClassBalancedBatchSampler", "GroupBatchSampler", "StratifiedBatchSampler"])
def test_labels_and_groups_may_be_strings(name: str) -> None:
    """Classes are taken in sorted order, so that names do as well as numbers."""
    named = [f"class {v}" for v in MANY]
    for given_as in (named, np.array(named), np.array(named, object)):
        assert list(MAKERS[name](given_as, 9)) == at_epoch(name, MANY, 9, 0)


@pytest.mark.parametrize("name", ["ClassBalancedBatchSampler", "GroupBatchSampler", "StratifiedBatchSampler"])
@pytest.mark.parametrize("labels", [[-128, 127, 0, 127], [-1, -1, 5, 5], [10**12, 3, 3, 10**12]], ids=str)
def test_labels_may_be_any_whole_numbers(name: str, labels: Values) -> None:
    """Negative, wide apart, and at both ends of their type."""
    codes = [sorted(set(labels)).index(v) for v in labels]
    kind = np.int8 if max(labels) < 128 else np.int64
    assert list(MAKERS[name](np.array(labels, kind), 9)) == at_epoch(name, codes, 9, 0)


@every_sampler
def test_a_plain_dataloader_takes_it(name: str) -> None:
    """sampler= or batch_sampler= of torch's own DataLoader, which then delivers that order, epoch after epoch."""
    sampler = MAKERS[name](MANY, 1)
    assert Sampler in type(sampler).__mro__
    batched = gives_batches(sampler)
    loader: Any = DataLoader(
        range(len(MANY)),  # type: ignore[arg-type]  # as good as a dataset
        **({"batch_sampler": sampler} if batched else {"sampler": sampler, "batch_size": 4}),
    )
    expected = len(sampler) if batched else -(-len(sampler) // 4)
    assert len(loader) == expected
    for epoch in range(2):
        delivered = [batch.tolist() for batch in loader]
        assert (delivered if batched else flat(delivered)) == at_epoch(name, MANY, 1, epoch)


@every_sampler
def test_arguments_of_ranks_epoch_and_seed_are_checked(name: str) -> None:
    """Errors say what was given and what the rule is."""
    with pytest.raises(ValueError, match="rank is 2 of 2"):
        MAKERS[name](MANY, 1, num_replicas=2, rank=2)
    with pytest.raises(ValueError, match="epoch is -1"):
        MAKERS[name](MANY, 1).set_epoch(-1)
    if name not in UNSEEDED:
        with pytest.raises(ValueError, match="seed is -1"):
            MAKERS[name](MANY, -1)


@pytest.mark.parametrize(
    "name", sorted(set(MAKERS) - {"ClassBalancedBatchSampler", "StratifiedBatchSampler", "WeightedSampler"})
)
def test_of_no_samples_an_epoch_is_empty(name: str) -> None:
    """A split that is empty trains for no batch; those that need a class or a weight refuse it."""
    for more in ({}, {"num_replicas": 2, "rank": 1}):
        sampler = MAKERS[name]([], 1, **more)
        assert list(sampler) == [] and len(sampler) == 0
        if isinstance(sampler, IndexSampler):
            assert sampler.epoch_indices().tolist() == []


@every_sampler
def test_trainers_see_whether_it_shards_itself(name: str) -> None:
    """A ``DistributedSampler`` unless it is for one process alone; its type, a copy and a pickle stay what they are."""
    import copy
    import pickle

    for more, sharded in (({}, True), ({"num_replicas": 2, "rank": 1}, True), ({"num_replicas": 1}, False)):
        if name == "DistributedShuffleSampler":
            more, sharded = {"num_replicas": 2, "rank": 1}, True
        sampler = MAKERS[name](MANY, 1, **more)
        for one in (sampler, copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler))):
            assert isinstance(one, DistributedSampler) is sharded
            assert type(one) is getattr(samplers, name)
            assert list(one) == list(MAKERS[name](MANY, 1, **more))


@every_sampler
def test_a_constructor_tells_its_arguments(name: str) -> None:
    """Our promise: help() and an editor show them all, and the error for a misspelt one names no base class that nobody called."""
    kind = getattr(samplers, name)
    shown = inspect.signature(kind).parameters
    assert {"num_replicas", "rank", "drop_last"} <= shown.keys()
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in shown.values())
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'num_replica'") as caught:
        kind([0, 1], num_replica=1)
    assert "EpochSampler" not in str(caught.value)
