"""The cost of samples and batches: some are read and collated in this process, before any worker starts."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.clocks import Laps, helping
from dataloader_expert.probes.descriptors import Growth, open_now
from dataloader_expert.probes.patience import Hung, Patience
from dataloader_expert.probes.search.simulation import Pair
from dataloader_expert.probes.serving import Serving

SECONDS, SHARE = 0.25, 0.04
"""Time spent on samples: these seconds or this share of the time left, whichever is more; two are always read."""
MOST_SHARE = 0.3
"""Once samples have taken more than this share of the time left, even a single one is enough."""
MOST, KEPT = 256, 32
"""Samples read, and samples kept for collating."""
CALLS, COLLATING_S = 4, 0.2
"""Calls of the collate function, and the seconds after which no other is made."""


@dataclass(frozen=True)
class Measured:
    """CPU and waiting seconds of single samples; seconds of collating a batch; whether samples are read one by one; and seconds for which
    a sample waited for a core, which others used, as nothing of this loader ran beside it."""

    samples: tuple[Pair, ...]
    collate_s: float
    singly: bool
    queue_s: float = 0.0

    @property
    def sample_s(self) -> float:
        return sum(c + w for c, w in self.samples) / len(self.samples)


def measured(served: Serving, bench: Bench) -> Measured:
    """Costs of random samples, or of a stream's first; the first one is cold and counts only if it is the only one."""
    size = served.current.batch_size
    batched = not bench.source.iterable and hasattr(served.dataset, "__getitems__")
    limit = SECONDS if bench.deadline is None else max(SECONDS, SHARE * bench.left())
    begun = time.monotonic()
    pairs: list[Pair] = []
    queued: list[float] = []
    kept: list[Any] = []
    read, files = 0, open_now()
    laps, process_s = Laps("rest"), time.process_time()
    laps.begin()
    for got in _batches(served, bench, size) if batched else _one_by_one(served, bench):
        laps.lap("rest")
        n = len(got) if batched and got else 1
        read += n
        wall, cpu, queue = laps.spent.get("rest", (0.0, 0.0, 0.0))
        waits = max(0.0, wall - cpu - queue)
        helped = helping(waits, cpu, time.process_time() - process_s - cpu, served.cpus)
        pairs.append(((cpu + helped) / n, (waits - helped) / n))
        queued.append(queue / n)
        kept += (got if batched else [got])[: KEPT - len(kept)]
        spent = time.monotonic() - begun
        if (len(pairs) >= 2 and spent > limit) or spent > MOST_SHARE * bench.left() or len(pairs) >= MOST:
            break
        process_s = time.process_time()
        laps.begin()
    bench.at(-1)
    last = open_now()
    if files is not None and last is not None:
        bench.growth = Growth(last - files, read)
    sound = [one for one in kept if one is not None]
    collate_s = collating(served, sound[:size], size) if sound else 0.0
    queue_s = sum(queued[1:]) / max(1, len(queued) - 1)
    return Measured(tuple(pairs[1:] or pairs or [(1e-6, 0.0)]), collate_s, not batched, queue_s)


def collating(served: Serving, samples: list[Any], size: int) -> float:
    """Seconds of collating a batch, the least of some calls: the first ones import, allocate and fill caches. Where fewer samples
    were kept, they stand in it again and again."""
    size = min(size, len(served.dataset)) if hasattr(served.dataset, "__len__") else size
    batch = (samples * -(-size // len(samples)))[:size]
    took: list[float] = []
    while not took or (len(took) < CALLS and sum(took) < COLLATING_S):
        given = [copy.copy(one) if isinstance(one, dict | list) else one for one in batch]  # which it may change
        begun = time.perf_counter()
        try:
            served.collate(given)
        except Exception:  # what does not collate fails in the loader itself, and is reported there
            break
        took.append(time.perf_counter() - begun)
    return min(took, default=0.0)


def _one_by_one(served: Serving, bench: Bench) -> Iterator[Any]:
    """Samples; None for one that raises, and the end of a stream that does: the scan reports which do."""
    import numpy as np

    if bench.source.iterable:
        with contextlib.suppress(Exception):
            yield from served.dataset
        return
    rng = np.random.default_rng(bench.seed + 2)
    with Patience(bench) as reading:
        while not reading.gave_up:
            index, sample = int(rng.integers(len(served.dataset))), None
            bench.at(index)
            try:
                sample = reading.read(served.dataset, index)
            except Hung:
                continue
            except Exception:  # the scan reports which raise
                sample = None
            yield sample


def _batches(served: Serving, bench: Bench, size: int) -> Iterator[list[Any]]:
    """Lists of samples that the dataset returns at once; empty if it raises."""
    import numpy as np

    rng = np.random.default_rng(bench.seed + 2)
    while True:
        indices, samples = rng.integers(0, len(served.dataset), size).tolist(), []
        with contextlib.suppress(Exception):
            samples = list(served.dataset.__getitems__(indices))
        yield samples
