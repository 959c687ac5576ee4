"""Sets the allocator as it would be in a fresh script; otherwise memory freed by the scan would change the cost of
loading.

glibc mmaps large arrays and raises its mmap threshold to the size of each such array that is freed. A process that has
scanned a data set has freed larger arrays than training will, keeps more memory, and is faster for it. So a process
forked before anything was read loads two batches and reports its thresholds, which this process and its workers adopt.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.system.malloc import counts, give_back, map_from, mapped_from
from dataloader_expert.probes.system.pristine_process import Untouched
from dataloader_expert.sources.reference import Reference

MOST = 4096
"""Samples requested, any number of which may raise."""
MAPPED_FROM = Quantity(
    "mapped_from", "B", "size from which malloc uses mmap in a process that has only loaded: main process, worker"
)


@dataclass(frozen=True)
class MallocAsStarted(Probe):
    """Runs before anything that times samples; only for user code, whose arrays may have any size."""

    name: ClassVar[str] = "malloc_as_started"
    doing: ClassVar[str] = "setting the allocator"
    batch_size: int | None = None
    share: float = 0.05
    most_s: float = 0.5

    def ready(self, bench: Bench) -> None:
        if isinstance(bench.source, Reference) and counts() and hasattr(os, "fork"):
            bench.untouched[self.name] = Untouched(partial(_bounds, bench.source, self.batch_size))

    def measure(self, bench: Bench) -> Iterable[Observation]:
        process = bench.untouched.pop(self.name, None)
        if process is None:
            return
        told = process.ask(min(self.most_s, self.share * bench.left()))
        process.close()
        if told is None:
            return
        give_back()
        map_from(told["main"])
        os.register_at_fork(after_in_child=partial(map_from, told["worker"]))
        value = {"main": told["main"], "worker": told["worker"]}
        yield Fact(MAPPED_FROM, value, evidence("probed", "malloc_as_started", seen=told["samples"]))


def _bounds(source: Reference, batch_size: int | None, seconds: float) -> dict[str, Any]:
    """Thresholds after a batch of samples, as in a worker, which collates into shared memory; and after collating
    one."""
    from torch.utils.data import default_collate

    until = time.monotonic() + seconds
    loader = source.loader
    size = batch_size or (None if loader is None else loader.batch_size) or 32
    collate = default_collate if loader is None else loader.collate_fn
    stream = _samples(source)
    read = len(_batch(stream, size, time.monotonic() + seconds / 2))
    worker = mapped_from()
    samples = _batch(stream, size, until)
    with contextlib.suppress(Exception):  # collate errors are reported where collating is measured
        collate(samples)
    read += len(samples)
    samples.clear()
    return {"main": mapped_from(), "worker": worker, "samples": read}


def _samples(source: Reference) -> Iterator[Any]:
    """An endless supply of samples; those that raise are skipped, as the scan reports them."""
    if source.iterable:
        yield from itertools.chain.from_iterable(itertools.repeat(source.dataset))
    for i in range(0 if source.iterable else MOST):
        with contextlib.suppress(Exception):
            yield source.dataset[i * 7919 % len(source.dataset)]


def _batch(stream: Iterator[Any], size: int, until: float) -> list[Any]:
    samples: list[Any] = []
    while len(samples) < size and (not samples or time.monotonic() < until):
        sample = next(stream, stream)
        if sample is stream:
            break
        samples.append(sample)
    return samples


PROBES = (MallocAsStarted,)
