"""The search over settings, on real loaders."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from multiprocessing import Event, Semaphore
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, Subset, get_worker_info

from dataloader_expert.advice.failures import stuck
from dataloader_expert.advice.transport import head_of_line
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.delivery import in_stock
from dataloader_expert.probes.search.belief import Belief
from dataloader_expert.probes.search.ledger import Ledger
from dataloader_expert.probes.search.living import Begun
from dataloader_expert.probes.search.loading import PREDICTED, RECOMMENDED, SPEEDUP, Loading
from dataloader_expert.probes.search.ordering import ORDERING
from dataloader_expert.probes.search.proving import Proof, proof_s, prove
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.setting import label
from dataloader_expert.probes.search.settings import Settings
from dataloader_expert.probes.search.tap import tapped
from dataloader_expert.probes.search.thresholds import WORTH
from dataloader_expert.probes.search.trials import THROUGHPUT, TRIALS
from dataloader_expert.probes.serving import serving
from dataloader_expert.probes.sharding import StreamSharding
from dataloader_expert.sources.registry import open_source
from dataloader_expert.tools.base import all_tools
from tests.making import users
from tests.making.shared import CHECKOUT

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.*fork\\(\\)")
"""More workers than cores are what is asked for."""
AT_A_TIME = 4


class Store(users.Fine):
    """A sample waits 6 ms for a store that answers four requests at a time."""

    answers = Semaphore(AT_A_TIME)
    takes_s = 0.006

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        with self.answers:
            time.sleep(
                self.takes_s
            )  # what the store takes to answer: the tested waiting itself, no clock is asserted on
        return super().__getitem__(index)


def bench_of(name: str, seconds: float) -> Bench:
    ref = SourceRef(f"{Path(users.__file__)}:{name}", (str(CHECKOUT),), code=True)
    until = time.monotonic() + seconds
    return Bench(open_source(ref, []), ref, 0, until, lambda index: None, lambda message, share: None, cpus=2)


class Blocked(users.Fine):
    """The first sample is held until it may go; the others come at once."""

    may_go = Event()

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        if index == 0:
            self.may_go.wait(60)
        return super().__getitem__(index)


class Uneven(users.Fine):
    """Each worker's tenth sample waits ``long``, by turns, the others 10 ms: as many in each block, and beside other tests
    too the waiting bounds it, not the CPUs."""

    def __init__(self, long: float) -> None:
        super().__init__()
        self.long, self.calls = long, 0

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        info = get_worker_info()
        self.calls += 1
        slow = self.calls % 10 == (0 if info is None else 3 * info.id % 10)
        time.sleep(self.long if slow else 0.01)  # the tested waiting itself, no clock is asserted on
        return super().__getitem__(index)


class FailsAmong(users.Fine):
    """Fails in each of so many workers, as one does that was ended."""

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.workers = workers

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        info = get_worker_info()
        if info is not None and info.num_workers == self.workers:
            raise RuntimeError("ended")
        return super().__getitem__(index)


@pytest.fixture
def held() -> Iterator[list[Settings]]:
    searches: list[Settings] = []
    with tapped():
        yield searches
        for search in searches:
            search.close()


def told(said: Any) -> Facts:
    facts = Facts()
    for one in said:
        if isinstance(one, Fact):
            facts.add(one)
    return facts


@pytest.mark.journey
def test_of_a_store_that_serves_few_at_a_time_no_more_wait_than_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: among settings that cannot be told apart the cheapest wins, also where the most workers were tried first."""
    monkeypatch.setattr(Store, "takes_s", 0.03)  # beside it what a woken process waits for a core is little
    bench = bench_of("Fine", 240)
    bench.source.dataset = Store()  # type: ignore[attr-defined]  # opened by a reference: such a source has one
    facts = told(Loading(batch_size=4, block_s=0.2).measure(bench))
    tried = {t["num_workers"]: t["throughput"]["value"] for t in facts.value(TRIALS)}
    assert {0, 32} & set(tried)
    assert 2 < facts.value(RECOMMENDED)["workers"] < 16
    assert tried[facts.value(RECOMMENDED)["workers"]] > 1.5 * tried[0]


def test_an_epoch_begins_with_what_was_loaded_by_then_and_ends_with_its_busiest_worker() -> None:
    """Our promise: where a store serves few workers at a time, the first batch does not mean that each worker has one; and
    workers that run out of batches before the others add nothing to the rate."""
    bench = bench_of("Fine", 60)
    served = serving(bench, 10, 0)
    plan = served.current.but(workers=3, persistent=True, prefetch=2)
    stored = Runner(plan, served, stream=True, whole=300)
    stored.timed, stored.again = [(100.0, False)], Begun(1.0, 20.0)
    assert stored.blocks == [pytest.approx(300 / (1 + 280 / 100))]
    waiting = Runner(plan, served, sample=(0.0, 0.01))
    waiting.timed, waiting.again = [(300.0, False)], Begun(0.1, 30.0)
    waiting.loader = DataLoader(users.Fine(40), batch_size=10)
    assert waiting.blocks == [pytest.approx(40 / 0.2)]  # one worker reads two of the four batches


