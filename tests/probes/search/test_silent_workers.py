"""Workers that are started and deliver nothing: they are looked at and ended, and no rate is told of them."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing import Event
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, get_worker_info

from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.plan import LoaderPlan, SourceRef
from dataloader_expert.probes.base import PICKLING, Bench
from dataloader_expert.probes.search.belief import Belief, Start
from dataloader_expert.probes.search.exploring import Explorer
from dataloader_expert.probes.search.ledger import Ledger
from dataloader_expert.probes.search.loading import ENDED, PREDICTED, RECOMMENDED, Loading, untimed
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.settings import Settings
from dataloader_expert.probes.search.starting import FRESH_IMPORT_S, start_of
from dataloader_expert.probes.search.stuck import STUCK, at_work, hang
from dataloader_expert.probes.search.tap import TimeUp, tapped
from dataloader_expert.probes.search.trials import THROUGHPUT
from dataloader_expert.probes.serving import serving
from dataloader_expert.probes.sharding import batches_of
from dataloader_expert.sources.registry import open_source
from tests.making import users
from tests.making.shared import CHECKOUT

pytestmark = pytest.mark.filterwarnings("ignore:.*fork\\(\\)")


class OnlyHere(users.Fine):
    """A sample comes in this process alone; in a worker it is awaited for ever."""

    never = Event()

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        if get_worker_info() is not None:
            self.never.wait(60)
        return super().__getitem__(index)


@pytest.fixture
def bench() -> Bench:
    ref = SourceRef(f"{Path(users.__file__)}:Fine", (str(CHECKOUT),), code=True)
    until = time.monotonic() + 60
    return Bench(open_source(ref, []), ref, 0, until, lambda index: None, lambda message, share: None, cpus=2)


def test_workers_that_hang_are_looked_at_and_ended_at_once(bench: Bench) -> None:
    """Seen: torch waited five seconds for each of two workers that never delivered, which were all that the search had left; the
    loader passed for one that time did not suffice for."""
    looked: list[Fact] = []

    def silent(pids: list[int]) -> None:
        looked.append(at_work(bench, pids, 0.2, 1e-4, None))

    with pytest.raises(RuntimeError, match="timed out after"):
        list(batches_of(DataLoader(OnlyHere(), batch_size=8, num_workers=2, timeout=0.2), silent))
    [fact] = looked
    assert hang(fact.value) and fact.at["workers"] == 2
    assert not multiprocessing.active_children()


def test_workers_that_take_longer_to_start_than_there_is_time_are_not_started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: the main process waits until a spawned worker has imported torch and reads the dataset, and nothing ends that: it took the
    whole request. Our promise: then the main process alone is timed."""
    served = serving(bench, 8, 0)
    monkeypatch.setattr(served, "start_method", lambda loader: "spawn")
    for nbytes in (1 << 10, 1 << 24):
        value = {"seconds": 0.5, "bytes": nbytes, "why": None, "start_method": "spawn", "workers": 2}
        bench.facts = Facts((Fact(PICKLING, value, Evidence("timed", "a test")),))
        start = start_of(bench, served, 1e-3)
        assert (start.each_s > FRESH_IMPORT_S) == (nbytes > 1 << 16)
        assert start.seconds(2, 2.0) > 2 * 0.5 + FRESH_IMPORT_S
    bench.facts, served.current = Facts(), served.current.but(workers=2)
    settings = Settings(bench, served, Ledger(bench, bench.deadline, 0.05))
    settings.ledger.belief = Belief([(1e-4, 0.0)], 8, 2.0, start=Start(each_s=1e3))
    with tapped():
        try:
            searching = Loading()._present(settings)
            with pytest.raises(StopIteration):
                while True:
                    next(searching)
            assert {key.workers for key in settings.runners} == {0} and not settings.in_vain
        finally:
            settings.close()


def test_an_epoch_that_was_delivered_counts_where_time_ends_in_the_start_of_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: spawned workers took 14 s to start; their first epoch was delivered, and the second one's start took the rest of the request,
    of which nothing was told."""
    runner = Runner(LoaderPlan(batch_size=8, workers=2), serving(bench, 8, 2))
    runner.iterator, runner.epochs, runner.renewed, runner._begun = object(), 1, 116.0, 100.0
    runner.loader = DataLoader(users.Fine(480), batch_size=8)
    monkeypatch.setattr(runner, "_in_rounds", lambda seconds, until: (_ for _ in ()).throw(TimeUp))
    assert runner._delivered(0.1, None) == (480 / 16.0, True, 100.0)
    runner.iterator = None


@pytest.mark.parametrize("when", ["before the search", "in the search", "never"])
def test_of_workers_that_were_started_in_vain_no_rate_is_predicted(bench: Bench, when: str) -> None:
    """Seen: of two workers that delivered nothing it was said that they are predicted to deliver 652 samples/s."""
    served = serving(bench, 8, 2)
    settings = Settings(bench, served, Ledger(bench, bench.deadline, 0.1))
    settings.ledger.belief = Belief([(1e-3, 0.0)] * 9, 8, 2.0)
    settings.in_vain = when == "in the search"
    value = {"late": True, "cpu_s": 0.0, "queue_s": 0.0}
    if when == "before the search":
        bench.silent = Fact(STUCK, value, Evidence("timed", "probe worker_semantics"), {"workers": 2})
    told = Facts(
        tuple(said for said in untimed(settings, Explorer(settings, None), served.current) if isinstance(said, Fact))
    )
    assert told.value(ENDED) == "out of time"
    assert (told.find(STUCK) is not None) == (when == "before the search")
    rates = [told.find(quantity) for quantity in (THROUGHPUT, RECOMMENDED, PREDICTED)]
    assert any(rates) == (when == "never")
