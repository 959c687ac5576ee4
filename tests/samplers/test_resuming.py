"""Killed with SIGKILL at a random batch and resumed in a new process, a run delivers what it would have alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader, SequentialSampler

from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.samplers import ShuffleSampler, TokenBudgetBatchSampler
from tests.making.resuming import BATCH, ENGINE, EPOCHS, JASPER, SAMPLES, Case, Outcome, outcomes_of

ROOT = Path(__file__).parents[2]
KILLED = [Case(n, w) for n in ("WeightedSampler", "TokenBudgetBatchSampler", JASPER) for w in (0, 2)]
RANKED = [Case(n, ranks=2, kills=1) for n in ("ShuffleSampler", "TokenBudgetBatchSampler", JASPER)]
ENGINED = [*(Case(n, w) for n in ENGINE for w in (0, 2)), *(Case(n, 2, 2, kills=1) for n in ENGINE)]
ALONE = Case("ShuffleSampler", kills=0)

every_run = pytest.mark.parametrize("case", [*KILLED, *RANKED], ids=str)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """All runs, in one process that loads torch once."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "plan.json").write_text(json.dumps([asdict(c) for c in [*KILLED, *RANKED, *ENGINED, ALONE]]))
    command = [sys.executable, "-m", "tests.making.resuming", str(folder / "plan.json"), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return {str(o.case): o for o in outcomes_of((folder / "outcomes.json").read_text())}


@pytest.mark.journey
@pytest.mark.parametrize("case", [*KILLED, *RANKED, *ENGINED], ids=str)
def test_a_killed_run_delivers_what_it_would_have_alone(case: Case, outcomes: dict[str, Outcome]) -> None:
    """Nothing is lost, nothing comes twice, and epochs follow each other: the ids are equal, batch by batch."""
    outcome = outcomes[str(case)]
    assert len(outcome.kills) == case.kills
    for kill in outcome.kills:
        assert kill.delivered == outcome.alone


@pytest.mark.journey
@every_run
def test_samples_read_again_are_those_that_were_on_their_way(case: Case, outcomes: dict[str, Outcome]) -> None:
    """A stop costs at most the batch in hand and two for each worker, and none at all if its state was just written."""
    outcome = outcomes[str(case)]
    largest = max(len(ids) for rank in outcome.alone for _, ids in rank)
    for kill in outcome.kills:
        again = outcome.again(kill)
        assert 0 <= again <= case.stops * case.ranks * (1 + 2 * case.workers) * largest
        if not case.workers and kill.phase == "recorded":
            assert again == 0
        if not case.workers and kill.phase == "delivered":
            assert again > 0


@pytest.mark.journey
@pytest.mark.parametrize("name", ["WeightedSampler", "TokenBudgetBatchSampler", JASPER])
def test_batches_do_not_depend_on_workers(name: str, outcomes: dict[str, Outcome]) -> None:
    """The same seed and epoch give the same batches, steering variants of JASPER included."""
    none, two = (outcomes[str(Case(name, workers))].alone[0] for workers in (0, 2))
    assert none == two
    assert {epoch for epoch, _ in none} == set(range(EPOCHS))
    first, second = ([ids for epoch, ids in none if epoch == e] for e in range(2))
    assert first != second


@pytest.mark.journey
@pytest.mark.parametrize("case", RANKED, ids=str)
def test_two_processes_of_a_group_share_an_uneven_epoch_out(case: Case, outcomes: dict[str, Outcome]) -> None:
    """Together they deliver the single process's epoch, and what makes the last round whole once more."""
    ranks = outcomes[str(case)].alone
    single = outcomes[str(Case(case.name, kills=0 if case.name == ALONE.name else 2))].alone[0]
    assert len(ranks[0]) == len(ranks[1])
    for epoch in range(EPOCHS):
        own = [[ids for e, ids in rank if e == epoch] for rank in ranks]
        whole = [ids for e, ids in single if e == epoch]
        together = Counter(i for rank in own for ids in rank for i in ids)
        again = own[0][0] if case.name == "TokenBudgetBatchSampler" else whole[0][:1]
        assert together == Counter(i for ids in whole for i in ids) + Counter(again)
        assert sum(together.values()) == SAMPLES + len(again)
        assert {i for ids in own[0] for i in ids} & {i for ids in own[1] for i in ids} <= set(again)


def numbers(**more: Any) -> EpochLoader:
    return EpochLoader(range(20), sampler=ShuffleSampler(20, 3), **{"batch_size": BATCH, **more})


def test_a_state_between_passes_is_of_the_epoch_that_begins() -> None:
    """An iterator that has delivered nothing yet belongs to the new epoch: resumed, the old one is not repeated."""
    loader = numbers()
    first = [b.tolist() for b in loader]
    iter(loader)
    resumed = numbers()
    resumed.load_state_dict(loader.state_dict())
    second = [b.tolist() for b in resumed]
    assert second != first and second == [b.tolist() for b in loader]


def test_a_state_at_an_epochs_end_leaves_nothing_of_it() -> None:
    """Resumed, the pass is empty, and the next one is of the next epoch."""
    loader = numbers()
    list(loader)
    resumed = numbers()
    resumed.load_state_dict(loader.state_dict())
    assert list(resumed) == []
    assert [b.tolist() for b in resumed] == [b.tolist() for b in loader]


def test_batches_count_from_where_a_state_left_off() -> None:
    """A run may be killed again and again."""
    whole = [b.tolist() for b in numbers(batch_size=3)]
    state, delivered = None, []
    for _ in whole:
        loader = numbers(batch_size=3)
        if state is not None:
            loader.load_state_dict(state)
        delivered.append(next(iter(loader)).tolist())
        state = json.loads(json.dumps(loader.state_dict()))
    assert delivered == whole


def test_without_automatic_batches_samples_are_counted() -> None:
    """With batch_size=None a loader hands out samples, and a state says how many."""
    whole = [int(i) for i in numbers(batch_size=None)]
    loader = numbers(batch_size=None)
    going = iter(loader)
    taken = [int(next(going)) for _ in range(7)]
    resumed = numbers(batch_size=None)
    resumed.load_state_dict(loader.state_dict())
    assert taken + [int(i) for i in resumed] == whole


def test_batches_of_another_size_or_order_are_refused() -> None:
    """A state counts batches of one size in one order."""
    state = numbers().state_dict()
    with pytest.raises(ValueError, match="batches of 8, this loader makes batches of 4"):
        numbers(batch_size=4).load_state_dict(state)
    with pytest.raises(ValueError, match="SequentialSampler cannot resume within an epoch"):
        EpochLoader(range(20), batch_size=BATCH).load_state_dict(state)
    with pytest.raises(ValueError, match="sampler ShuffleSampler, but this sampler has TokenBudgetBatchSampler"):
        lengths = TokenBudgetBatchSampler([1] * 20, 8)
        loader = EpochLoader(range(20), batch_sampler=lengths)
        loader.load_state_dict({**state, "batch_size": None})


def test_a_loader_is_a_dataloader() -> None:
    """To trainers it is torch's own, and knows which sampler decides its order."""
    loader = numbers()
    assert isinstance(loader, DataLoader) and len(loader) == 3
    assert isinstance(loader.sampler_obj, ShuffleSampler)
    assert isinstance(EpochLoader(range(3)).sampler, SequentialSampler)
    assert EpochLoader(range(3)).sampler_obj is None
