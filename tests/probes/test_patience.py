"""A sample that never comes is given up and told, and the others are read."""

from __future__ import annotations

import itertools
import math
import signal
import threading
import time
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

from dataloader_expert.advice.failures import hanging
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes import patience
from dataloader_expert.probes.base import Bench, newly_hung
from dataloader_expert.probes.hung import HANGS
from dataloader_expert.probes.patience import Hung, Patience
from dataloader_expert.probes.search.sparing import Spared
from dataloader_expert.sources.reference import Raised
from tests.probes.health.test_as_started import reference


class Waits(Dataset[torch.Tensor]):
    """The third sample waits for what never comes, and lets no error out."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        while index == 3:
            try:
                threading.Event().wait(60)
            except Exception:  # a program that tries again and again
                continue
        if index == 5:
            raise OSError("unreadable")
        return torch.zeros(2)


def bench_of(dataset: Dataset[Any], seconds: float = 60.0) -> Bench:
    source = reference(dataset)
    ref = SourceRef("memory:x", ("/",), code=True)
    return Bench(source, ref, 0, time.monotonic() + seconds, lambda i: None, lambda m, s: None)


@pytest.mark.journey
def test_a_sample_that_waits_forever_is_given_up_and_the_others_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen: one locked file took the whole budget, and the cure was to run the tool again."""
    monkeypatch.setattr(patience, "LEAST_S", 0.05)
    dataset, came = Waits(), []
    bench, before = bench_of(dataset), signal.getsignal(signal.SIGALRM)
    with Patience(bench) as reading:
        for index in range(8):
            try:
                reading.read(dataset, index)
            except (Hung, Raised):
                continue
            came.append(index)
    assert came == [0, 1, 2, 4, 6, 7] and signal.getsignal(signal.SIGALRM) == before
    facts = Facts(tuple(newly_hung(bench)))
    assert not [*newly_hung(bench)]
    [found] = hanging(facts)
    assert (found.code, found.severity, found.where) == ("sample-hangs", "warning", ({"sample": 3},))
    assert "it is waiting in __getitem__" in found.message and "budget_s" not in found.fix
    waited = Fact(HANGS, bench.hung[3]._replace(seconds=6.0)._asdict(), Evidence("timed", "a test"), {"sample": 3})
    assert [f.severity for f in hanging(Facts((waited,)))] == ["error"]
    spared = Spared(dataset, lambda index, error: None, frozenset(bench.hung))
    assert [*itertools.chain.from_iterable(spared[3].tolist() for _ in range(2))] == [0.0] * 4


def test_samples_that_are_all_slow_are_not_given_up_for_being_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: what the others take as well is no hang."""
    monkeypatch.setattr(patience, "LEAST_S", 0.01)
    bench = bench_of(Waits(), 1e6)
    reading = Patience(bench)
    reading.took = [30.0] * 8
    assert reading.limit_s == 1500.0
    reading.took = []
    assert reading.limit_s == math.inf  # nobody knows yet what is long
    bench.deadline = time.monotonic() + 6
    reading.took = [2.0, 2.0]
    assert reading.limit_s == math.inf
    [fact] = reading.long()
    assert fact.value["seconds"] == 2.0


def test_nothing_is_timed_outside_the_main_thread() -> None:
    bench, read = bench_of(Waits()), []

    def run() -> None:
        with Patience(bench) as reading:
            read.append(reading.read(bench.source.dataset, 0))  # type: ignore[attr-defined]  # a reference has one

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(read) == 1
