"""The cost of returning freed memory to the kernel with every sample: compares processes that keep it with ones that do
not.

What an allocator returns depends on what was freed before, and scanning frees much. So a process is forked before
anything is read, and forks those that are timed: each is in the state of a script that has just created this dataset.
It depends as well on what is still held: below the samples of an unfinished batch nothing is returned. So samples are read
as a loader reads them, and freed a batch at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import LOADER_FAILED, Bench, Observation, Probe, evidence
from dataloader_expert.probes.clocks import QueueClock
from dataloader_expert.probes.readable import readable
from dataloader_expert.probes.search.pairing import Paired, compare
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS
from dataloader_expert.probes.search.trials import sample_s
from dataloader_expert.probes.system.pristine_process import Untouched
from dataloader_expert.sources.reference import Reference

PAGES = Quantity("pages_taken", "pages", "pages of memory that a warmed-up process newly allocates for each sample")
FREED = Quantity(
    "freed_memory_kept", "x", "samples/s of a process that keeps freed memory over an unchanged one, in pairs"
)
MANY = 128
"""The fewest pages per sample for the experiment: half a megabyte, which costs a tenth of a millisecond."""
PAIRS = 6
BATCH = 32
"""The samples of a batch where no loader says."""
WARM, LEAST = 4, 4
"""Warm-up samples, and the fewest samples that are counted."""


@dataclass(frozen=True)
class MallocRetention(Probe):
    name: ClassVar[str] = "malloc_retention"
    doing: ClassVar[str] = "timing the allocator's settings"
    share: float = 0.3
    most_s: float = 2.0

    def ready(self, bench: Bench) -> None:
        source = bench.source
        if isinstance(source, Reference) and not source.iterable and source.samples >= LEAST:
            bench.untouched[self.name] = Untouched(partial(_experiment, source.dataset, *batching(source)))

    def measure(self, bench: Bench) -> Iterable[Observation]:
        process = bench.untouched.pop(self.name, None)
        if process is None:
            return
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        room = until - time.monotonic()
        fits = (2 * LEAST_PAIRS + 1) * (WARM + LEAST) * sample_s(bench) < room and bench.facts.find(
            LOADER_FAILED
        ) is None
        told = process.ask(room) if fits else None
        process.close()
        if told is None:
            return
        seen = evidence("counted", "malloc_retention", seen=told["samples"])
        yield Fact(PAGES, told["pages"], seen, {"page_bytes": resource.getpagesize()})
        if told["ratios"]:
            found = Paired(told["ratios"])
            seen = evidence(
                "timed", "malloc_retention", seen=len(found.ratios), interval=found.bounds, spread=found.spread
            )
            yield Fact(FREED, found.mean, seen, {"pays": found.shown})


def batching(source: Reference) -> tuple[int, Any]:
    """How many samples a loading process holds until they are collated, and what collates them."""
    loader = source.loader
    if loader is None:
        return BATCH, None
    whole = getattr(loader.batch_sampler, "batch_size", None) or BATCH
    size = loader.batch_size or (whole if loader.batch_sampler is not None else 1)
    return int(size), loader.collate_fn


def _experiment(dataset: Any, size: int, collate: Any, seconds: float) -> dict[str, Any]:
    until, each = time.monotonic() + seconds, seconds / (2 * PAIRS + 1)
    read = partial(_read, dataset, size, collate)
    _, pages, samples = _apart(read, False, each, until)
    found = Paired()
    if pages >= MANY:
        keeping, plain = (
            (lambda: _apart(read, True, each, until)[0]),
            (lambda: _apart(read, False, each, until)[0]),
        )
        found = compare(keeping, plain, PAIRS, until)
    ratios = found.ratios if len(found.ratios) >= LEAST_PAIRS else []
    return {"pages": round(pages, 1), "samples": samples, "ratios": ratios}


def _apart(
    read: Callable[[float], tuple[float, float, int]], keeps: bool, seconds: float, until: float
) -> tuple[float, float, int]:
    """Samples/s, pages per sample and samples of a forked process; TimeoutError if it has none in time."""
    from dataloader_expert.loaders.freeing import keep_freed_memory

    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if keeps:
                keep_freed_memory()
            os.write(writing, json.dumps(read(seconds)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    if not readable(reading, max(0.0, until - time.monotonic()) + 0.2):
        os.kill(pid, signal.SIGKILL)  # it may hang in the user's code
    told = os.read(reading, 1 << 12)
    os.close(reading)
    os.waitpid(pid, 0)
    if not told:
        raise TimeoutError
    rate, pages, n = json.loads(told)
    return float(rate), float(pages), int(n)


def _read(dataset: Any, size: int, collate: Any, seconds: float) -> tuple[float, float, int]:
    end = time.perf_counter() + seconds
    held: list[Any] = []
    batch: Any = None

    def take(index: int) -> None:
        nonlocal batch
        held.append(dataset[index])
        if len(held) >= size:
            if collate is not None:
                with contextlib.suppress(Exception):  # the search tells what the user's collate function raises
                    batch = collate(held if size > 1 else held[0])
            held.clear()

    for i in range(WARM):
        take(i)
    queue, n = QueueClock(), 0
    pages, waited, begun = _pages(), queue.read(), time.perf_counter()
    while n < LEAST or time.perf_counter() < end:
        take((WARM + n * 7919) % len(dataset))
        n += 1
    took = time.perf_counter() - begun - (queue.read() - waited)  # waiting for a core does not count
    del batch
    return n / took, (_pages() - pages) / n, n


def _pages() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


PROBES = (MallocRetention,)
