"""What a worker of a stream computes for a sample that it yields, as one of several and as the only one.

A stream that decodes every record and then drops those of the other workers yields each sample once, and no number of workers makes
it faster. In a process of its own a few samples are read as the one worker and as the first of several, in turn, and CPU time compared:
unlike a rate it does not tell how busy the machine is.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.profile.stage_classifier import is_users
from dataloader_expert.probes.sharding import SHARDING
from dataloader_expert.probes.system.pristine_process import apart

REPEATED = Quantity(
    "stream_work", "", "CPU time of a sample that one of several workers yields, over that of the only worker's"
)
WORKERS = 4
BEGINNING, SAMPLES = 2, 12
"""Samples that come with what an iterator begins with, and the most that are timed after them."""
TURNS = 2
LEAST_S = 1e-4
"""CPU seconds of a sample from which on the comparison means something."""


@dataclass(frozen=True)
class StreamWork(Probe):
    """Runs only for a stream of which each worker yields a part."""

    name: ClassVar[str] = "stream_work"
    doing: ClassVar[str] = "comparing the work of one and of several workers"
    share: float = 0.08
    most_s: float = 3.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        found = bench.facts.value(SHARDING)
        if not found or found["copied"] or found["once"] or hangs(bench):
            return
        dataset = bench.source.dataset  # type: ignore[attr-defined]  # a stream opened by a reference: such a source has one
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        times = apart(partial(compared, dataset), max(0.0, until - time.monotonic()))
        if times and times["alone"] and times["alone"] >= LEAST_S:
            value = {"ratio": times["shared"] / times["alone"], "workers": WORKERS, "place": _iterates(dataset)}
            yield Fact(REPEATED, value, evidence("timed", self.name, seen=times["samples"]))


def compared(dataset: Any, seconds: float) -> dict[str, Any]:
    """CPU seconds of a sample as the only worker, at most, and as one of several, at least; 0 if there was no time for both."""
    until = time.monotonic() + seconds
    alone: list[float] = []
    shared: list[float] = []
    for _ in range(TURNS):
        alone += _timed(dataset, 1, until)
        shared += _timed(dataset, WORKERS, until)
    done = len(alone) == len(shared) == TURNS
    return {
        "alone": max(alone) if done else 0.0,
        "shared": min(shared) if done else 0.0,
        "samples": 2 * TURNS * SAMPLES,
    }


def _timed(dataset: Any, workers: int, until: float) -> Iterator[float]:
    """Mean CPU seconds of a few samples as the first of so many workers; nothing if there are too few, or no time is left."""
    from torch.utils.data._utils import worker

    before = worker._worker_info
    worker._worker_info = worker.WorkerInfo(id=0, num_workers=workers, seed=0, dataset=dataset)
    try:
        samples = iter(dataset)
        list(itertools.islice(samples, BEGINNING))
        begun, read = time.process_time(), 0
        while read < SAMPLES and time.monotonic() < until:
            next(samples)
            read += 1
        if read == SAMPLES:
            yield (time.process_time() - begun) / read
    except Exception:  # also the end of a short stream; others tell what it raises
        return
    finally:
        worker._worker_info = before


def _iterates(dataset: Any) -> dict[str, Any] | None:
    """Where the user's ``__iter__`` is, if it is theirs."""
    code = getattr(getattr(type(dataset), "__iter__", None), "__code__", None)
    return (
        {"file": code.co_filename, "line": code.co_firstlineno}
        if code is not None and is_users(code.co_filename)
        else None
    )


PROBES = (StreamWork,)
