"""Loaders that go on in the midst of an epoch: behind the last batch delivered, and right in the epochs after it."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from dataloader_expert import loaders
from dataloader_expert.loaders import StreamingDataset, create_seeded_generator
from dataloader_expert.loaders.trainers.stateful import StatefulDataLoader
from dataloader_expert.samplers import (
    OrderedSampler,
    ShuffleSampler,
    StratifiedBatchSampler,
    TokenBudgetBatchSampler,
    WeightedSampler,
)
from tests.loaders.material import Numbers, Stream, flat, three_workers

SAMPLES, BATCH = 26, 4
LENGTHS = [1 + i % 5 for i in range(SAMPLES)]
Make = Callable[..., StatefulDataLoader]

MAKERS: dict[str, Make] = {
    "shuffle": lambda **k: StatefulDataLoader(Numbers(SAMPLES), BATCH, True, generator=create_seeded_generator(5), **k),
    "in order": lambda **k: StatefulDataLoader(Numbers(SAMPLES), BATCH, **k),
    "ShuffleSampler": lambda **k: StatefulDataLoader(Numbers(SAMPLES), BATCH, sampler=ShuffleSampler(SAMPLES, 3), **k),
    "OrderedSampler": lambda **k: StatefulDataLoader(Numbers(SAMPLES), BATCH, sampler=OrderedSampler(SAMPLES), **k),
    "WeightedSampler": lambda **k: StatefulDataLoader(
        Numbers(SAMPLES), BATCH, sampler=WeightedSampler(LENGTHS, 30, True, 2), **k
    ),
    "TokenBudgetBatchSampler": lambda **k: StatefulDataLoader(
        Numbers(SAMPLES), batch_sampler=TokenBudgetBatchSampler(LENGTHS, 12, seed=1), **k
    ),
    "StratifiedBatchSampler": lambda **k: StatefulDataLoader(
        Numbers(SAMPLES), batch_sampler=StratifiedBatchSampler([i % 2 for i in range(SAMPLES)], BATCH, 7), **k
    ),
}
every_maker = pytest.mark.parametrize("name", MAKERS)


def listed(batches: Any) -> list[list[int]]:
    return [flat([batch]) for batch in batches]


def alone(name: str, epochs: int) -> list[list[list[int]]]:
    """What an uninterrupted loader without workers gives."""
    loader = MAKERS[name]()
    return [listed(loader) for _ in range(epochs)]


def stopped(make: Make, place: int, passes: int = 0, **more: Any) -> dict[str, Any]:
    """The state behind ``place`` batches of the pass after so many whole ones."""
    loader = make(**more)
    for _ in range(passes):
        list(loader)
    going = iter(loader)
    for _ in range(place):
        next(going)
    state: dict[str, Any] = loader.state_dict()
    return state


@every_maker
def test_it_goes_on_behind_any_batch(name: str) -> None:
    """Of the first epoch and of the second; the two after it are those of a run that was left alone."""
    due = alone(name, 4)
    for passes in (0, 1):
        for place in range(len(due[passes])):
            resumed = MAKERS[name]()
            resumed.load_state_dict(stopped(MAKERS[name], place, passes))
            assert resumed.current_epoch == passes
            assert listed(resumed) == due[passes][place:]
            assert listed(resumed) == due[passes + 1]
            assert listed(resumed) == due[passes + 2]
            assert resumed.current_epoch == passes + 3


@pytest.mark.journey
@three_workers
@pytest.mark.parametrize("persistent", [False, True])
def test_workers_go_on_behind_a_batch(persistent: bool) -> None:
    """What they had prefetched is read again; a chance draws the places."""
    more = {"num_workers": 3, "persistent_workers": persistent}
    draw = random.Random(3)
    for name in draw.sample(sorted(MAKERS), 2):
        due = alone(name, 3)
        place = draw.randrange(1, len(due[1]))
        state = stopped(MAKERS[name], place, 1, **more)
        resumed = MAKERS[name](**more)
        resumed.load_state_dict(state)
        assert listed(resumed) == due[1][place:]
        assert listed(resumed) == due[2]


def test_the_order_is_a_plain_loaders() -> None:
    """With a generator of the same seed; and without one it is drawn from torch's state, another each time."""
    plain = DataLoader(Numbers(SAMPLES), BATCH, True, generator=create_seeded_generator(5))
    assert alone("shuffle", 3) == [listed(plain) for _ in range(3)]
    torch.manual_seed(1)
    first, second = (flat(StatefulDataLoader(Numbers(SAMPLES), BATCH, True)) for _ in range(2))
    assert first != second and sorted(first) == sorted(second) == list(range(SAMPLES))