def test_what_only_the_first_sample_of_a_worker_makes_is_charged_to_its_start() -> None:
    """Seen: workers that each parsed an index with their first sample were believed to be slow at every sample, so that keeping them
    from one epoch to the next, which gains the most, was never tried."""
    bench = bench_of("Fine", 60)
    served = serving(bench, 16, 0)
    plan = served.current.but(workers=2, prefetch=2)
    started = Begun(0.62, 32.0)  # of which the index takes half a second
    for rate, whole, samples, expected in (
        (320 / 1.0, True, 320, 0.57),
        (288 / 0.36, False, 320, 0.56),
        (2, True, 32, 0.0),
    ):
        runner = Runner(plan, served)
        runner.loader = DataLoader(users.Fine(samples), batch_size=16)
        runner.timed, runner.first, runner.startup = [(rate, whole)], started, 0.6
        for worker in range(2):
            runner.tap._note(worker, runner.tap.count(worker)._replace(began=0.02))
        assert runner.first_use_s == pytest.approx(expected, abs=0.05)
    ledger = Ledger(bench, None, 0.25)
    ledger.belief = Belief([(1e-3, 0.0)] * 9, 16, 2.0, epoch=320)
    runner.timed, runner.loader = [(320.0, True)], DataLoader(users.Fine(320), batch_size=16)
    ledger.ran(label(plan), runner)
    ledger.belief.observe(label(plan), runner.blocks)
    kept = label(plan)._replace(persistent=True)
    assert ledger.belief.gain(kept, 800.0) > WORTH - 1


class OnlyHere(users.Fine):
    """A sample comes in this process alone; in a worker it is awaited for ever."""

    never = Event()

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        if get_worker_info() is not None:
            self.never.wait(60)
        return super().__getitem__(index)


def all_threads(worker: int) -> None:
    """What a user sets in each worker."""


@pytest.mark.journey
@pytest.mark.parametrize("fast", [True, False])
def test_workers_that_deliver_nothing_are_an_error_with_what_they_do(fast: bool) -> None:
    """Seen: workers that delivered nothing were no finding at all. Where a batch may take as long by what samples take here, it is only
    a matter of time."""
    bench = bench_of("Fine", 1.5)
    served = serving(bench, 8, 0)
    served.current = served.current.but(workers=2)
    served.user_loader = DataLoader(OnlyHere(), batch_size=8, num_workers=2, worker_init_fn=all_threads)
    settings = Settings(bench, served, Ledger(bench, bench.deadline, 0.1))
    settings.ledger.belief = Belief([(1e-4 if fast else 1.0, 0.0)] * 9, 8, 2.0, epoch=400)
    settings.ledger.first_s = 1e-3
    with tapped():
        try:
            assert settings.run(served.current) is None
        finally:
            settings.close()
    found = [f for fact in settings.told_broken() if isinstance(fact, Fact) for f in stuck(Facts((fact,)))]
    assert [(f.code, f.severity) for f in found] == ([("sample-hangs", "error")] if fast else [])
    assert all("each waits" in f.message and "`all_threads`" in f.fix for f in found)


def test_batches_that_are_loaded_and_not_delivered_are_counted() -> None:
    """Our promise: where batches come in bursts, a rate counts what was loaded meanwhile."""
    loader = DataLoader(Blocked(), batch_size=2, num_workers=2, prefetch_factor=3)
    batches = iter(loader)
    deadline = time.monotonic() + 60
    while in_stock(batches) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert in_stock(batches) == 3  # all that the other worker was given, on their way
    Blocked.may_go.set()
    next(batches)
    assert in_stock(batches) >= 3  # the same, now kept back for the order; more may have come
    assert in_stock(object()) == 0
    left = len(loader) - 1 - sum(1 for _ in batches)
    assert (left, in_stock(batches)) == (0, 0)


class Waits50(users.Fine):
    """A sample waits 50 ms; a batch of 64 takes three seconds."""

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        time.sleep(0.05)  # the tested waiting itself, no clock is asserted on
        return super().__getitem__(index)


@pytest.mark.journey
def test_a_batch_that_takes_seconds_is_not_waited_for() -> None:
    """Our promise: samples are counted where they are read, so that many workers are tried whatever a batch takes."""
    bench = bench_of("Fine", 60)
    bench.source.dataset = Waits50()  # type: ignore[attr-defined]  # opened by a reference: such a source has one
    facts = told(Loading(batch_size=64, num_workers=2).measure(bench))
    speedup = facts.find(SPEEDUP)
    assert speedup is not None and speedup.value > 2
    assert facts.value(RECOMMENDED)["workers"] > 4


