"""Real loaders watched from inside: stages by clocks and stacks, in this process and in workers."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler, get_worker_info
from torch.utils.data._utils import fetch

from dataloader_expert.advice.base import findings_of
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.probes.clocks import Laps, QueueClock
from dataloader_expert.probes.descriptors import OPEN_FILES
from dataloader_expert.probes.profile.instrumentation import Watch, watching
from dataloader_expert.probes.profile.sampling_profiler import Ticker
from dataloader_expert.probes.profile.stage_classifier import Namer
from dataloader_expert.probes.profile.stages import (
    MEMORY_GROWTH,
    Seen,
    first_dropped,
    health,
    shares,
    spans,
)
from dataloader_expert.probes.search.pairing import interval


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Parts(Dataset[Any]):
    """Six milliseconds of waiting in a function that reads, three of work in one that decodes."""

    def __len__(self) -> int:
        return 200

    def _read(self, index: int) -> int:
        time.sleep(0.006)
        return index

    def _decode(self, index: int) -> int:
        burn(0.003)
        return index

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(self._decode(self._read(index)))


class Told(Parts):
    """Its own clocks tell what each sample truly took: a busy machine makes sleeps longer, and a woken process wait for
    a core, which no stack tells from work; so there is three times as much work."""

    def __init__(self) -> None:
        self.took = torch.zeros(len(self), 3, dtype=torch.float64)
        self.took.share_memory_()  # type: ignore[no-untyped-call]  # torch's own
        """Seconds of each sample: CPU, neither CPU nor waiting for a core, and wall time of its wait."""

    def __getitem__(self, index: int) -> Any:
        queue = QueueClock()
        queued, busy, begun = queue.read(), time.thread_time(), time.perf_counter()
        read = self._read(index)
        waited = time.perf_counter() - begun
        for _ in range(3):
            sample = torch.tensor(self._decode(read))
        wall, cpu = time.perf_counter() - begun, time.thread_time() - busy
        self.took[index] = torch.tensor((cpu, wall - cpu - queue.read() + queued, waited), dtype=torch.float64)
        return sample


class Apart(Parts):
    """The second worker decodes in a function of its own."""

    def __len__(self) -> int:
        return 2000

    def _again(self, index: int) -> int:
        burn(0.003)
        return index

    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        return torch.tensor(self._again(index) if info is not None and info.id else self._decode(index))


class Counted(IterableDataset[Any]):
    def __iter__(self) -> Any:
        yield from (torch.tensor(i) for i in range(40))


def watched(dataset: Any, workers: int, batches: int, ticker: Ticker | None = None) -> list[dict[str, Any]]:
    watch = Watch("unattributed", lambda index: None, len, ticker)
    with watching(watch):
        iterator = iter(DataLoader(dataset, batch_size=4, num_workers=workers))
        for _ in range(batches):
            next(iterator)
        del iterator
    lines = list(watch.lines())
    watch.close()
    return lines


@pytest.mark.journey
@pytest.mark.parametrize("workers", [0, 2])
def test_clocks_and_stacks_tell_where_the_time_went(workers: int) -> None:
    """Our promise: CPU and blocked time as a loading process's own clocks tell them, and the functions that took most."""
    ticker, dataset = Ticker(workers, 0.004), Told()
    lines = watched(dataset, workers, 24, ticker)
    ticks, _ = ticker.finish()
    timed = [line for line in first_dropped(lines) if line["timed"]]
    wall, cpu, queue = (sum(line["spent"]["unattributed"][i] for line in timed) for i in range(3))
    indices = [index for line in timed for index, *_ in line["each"]]
    busy, blocked, waited = dataset.took[indices].sum(dim=0).tolist()
    assert cpu == pytest.approx(busy, rel=0.15)
    assert wall - cpu - queue == pytest.approx(blocked, rel=0.15)
    assert wall - cpu > 0.9 * waited > 0.0054 * len(indices)
    on_cpu, off_cpu = shares(Namer(), ticks)
    assert on_cpu["decode"] > 0.6 * sum(on_cpu.values()) > 0
    assert off_cpu["read"] > 0.6 * sum(off_cpu.values()) > 0


