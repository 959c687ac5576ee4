"""Slow samples are told once, wherever they were met."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from dataloader_expert.advice.base import findings_of
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.profile.rereads import as_many_threads, share_of_slow, slow_samples, wilson
from dataloader_expert.probes.serving import serving
from dataloader_expert.sources.registry import open_source
from tests.making import users
from tests.making.shared import CHECKOUT

QUICK = [(1e-5, i) for i in range(32) if i != 7]
SLOW = (0.1, 7)


@pytest.mark.parametrize(
    ("took", "first", "doubtful", "trials"),
    [
        ([*QUICK, SLOW, SLOW], [], [], []),
        (QUICK, [SLOW], [], []),
        (QUICK, [], [6, 7], []),
        (QUICK, [], [], [SLOW, (0.05, 8)]),
        ([*QUICK, SLOW], [SLOW], [7], [SLOW]),
    ],
    ids=["in two epochs", "in a batch that warmed up", "in a batch not timed", "in a trial", "in all"],
)
def test_a_slow_sample_is_told_once(took: Any, first: Any, doubtful: Any, trials: Any) -> None:
    """Our promise: one of 32 samples is slow, however often and wherever it was met."""
    ref = SourceRef(f"{Path(users.__file__)}:OneSlow", (str(CHECKOUT),), code=True)
    until = time.monotonic() + 60
    bench = Bench(open_source(ref, []), ref, 0, until, lambda index: None, lambda message, share: None, cpus=2)
    [fact, share] = slow_samples(bench, serving(bench, 4, 0), took, first, doubtful, trials)
    assert isinstance(fact, Fact)
    assert isinstance(share, Fact)
    [found] = findings_of(Facts((fact, share)))
    assert found.where == ({"sample": 7},)
    assert found.message.startswith("1 of 32 samples")
    came = {i for _, i in (*took, *first)}
    assert share.value == pytest.approx((7 in came) / len(came))  # what was looked up for its slow batch is no sample
    low, high = share.evidence.interval or (math.nan, math.nan)
    assert low <= share.value < high < 0.2


@pytest.mark.parametrize("workers", [0, 2])
def test_samples_are_read_again_with_as_many_threads_as_before(workers: int) -> None:
    """Seen: of 148 samples of workers, one that "always takes ten times the median", read again by two threads on a busy machine."""
    before = torch.get_num_threads()
    with as_many_threads(workers):
        assert torch.get_num_threads() == (1 if workers else before)
    assert torch.get_num_threads() == before


def test_a_sample_that_filled_a_cache_for_its_neighbours_is_not_slow() -> None:
    """Seen: "4 of 495 samples always take ten times the median", those that happened to load the volume of 24 slices."""
    ref = SourceRef(f"{Path(users.__file__)}:OneSlow", (str(CHECKOUT),), code=True)
    until = time.monotonic() + 60
    bench = Bench(open_source(ref, []), ref, 0, until, lambda index: None, lambda message, share: None, cpus=2)
    served = serving(bench, 4, 0)
    loads: list[int] = []

    class Slices:
        kept = -1

        def __len__(self) -> int:
            return 32

        def __getitem__(self, index: int) -> int:
            if self.kept != index // 8:
                self.kept = index // 8
                loads.append(index)
                time.sleep(0.02)  # a slice that is read anew is slow
            return index

    served.dataset = Slices()
    for seconds in (0.02, 0.3):  # on a busy machine, loading took longer
        fact, *_ = slow_samples(bench, served, [*QUICK, (seconds, 7), (seconds, 24)], [], [], [])
        assert isinstance(fact, Fact)
        assert fact.value["count"] == 0 and loads


def test_samples_are_read_again_only_while_there_is_time() -> None:
    """Our promise: hundreds of doubtful samples do not use up the budget of what is measured next."""
    ref = SourceRef(f"{Path(users.__file__)}:OneSlow", (str(CHECKOUT),), code=True)
    source = open_source(ref, [])
    read: list[int] = []
    bench = Bench(source, ref, 0, time.monotonic() - 1, lambda index: None, lambda message, share: None, cpus=2)
    served = serving(bench, 4, 0)

    class Counted:
        def __len__(self) -> int:
            return 32

        def __getitem__(self, index: int) -> int:
            read.append(index)
            return index

    served.dataset = Counted()
    for took in (QUICK, []):
        read.clear()
        list(slow_samples(bench, served, took, [], list(range(32)), []))
        assert len(read) <= 2


@pytest.mark.parametrize(
    ("slow", "seen", "low", "high"), [(0, 100, 0.0, 0.03699), (1, 10, 0.01788, 0.40416), (50, 100, 0.40383, 0.59617)]
)
def test_a_share_has_its_wilson_interval(slow: int, seen: int, low: float, high: float) -> None:
    """Our promise: the interval of a share is that of Wilson's score, to five digits."""
    assert wilson(slow, seen) == pytest.approx((low, high), abs=1e-5)


def test_samples_not_read_again_widen_the_share_upwards_only() -> None:
    """Our promise: what the budget left unread may be slow and may not; where all was read nothing else is open."""
    some = share_of_slow(2, 3, 100, 10_000)
    assert some.value == 0.02
    assert some.evidence.interval == (wilson(2, 100)[0], wilson(5, 100)[1])
    assert share_of_slow(2, 3, 100, 100).evidence.interval == (0.02, 0.05)