@pytest.mark.journey
def test_what_time_does_not_hold_is_predicted() -> None:
    """Our promise: a setting not tried is told with its predicted gain, never as no gain."""
    bench = bench_of("Fine", 60)
    bench.source.dataset = Waits50()  # type: ignore[attr-defined]  # opened by a reference: such a source has one
    bench.deadline = time.monotonic() + 2.0
    facts = told(Loading(batch_size=64, num_workers=2, share=0.5).measure(bench))
    predicted = facts.find(PREDICTED)
    assert predicted is not None and predicted.value > 1.5 and predicted.at["workers"] > 2
    assert predicted.evidence.how == "derived" and facts.value(RECOMMENDED)["workers"] == 2


def slow_start(worker: int) -> None:
    time.sleep(5.0)  # neither CPU nor a batch: the tested waiting itself


@pytest.mark.journey
def test_a_slow_start_is_no_hang() -> None:
    """Our promise: a hang is no progress after an allowance; workers that wait for something outside get it."""
    loader = DataLoader(Waits50(), batch_size=8, num_workers=1, worker_init_fn=slow_start)
    bench = bench_of("Fine", 60)
    served = serving(bench, 8, 1)
    served.user_loader = loader
    with tapped():
        runner = Runner(served.current, served, fine=True, patience=30.0)
        try:
            assert runner.block(0.2, None) > 0
        finally:
            runner.close()
    assert runner.startup is not None and runner.startup > 5


@pytest.mark.journey
def test_a_first_block_that_time_cuts_short_tells_what_was_loaded() -> None:
    """Our promise: workers that deliver, however slowly, have a rate."""
    bench = bench_of("Fine", 60)
    served = serving(bench, 8, 2)
    served.user_loader = DataLoader(Waits50(), batch_size=8, num_workers=2)  # a batch of each in 0.4 s
    with tapped():
        runner = Runner(served.current, served, last=time.monotonic() + 1.5, rounds=50)
        try:
            assert 20 < runner.block(0.2, None) < 60  # 40 in the steady state
        finally:
            runner.close()


@pytest.mark.journey
def test_a_batch_of_the_main_process_that_would_end_too_late_is_not_begun() -> None:
    """Our promise: nothing can end a batch once it has begun, so that what was timed by then is told in time."""
    bench = bench_of("Fine", 60)
    served = serving(bench, 8, 0)
    served.user_loader = DataLoader(Subset(Waits50(), range(16)), batch_size=8)  # an epoch of two batches of 0.4 s
    with tapped():
        runner = Runner(served.current, served, last=time.monotonic() + 1.5, rounds=50)
        try:
            assert 5 < runner.block(0.2, None) < 20.5
        finally:
            runner.close()
    assert runner.delivered[1] <= 3


def starts_in_half_a_second(worker: int) -> None:
    time.sleep(0.5)  # the waiting that is to be told from the first batch


@pytest.mark.journey
def test_the_start_of_workers_is_told_from_their_first_batch() -> None:
    """Our promise: a slow first batch is no slow start."""
    for start, least, most in ((None, 0.0, 0.3), (starts_in_half_a_second, 0.4, 0.8)):
        bench = bench_of("Fine", 60)
        served = serving(bench, 4, 2)
        served.user_loader = DataLoader(Waits50(), batch_size=4, num_workers=2, worker_init_fn=start)
        with tapped():
            runner = Runner(served.current, served)
            try:
                runner.block(0.2, None)
                found = runner.start
            finally:
                runner.close()
        assert found is not None and least <= found.waits_s + found.cpu_s < most


class Short(IterableDataset[int]):
    """A stream of 300 samples without a length, sharded across workers."""

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        for i in range(0 if info is None else info.id, 300, 1 if info is None else info.num_workers):
            time.sleep(0.001)  # a store's answer
            yield i


@pytest.mark.journey
def test_a_stream_tells_its_length_when_an_epoch_ends() -> None:
    """Our promise: from then on a block counts the start of workers, which those before it are corrected for."""
    bench = bench_of("Fine", 60)
    served = serving(bench, 10, 2)
    served.user_loader = DataLoader(Short(), batch_size=10, num_workers=2, worker_init_fn=starts_in_half_a_second)
    with tapped():
        runner = Runner(served.current, served, stream=True)
        try:
            rates = [runner.block(0.02, None)]
            while runner.whole == math.inf:
                rates.append(runner.block(0.02, None))
        finally:
            runner.close()
    *before, last = rates
    assert runner.whole == 300
    assert last < 300 / 0.5  # half a second to start, and some time to read
    assert max(before) > 1.2 * last  # the best of them: a block is 20 ms, and may be disturbed
    assert all(rate < 300 / 0.5 for rate in runner.blocks)


