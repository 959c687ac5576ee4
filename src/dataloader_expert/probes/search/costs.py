"""What single samples cost: read here, before any worker is started."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.profile.clocks import Laps
from dataloader_expert.probes.search.candidates import Costs
from dataloader_expert.probes.serving import Serving


def sample_costs(served: Serving, bench: Bench, seconds: float = 0.15, most: int = 128) -> Costs:
    """CPU and blocked seconds of a sample, from some that are read here."""
    laps, read, stream = Laps("rest"), 0, _one_by_one(served, bench)
    begun = time.monotonic()
    while read < 8 or (time.monotonic() - begun < seconds and read < most):
        try:
            next(stream)
        except StopIteration:
            break
        if not read:
            laps.begin()  # the first is cold
        read += 1
        laps.lap("rest")
    bench.at(-1)
    wall, cpu, queue = laps.spent.get("rest", (0.0, 0.0, 0.0))
    n = max(1, read - 1)
    return Costs(cpu / n, max(0.0, wall - cpu - queue) / n)


def _one_by_one(served: Serving, bench: Bench) -> Iterator[None]:
    """Reads samples; those that raise are passed over, and end a stream: the scan has said which do."""
    import numpy as np

    if bench.source.iterable:
        with contextlib.suppress(Exception):
            for _ in served.dataset:
                yield
        return
    rng = np.random.default_rng(bench.seed + 2)
    while True:
        index = int(rng.integers(len(served.dataset)))
        bench.at(index)
        with contextlib.suppress(Exception):
            served.dataset[index]
        yield