@pytest.mark.journey
def test_every_process_is_looked_at_by_turns() -> None:
    """Our promise: shares are those of all loading processes, though a burst of stacks is of one."""
    ticker = Ticker(2, 0.004)
    watched(Apart(), 2, 250, ticker)
    ticks, _ = ticker.finish()
    first, second = (
        sum(t.running for t in ticks if any(function == name for *_, function in t.stack))
        for name in ("_decode", "_again")
    )
    assert min(first, second) > 0.3 * (first + second) > 0


def test_samples_are_closed_one_by_one_with_their_indices() -> None:
    """Each sample's own time is kept, so that a slow one is known by its index."""
    lines = watched(Parts(), 0, 3)
    assert [i for line in lines for i, *_ in line.get("each", ())] == list(range(12))
    assert spans(lines) == [] or spans(lines)[0][2] > 0


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stream_is_watched_too(workers: int) -> None:
    """A stream's samples are counted and delivered unchanged."""
    lines = watched(Counted(), workers, 9)
    assert sum(line["n"] for line in lines if line["timed"]) >= 16
    assert next(iter(DataLoader(Counted(), batch_size=40))).tolist() == list(range(40))


@pytest.mark.journey
def test_nothing_stays_behind() -> None:
    """Torch's own fetchers are back, and this process's descriptors too."""
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    own = fetch._MapDatasetFetcher.fetch
    watched(Parts(), 0, 1, None)
    assert fetch._MapDatasetFetcher.fetch is own
    ticker = Ticker(0, 0.01)
    ticker.finish()
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_laps_add_up_to_the_whole() -> None:
    """What no stage claims is the rest; samples add up to their stages."""
    laps = Laps("rest")
    burn(0.01)
    laps.lap("read")
    time.sleep(0.01)
    laps.sample(7)
    (index, wall, cpu, _), *_ = laps.each
    assert index == 7
    assert wall == pytest.approx(sum(w for w, _, _ in laps.spent.values()))
    assert laps.spent["read"][1] == pytest.approx(0.01, rel=0.3)
    assert cpu < 0.015 < wall


def test_where_one_more_falls_is_wider_than_where_the_mean_lies() -> None:
    """A run of its own varies more than an average does."""
    mean, low, high = interval([100.0, 110.0, 95.0])
    _, lower, higher = interval([100.0, 110.0, 95.0], further=True)
    assert lower < low < mean < high < higher


@pytest.mark.parametrize("marks", [[32, 64, 96], [32, 64, 288, 288], [32, 64, 64], [32, 320]])
def test_growth_is_told_wherever_two_readings_lie_apart(marks: list[int]) -> None:
    """Our promise: also where the last reading stands at the same sample as the one before it."""
    pulses = [{"samples": n, "files": 3 + n, "anon": n << 20} for n in marks]
    seen = Seen([{"worker": -1, "batch": i, "pulse": pulse} for i, pulse in enumerate(pulses)])
    found = {fact.quantity: fact.value for fact in health(seen, 0) if isinstance(fact, Fact)}
    assert found[OPEN_FILES] == 1000
    assert found[MEMORY_GROWTH] == pytest.approx(1000 * (1 << 20) / 1e6, rel=1e-3)
    assert {type(said) for said in health(Seen(seen.lines[:1]), 0)} == {Unknown}


def test_descriptors_of_batches_on_their_way_are_no_growth() -> None:
    """Workers that are made anew each epoch begin with none on the way and end with some: that is no leak."""
    lines = [
        {"worker": 0, "batch": i, "pulse": {"samples": 16 * (i + 1), "files": 9 + i, "anon": 0}}
        for _ in range(20)
        for i in range(5)
    ]
    for on_way, codes in ((4, set()), (2, {"file-descriptors-grow"})):
        facts = Facts(tuple(said for said in health(Seen(lines), on_way) if isinstance(said, Fact)))
        assert {said.code for said in findings_of(facts)} == codes


