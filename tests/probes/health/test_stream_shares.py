"""What the workers of a stream yield together, against what one worker yields."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import IterableDataset, default_collate, get_worker_info

from dataloader_expert.advice.streams import sharding, shares
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.health.stream_shares import SHARES, compared, yielded
from dataloader_expert.probes.serving import Serving
from dataloader_expert.probes.sharding import SHARDING, counted, iterated_at

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.*fork\\(\\)")

Part = Callable[[int, int, int], range]
"""The shards of worker k of n, of so many shards."""


def strided(shards: int, n: int, k: int) -> range:
    return range(k, shards, n)


def rounded_up(shards: int, n: int, k: int) -> range:
    size = math.ceil(shards / n)
    low = min(k * size, shards - size)
    return range(low, low + size)


def rounded_down(shards: int, n: int, k: int) -> range:
    size = shards // n
    return range(k * size, (k + 1) * size)


class Stream(IterableDataset[Any]):
    """Shards of ten rows; ``noise``: what is yielded is drawn anew each time."""

    def __init__(self, part: Part, shards: int, noise: bool) -> None:
        self.part, self.shards, self.noise = part, shards, noise

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        for shard in self.part(self.shards, info.num_workers, info.id) if info else range(self.shards):
            for row in range(10):
                yield torch.rand(4) if self.noise else torch.tensor([shard, row])


@pytest.mark.parametrize(
    ("part", "workers", "noise", "twice", "left_out"),
    [
        (strided, 2, False, 0, 0),
        (strided, 2, True, 0, 0),
        (rounded_up, 2, False, 10, 0),
        (rounded_up, 3, True, 20, 0),
        (rounded_down, 3, False, 0, 10),
        (rounded_down, 3, True, 0, 10),
    ],
)
def test_what_real_workers_yield_twice_or_leave_out_is_counted(
    part: Part, workers: int, noise: bool, twice: int, left_out: int
) -> None:
    """Our promise: seven shards of ten samples, dealt out by each rule, with samples that are the same in each epoch or not."""
    served = Serving(Stream(part, 7, noise), default_collate, "default", LoaderPlan(batch_size=4), False, "a test")
    until = time.monotonic() + 60
    alone, each, alone_again, each_again = (yielded(served, n, until) for n in (1, workers, 1, workers))
    assert alone is not None and each is not None
    assert compared(alone, each, alone_again, each_again) == {"twice": twice, "left_out": left_out}


@given(st.integers(1, 40), st.integers(1, 12), st.sampled_from([strided, rounded_up, rounded_down]))
def test_what_is_counted_is_what_the_rule_does(shards: int, n: int, part: Part) -> None:
    """Our promise: for all numbers of shards and workers."""
    dealt = Counter(shard for k in range(n) for shard in part(shards, n, k))
    alone = Counter(map(str, range(shards)))
    each = Counter({str(shard): times for shard, times in dealt.items()})
    twice, left_out = dealt.total() - len(dealt), shards - len(dealt)
    assert compared(alone, each, alone, each) == {"twice": twice, "left_out": left_out}


def test_samples_that_are_drawn_anew_by_number_only() -> None:
    """Our promise: draws with replacement differ from worker to worker, and are no fault."""
    draws = [Counter("aabbcd"), Counter("abccdd"), Counter("abbbcd"), Counter("aaaabc")]
    assert compared(*draws) == {"twice": 0, "left_out": 0}
    assert compared(Counter("abc"), Counter("ab"), Counter("abc"), Counter("abc")) is None, "not always"
    assert compared(Counter("abc"), Counter("ab"), None, None) is None, "no time to look again"


def test_both_faults_are_told_at_once() -> None:
    value = {"alone": 100, "total": 95, "twice": 5, "left_out": 10}
    [found] = shares(Facts((Fact(SHARES, value, Evidence("counted", "stream_shares", seen=195), {"workers": 3}),)))
    assert (found.code, found.severity, found.count) == ("iterable-not-sharded", "error", 15)
    assert found.message == (
        "3 workers yield 5 samples twice and leave out 10 samples: 95 in all, where one worker yields 100"
    )
    sound = Fact(SHARES, {**value, "twice": 0, "left_out": 0}, Evidence("counted", "stream_shares"), {"workers": 3})
    assert not list(shares(Facts((sound,))))


class Sized(IterableDataset[int]):
    """A stream that says how long it is."""

    def __init__(self, yields: int, said: int) -> None:
        self.yields, self.said = yields, said

    def __len__(self) -> int:
        return self.said

    def __iter__(self) -> Iterator[int]:
        yield from range(self.yields)


@pytest.mark.parametrize(("yields", "told"), [(60, ["wrong-length"]), (90, [])])
def test_a_length_is_checked_where_two_workers_did_not_come_to_the_end(yields: int, told: list[str]) -> None:
    """Seen: a length that counted the lines of all languages, of which one was kept, was not told: the time was up before."""
    stream = Sized(yields, 90)
    assert counted(stream, 90, 1e6) == yields
    assert counted(stream, 90, 1.0) is None  # would take too long
    value = {
        "by_worker": [9, 9],
        "total": 18,
        "unique": 18,
        "both": 0.0,
        "ended": False,
        "copied": False,
        "once": False,
    }
    fact = Fact(SHARDING, {**value, "length": 90, "alone": yields}, Evidence("counted", "a test"))
    assert [f.code for f in sharding(Facts((fact,)))] == told


def test_a_stream_that_every_worker_yields_is_told_with_its_line() -> None:
    """Seen: the fix was "shard in __iter__", of a project with several streams, and no file was named."""
    place = iterated_at(Sized(3, 3))
    assert place is not None and place["file"] == __file__ and iterated_at([1, 2]) is None
    value = {"by_worker": [4, 4], "total": 8, "unique": 4, "both": 1.0, "ended": True, "copied": True, "length": None}
    facts = Facts((Fact(SHARDING, {**value, "once": False, "place": place}, Evidence("counted", "a test")),))
    [found] = sharding(facts)
    assert found.code == "iterable-not-sharded" and f"(test_stream_shares.py:{place['line']})" in found.fix
    assert [one["line"] for one in found.where] == [place["line"]]
