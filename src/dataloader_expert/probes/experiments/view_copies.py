"""The gain of sending copies of views: the loader's own batches against the same ones whose views were cloned.

A worker sends the whole storage behind a tensor. Both loaders really run, in alternating blocks, with the same workers, samples and
settings.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import LOADER_FAILED, Bench, Observation, Probe, evidence, too_many
from dataloader_expert.probes.carried import Tight
from dataloader_expert.probes.experiments.packing import gains
from dataloader_expert.probes.health.batch_storages import CARRIED, LEAST_UNUSED, TIMES
from dataloader_expert.probes.search.loading import RECOMMENDED
from dataloader_expert.probes.search.thresholds import LEAST_PAIRS
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.sharding import PATIENCE_S

CLONED = Quantity("cloned", "x", "throughput of batches whose views are cloned over unchanged batches, in pairs")


@dataclass(frozen=True)
class ViewCopies(Probe):
    name: ClassVar[str] = "view_copies"
    doing: ClassVar[str] = "timing copies of views"
    batch_size: int | None = None
    share: float = 0.35
    most_s: float = 2.0
    block_s: float = 0.1

    def measure(self, bench: Bench) -> Iterable[Observation]:
        carried = bench.facts.value(CARRIED, {"unused": 0})
        if carried["unused"] < LEAST_UNUSED or bench.facts.find(LOADER_FAILED) is not None:
            return
        served = serving(bench, self.batch_size, None)
        best = bench.facts.value(RECOMMENDED, {"workers": 0})["workers"]
        workers = served.current.workers or best
        if not workers or workers >= too_many(bench):
            return  # nothing is sent, or it does not fit
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        plan = served.current.but(workers=workers, persistent=True, timeout=PATIENCE_S)
        found = gains(plan, served, cloned_by(served), until, self.block_s)
        if len(found.ratios) < LEAST_PAIRS:
            return
        seen = evidence("timed", self.name, seen=len(found.ratios), interval=found.bounds, spread=found.spread)
        yield Fact(CLONED, found.mean, seen, {"workers": workers, "pays": found.shown})


def cloned_by(served: Serving) -> Serving:
    """The same loader, whose batches hold copies of what they show of larger storages."""
    from dataloader_expert.loaders.building import twin

    loader = served.user_loader
    inner: Any = served.collate if loader is None else loader.collate_fn
    made = Tight(inner, TIMES)
    return replace(served, collate=made, user_loader=None if loader is None else twin(loader, collate_fn=made))


PROBES = (ViewCopies,)