@pytest.mark.parametrize(
    ("name", "workers"),
    [*((name, 0) for name in MAKERS), ("shuffle", 1), ("ShuffleSampler", 1), ("TokenBudgetBatchSampler", 1)],
)
def test_a_state_of_an_ended_pass_begins_the_next(name: str, workers: int) -> None:
    """Nothing of the old one comes again, and no pass is empty: a loop over epochs from ``current_epoch`` has them all."""
    due = alone(name, 3)
    loader = MAKERS[name](num_workers=workers)
    list(loader)
    state = loader.state_dict()
    two = {key: state[key] for key in ("current_epoch", "sampler_state")}
    for saved in (state, two) if state["sampler_state"] else (state,):
        resumed = MAKERS[name](num_workers=workers)
        resumed.load_state_dict(saved)
        assert resumed.current_epoch == 1
        assert [listed(resumed) for _ in range(resumed.current_epoch, 3)] == due[1:]
        assert resumed.current_epoch == 3


def test_a_state_behind_the_last_batch_leaves_its_pass_empty() -> None:
    """Where nobody has asked for more, the pass has not come to its end."""
    due = alone("shuffle", 2)
    resumed = MAKERS["shuffle"]()
    resumed.load_state_dict(stopped(MAKERS["shuffle"], len(due[0])))
    assert (resumed.current_epoch, listed(resumed), resumed.current_epoch) == (0, [], 1)
    assert listed(resumed) == due[1]


@pytest.mark.parametrize("name", ["shuffle", "ShuffleSampler", "TokenBudgetBatchSampler"])
def test_two_keys_are_state_enough(name: str) -> None:
    """``current_epoch`` and ``sampler_state``, plain values: JSON keeps them."""
    due = alone(name, 3)
    state = stopped(MAKERS[name], 3, 1)
    two = json.loads(json.dumps({key: state[key] for key in ("current_epoch", "sampler_state")}))
    resumed = MAKERS[name]()
    resumed.load_state_dict(two)
    assert resumed.current_epoch == 1
    assert listed(resumed) == due[1][3:]
    assert listed(resumed) == due[2]


def test_a_state_of_another_order_is_refused() -> None:
    """As the sampler does; a state without an epoch is none."""
    two = {k: v for k, v in stopped(MAKERS["ShuffleSampler"], 1).items() if k in ("current_epoch", "sampler_state")}
    with pytest.raises(ValueError, match="the state has sampler ShuffleSampler, but this sampler has"):
        MAKERS["TokenBudgetBatchSampler"]().load_state_dict(two)
    with pytest.raises(KeyError, match="current_epoch"):
        MAKERS["shuffle"]().load_state_dict({"sampler_state": {}})


@pytest.mark.parametrize("name", ["shuffle", "ShuffleSampler", "TokenBudgetBatchSampler"])
def test_an_epoch_may_be_named(name: str) -> None:
    """The next pass is of it, from its beginning."""
    due = alone(name, 4)
    loader = MAKERS[name]()
    loader.set_epoch(3)
    assert loader.current_epoch == 3 and listed(loader) == due[3] and loader.current_epoch == 4
    loader.set_epoch(1)
    assert listed(loader) == due[1]


def test_torchs_own_samplers_have_no_state_here() -> None:
    """What torchdata keeps is enough; where nothing says its state, there is none."""
    assert stopped(MAKERS["in order"], 2)["sampler_state"] == {}
    assert flat(StatefulDataLoader(Stream(7), 2)) == list(range(7))


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    """Three files of ten numbers."""
    for at in range(3):
        (tmp_path / f"{at}.jsonl").write_text("".join(f"{at * 10 + i}\n" for i in range(10)))
    return [str(tmp_path / f"{at}.jsonl") for at in range(3)]


@three_workers
@pytest.mark.parametrize("workers", [0, 3])
def test_streams_go_on_in_their_midst(paths: list[str], workers: int) -> None:
    """The dataset's own state is kept, each worker's: no sample is lost or comes twice, in the next epoch neither."""

    def make() -> StatefulDataLoader:
        return StatefulDataLoader(StreamingDataset(paths, 6, seed=2), 4, num_workers=workers)

    loader = make()
    loader.set_epoch(1)
    whole = listed(loader)
    assert sorted(i for b in whole for i in b) == list(range(30))
    for place in (1, 3, len(whole) - 1) if not workers else (2,):
        loader = make()
        loader.set_epoch(1)
        going = iter(loader)
        assert listed(next(going) for _ in range(place)) == whole[:place]
        resumed = make()
        resumed.load_state_dict(loader.state_dict())
        assert listed(resumed) == whole[place:]
        resumed.set_epoch(2)
        loader.set_epoch(2)
        after = listed(resumed)
        assert sorted(i for b in after for i in b) == list(range(30))
        assert after == listed(loader)


def test_without_torchdata_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is an extra; the rest of the loaders does without."""
    assert loaders.StatefulDataLoader is StatefulDataLoader
    monkeypatch.delitem(sys.modules, "dataloader_expert.loaders.trainers.stateful")
    monkeypatch.setitem(sys.modules, "torchdata.stateful_dataloader", None)
    with pytest.raises(ImportError, match=r"pip install 'dataloader-expert\[stateful\]'"):
        loaders.StatefulDataLoader  # noqa: B018  # asked for
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        loaders.Nothing  # noqa: B018  # asked for
