"""The cost of moving a finished batch: from a worker to the main process, into pinned memory, to the device."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Observation, evidence, in_words
from dataloader_expert.probes.batch_parts import flat, samples_in
from dataloader_expert.probes.clocks import now, since
from dataloader_expert.probes.profile.stage import stage_fact

TO_DEVICE = Quantity("to_device_gb_s", "GB/s", "host-to-device copy of a real pinned batch, by CUDA events")
UNPINNED = Quantity(
    "unpinned_copy_ms", "ms", "copy of a batch from ordinary memory to the device, in which the training loop waits"
)
TRIP = Quantity(
    "trip", "s", "from the end of one batch to the start of the next, in a worker that has no other batch queued"
)
FETCH_S = 0.005
"""Simulated fetch time for measuring a trip; it hides the trip if the next batch was requested ahead."""

PATIENCE_S = 5.0
"""After so long a batch counts as lost: a worker whose sending thread fails sends nothing more."""


@contextmanager
def in_iterators() -> Iterator[list[float]]:
    """The CPU seconds, in a list of one, that this thread spends in torch's own iterators: the rest is what a loader's own ``__iter__``
    computes."""
    from torch.utils.data.dataloader import _BaseDataLoaderIter as Iterating

    spent, plain, here = [0.0], Iterating.__next__, threading.get_ident()

    def following(self: Any) -> Any:
        begun = time.thread_time()
        try:
            return plain(self)
        finally:
            if threading.get_ident() == here:
                spent[0] += time.thread_time() - begun

    # in the class: a loader's own __iter__ makes its iterator where nothing else gets hold of it
    Iterating.__next__ = following  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        Iterating.__next__ = plain  # type: ignore[method-assign]  # as above


def sent(what: str, measured: Callable[[], Fact]) -> Observation:
    """What is measured by sending a batch, which not every batch can be: not one with a lock, or with a tensor that has a gradient."""
    try:
        return measured()
    except Exception as e:  # what the user's loader made may raise anything when it is pickled
        return Unknown(what, f"a batch could not be sent by a worker: {in_words(e)}")


class _Ready:
    """A dataset that returns one finished batch again and again: the cost of a loader over it is transport. ``spent``: the CPU seconds of
    its process so far, each time that it is asked."""

    def __init__(self, batch: Any, n: int, fetch_s: float = 0.0) -> None:
        import torch

        self.batch, self.n, self.fetch_s = batch, n, fetch_s
        # torch's annotations leave this method out
        self.spent = torch.zeros(n, dtype=torch.float64).share_memory_()  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        if index >= self.n:
            raise IndexError(index)
        if self.fetch_s:
            time.sleep(self.fetch_s)  # stands in for a fetch, which here only waits
        self.spent[index] = time.process_time()
        return self.batch


def transport(batch: Any, size: int) -> list[tuple[float, float, float]]:
    """CPU seconds per sample to transfer a finished batch, of a worker that sends it and of this process: ten batches after two dropped.
    How long each waits for the other is left out: in a loader that has batches on their way, none does."""
    from dataloader_expert.loaders.building import plain

    ready, received = _Ready(batch, 13), []
    iterator = iter(plain(ready, batch_size=None, num_workers=1, timeout=PATIENCE_S))
    begun = now()
    for got in iterator:
        received.append(since(begun)[1])
        n = samples_in(got) or size
        begun = now()
    sent = [later - earlier for earlier, later in pairwise(ready.spent.tolist())]  # the last batch is sent unseen
    each = [(a + b) / n for a, b in zip(received, sent, strict=False)][2:]
    return [(spent, spent, 0.0) for spent in each]


def trip(batch: Any) -> Fact:
    """How much later a batch arrives if it is requested only after the previous one arrived: medians of ten after two
    dropped."""
    from dataloader_expert.loaders.building import plain

    each = []
    for prefetch in (1, 2):
        ready = _Ready(batch, 13, FETCH_S)
        loader = plain(ready, batch_size=None, num_workers=1, prefetch_factor=prefetch, timeout=PATIENCE_S)
        times = [time.perf_counter() for _ in loader]
        each.append(statistics.median(b - a for a, b in pairwise(times[2:])))
    return Fact(TRIP, round(max(0.0, each[0] - each[1]), 6), evidence("timed", "stages", seen=20))


def to_device(batch: Any, size: int) -> Iterable[Observation]:
    """Times pinning a real batch and copying it to the device, with CUDA events, and copying it unpinned, by the clock;
    medians of ten. Nothing without a device."""
    import torch

    tensors = [v for _, v in flat(batch) if isinstance(v, torch.Tensor) and v.numel()]
    if not torch.cuda.is_available() or not tensors:
        return
    pins: list[tuple[float, float, float]] = []
    copies: list[tuple[float, float, float]] = []
    waits: list[float] = []
    event: Any = torch.cuda.Event
    for i in range(12):
        begun = now()
        pinned = [t.pin_memory() for t in tensors]
        wall, cpu = since(begun)
        begin, end = event(enable_timing=True), event(enable_timing=True)
        begin.record()
        moved = [t.to("cuda", non_blocking=True) for t in pinned]
        end.record()
        torch.cuda.synchronize()
        copied = begin.elapsed_time(end) / 1e3
        if i >= 2:
            pins.append((wall / size, cpu / size, 0.0))
            copies.append((copied / size, 0.0, 0.0))
        del moved
        begun = now()
        moved = [t.to("cuda") for t in tensors]
        torch.cuda.synchronize()
        waits += [since(begun)[0]] if i >= 2 else []
        del moved
    yield stage_fact("pin", pins)
    yield stage_fact("to_device", copies)
    plain_copy = 1e3 * statistics.median(waits)
    yield Fact(UNPINNED, plain_copy, evidence("timed", "stages", seen=len(waits)), {"batch_size": size})
    bytes_ = sum(t.numel() * t.element_size() for t in tensors)
    rate = bytes_ / (sorted(c for c, _, _ in copies)[len(copies) // 2] * size) / 1e9
    yield Fact(TO_DEVICE, rate, evidence("timed", "stages", seen=len(copies)))
