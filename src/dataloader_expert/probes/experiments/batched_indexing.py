"""Whether a dataset returns a whole batch for many indices at once, and what that gains."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.batch_parts import flat
from dataloader_expert.probes.search.pairing import compare
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS
from dataloader_expert.probes.search.trials import sample_s
from dataloader_expert.probes.serving import serving

WHOLE = Quantity(
    "batched_fetch",
    "x",
    "speed of batches fetched with one call over batches fetched sample by sample, in this process, in pairs",
)
PAIRS, MOST_PAIRS, LEAST_S, WORTH = 6, 18, 0.02, 1.2


@dataclass(frozen=True)
class BatchedIndexing(Probe):
    name: ClassVar[str] = "batched_indexing"
    doing: ClassVar[str] = "timing whole batches at once"
    batch_size: int | None = None
    share: float = 0.2
    most_s: float = 1.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or bench.source.iterable:
            return
        served = serving(bench, self.batch_size, 0)
        dataset = served.dataset
        if served.whole:
            return  # it is asked for whole batches already
        if hasattr(dataset, "__getitems__") or len(dataset) < 8:
            return
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        if 12 * served.current.batch_size * sample_s(bench) > until - time.monotonic():
            return
        size = min(served.current.batch_size, len(dataset))
        indices = [(i * 7919) % len(dataset) for i in range(size)]
        ask = _asking(served.collate, dataset, indices)
        if ask is None:
            return
        found = compare(
            lambda: _rate(ask),
            lambda: _rate(lambda: served.collate([dataset[i] for i in indices])),
            PAIRS, until, MOST_PAIRS, WORTH,
        )  # fmt: skip
        if len(found.ratios) < LEAST_PAIRS:
            return
        seen = evidence("timed", "batched_indexing", seen=len(found.ratios), interval=found.bounds, spread=found.spread)
        yield Fact(WHOLE, found.mean, seen)


def _asking(collate: Any, dataset: Any, indices: list[int]) -> Callable[[], Any] | None:
    """A call that returns the batch of these indices at once, if some kind of index works and equals the collated
    one."""
    import numpy as np
    import torch

    first = indices[: min(4, len(indices))]
    try:
        expected = collate([dataset[i] for i in first])
    except Exception:  # the scan says which samples raise
        return None
    for make in (torch.tensor, np.array, list):
        try:
            same = _alike(dataset[make(first)], expected)
        except Exception:  # most datasets do not accept such an index
            continue
        if same:
            given = make(indices)
            return lambda: dataset[given]
    return None


def _alike(one: Any, other: Any) -> bool:
    import torch

    mine, theirs = flat(one), flat(other)
    if len(mine) != len(theirs) or not mine:
        return False
    pairs = [(torch.as_tensor(a), torch.as_tensor(b)) for (_, a), (_, b) in zip(mine, theirs, strict=True)]
    return all(a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b) for a, b in pairs)


def _rate(call: Callable[[], Any]) -> float:
    """Calls per second, over at least a fiftieth of a second."""
    begun, n = time.perf_counter(), 0
    while (spent := time.perf_counter() - begun) < LEAST_S or n < 2:
        call()
        n += 1
    return n / spent


PROBES = (BatchedIndexing,)