class Listed(Dataset[Any]):
    def __len__(self) -> int:
        return 320

    def __getitem__(self, index: int) -> Any:
        return torch.full((8,), index)


def test_what_sending_a_batch_writes_is_no_doing_of_the_users_code() -> None:
    """Our promise: each tensor in shared memory is handed over by a thread of torch's, whose writing and computing is transport."""
    watch = Watch("transform", lambda index: None, len)
    with watching(watch):
        for _ in DataLoader(Listed(), 16, num_workers=1, collate_fn=list):
            pass
    [(first, last, samples)] = spans(list(watch.lines()))
    watch.close()
    assert last["threads"] == 3
    assert last["io"]["syscw"] - first["io"]["syscw"] < 0.5 * samples
    assert last["feeder"] > first["feeder"]


class Whole(Dataset[Any]):
    """Whole batches are read at once, and returned as a tuple of the tensors of a batch."""

    x = torch.zeros(64, 3)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Any) -> Any:
        return self.x[index], self.x[index, 0]

    def __getitems__(self, indices: list[int]) -> Any:
        return self[torch.tensor(indices)]


class Batches(IterableDataset[Any]):
    def __iter__(self) -> Any:
        yield from ((torch.zeros(16, 3), torch.zeros(16)) for _ in range(4))


def as_is(batch: Any) -> Any:
    return batch


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(Whole(), 16, collate_fn=as_is),
        DataLoader(Whole(), None, sampler=BatchSampler(SequentialSampler(Whole()), 16, False)),
        DataLoader(Batches(), None),
        DataLoader(Counted(), 16),
        DataLoader(Told(), 16),
    ],
)
def test_times_are_of_a_sample_whoever_makes_the_batch(loader: Any) -> None:
    """Seen: a batch that the dataset itself returns as a tuple of two tensors counted as two samples, so that each seemed to take long."""
    watch = Watch("unattributed", lambda index: None, lambda batch: len(batch[0]))
    with watching(watch):
        next(iter(loader))
    assert [line["n"] for line in watch.lines() if line["timed"]] == [16]
    watch.close()


class Stored(Dataset[Any]):
    """Each sample takes the store's only connection."""

    def __init__(self) -> None:
        self.connection = multiprocessing.Semaphore(1)

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> Any:
        with self.connection:
            time.sleep(0.02)
        return torch.tensor(index)


class Streamed(Stored, IterableDataset[Any]):
    def __iter__(self) -> Any:
        yield from (self[i] for i in range(len(self)))


@pytest.mark.parametrize("dataset", [Stored(), Streamed()])
def test_a_worker_that_is_ended_gives_back_what_it_holds(dataset: Any) -> None:
    """Seen: workers were killed within a sample, and the main process then waited for their connections until the budget was spent."""
    watch = Watch("unattributed", lambda index: None, len)
    with watching(watch):
        iterator = iter(DataLoader(dataset, 5_000, num_workers=2))
        deadline = time.monotonic() + 30
        while dataset.connection.acquire(block=False):  # until one of them reads
            dataset.connection.release()
            assert time.monotonic() < deadline
        watch.ends(iterator, 0.02)
        assert dataset.connection.acquire(timeout=5)
        dataset.connection.release()
    watch.close()


def test_only_workers_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of the main process may read samples while workers end."""
    left: list[int] = []
    monkeypatch.setattr(os, "_exit", left.append)
    watch = Watch("unattributed", lambda index: None, len)
    watch.leaving[0] = 1
    watch.before(0)
    assert not left
    watch.owner += 1  # as a worker sees it
    watch.before(0)
    assert left == [0]
    watch.close()