@pytest.mark.journey
def test_a_stream_that_the_main_process_reads_tells_its_length_too() -> None:
    """Our promise: samples of a batch that time cut short count, no pause is taken for the beginning of an epoch, and there are
    no workers that could have nothing to do."""
    bench = bench_of("Fine", 60)
    served = serving(bench, 32, 0)
    served.user_loader = DataLoader(Short(), batch_size=32)
    with tapped():
        runner = Runner(served.current, served, stream=True, fine=True, sample=(0.0, 0.001))
        try:
            while runner.epochs < 2:
                runner.block(0.05, None)
        finally:
            runner.close()
    assert runner.whole == 300
    assert runner.again is None or runner.again.seconds < 0.1
    assert runner.empty_handed == 0


@pytest.mark.journey
def test_a_stream_that_ends_is_timed_over_whole_epochs() -> None:
    """Our promise: a stream need not declare its length: once an epoch has ended all blocks count the start of workers, those
    before it too, so that keeping the workers is proved to gain."""
    bench = bench_of("Fine", 90)  # of which it takes a sixth, and more where pairs scatter on a busy machine
    bench.source.iterable = True
    bench.source.dataset = Short()  # type: ignore[attr-defined]  # opened by a reference: such a source has one
    loader = DataLoader(Short(), batch_size=10, num_workers=2, worker_init_fn=starts_in_half_a_second)
    bench.source.loader = loader  # type: ignore[attr-defined]  # likewise
    facts = told(Loading(max_workers=2).measure(bench))
    now = facts.find(THROUGHPUT, workers=2, persistent=False)
    assert now is not None and now.value < 300 / 0.5  # half a second to start, and some time to read
    assert facts.value(RECOMMENDED)["settings"]["persistent_workers"]
    assert facts.value(SPEEDUP) > 2


@pytest.mark.journey
def test_giving_up_the_order_is_told_by_pairs_where_it_gains() -> None:
    """B19: where one slow sample holds ready batches back it is told, with its gain; where all are alike it is not."""
    for long in (0.3, 0.01):
        bench = bench_of("Fine", 150)
        bench.source.dataset = Uneven(long)  # type: ignore[attr-defined]  # opened by a reference: such a source has one
        facts = told(Loading(batch_size=1, num_workers=6, max_workers=6, block_s=0.5).measure(bench))
        order = facts.find(ORDERING)
        assert (order is not None and order.value["low"] > 1) is (long > 0.01)
        assert [f.code for f in head_of_line(facts)] == ["head-of-line-blocking"] * (long > 0.01)
        assert {t["in_order"] for t in facts.value(TRIALS)} == ({True, False} if order else {True})


def searched(workers: int, of: int) -> Settings:
    """A search with ``workers`` now; loaders of as many as ``of`` fail."""
    bench = bench_of("Waits", 60)
    served = serving(bench, 4, workers)
    served.dataset = FailsAmong(of)
    return Settings(bench, served, Ledger(bench, None, 0.1))


def proved(settings: Settings) -> Proof:
    return next(said for said in prove(settings) if isinstance(said, Proof))


@pytest.mark.journey
def test_the_present_workers_outlive_a_trial_that_took_too_much_memory_beside_them(held: list[Settings]) -> None:
    """Our promise: a trial that fails is an outcome; what ran by itself is judged."""
    settings = searched(3, of=2)
    held.append(settings)
    assert settings.run(settings.served.current) is not None
    settings.guard.tripped, settings.guard.alone = "2 workers and 3 paused ones took 1 GB", False
    assert settings.run(settings.with_workers(2)) is None
    assert list(settings.failed.values()) == ["2 workers and 3 paused ones took 1 GB"]
    assert settings.most == 2
    assert proved(settings).best.workers == 3


@pytest.mark.journey
def test_where_the_present_workers_were_ended_the_main_process_is_judged(held: list[Settings]) -> None:
    """Our promise: it goes on with what is left."""
    settings = searched(3, of=3)
    held.append(settings)
    settings.guard.tripped = "3 workers took 1 GB"
    assert settings.run(settings.served.current) is None
    assert settings.most == 3
    assert proof_s(settings) == 0
    assert settings.runners == {}
    assert proved(settings).best.workers == 0


def test_every_recipe_knows_whether_a_stream_is_sharded_before_it_searches() -> None:
    """Our promise: samples that come twice are no throughput, whichever tool runs the search."""
    searching = 0
    for tool in all_tools().values():
        kinds = [type(probe) for probe in tool.recipe(tool.request.model_validate({"source": "x"}))]
        if Loading in kinds:
            searching += 1
            assert StreamSharding in kinds[: kinds.index(Loading)], tool.name
    assert searching == 3
