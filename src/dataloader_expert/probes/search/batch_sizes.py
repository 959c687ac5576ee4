"""Throughput by batch size, in the main process."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from dataloader_expert.facts import Fact, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.model.sizes import BATCH_SIZES
from dataloader_expert.probes.search.pairing import interval
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.serving import serving

SIZES = (16, 32, 64, 128, 256)


@dataclass(frozen=True)
class BatchSizes(Probe):
    """Throughput in the main process at several batch sizes, three alternating blocks each."""

    name: ClassVar[str] = "batch-sizes"
    doing: ClassVar[str] = "timing batch sizes"
    block_s: float = 0.1
    share: float = 0.4
    sizes: tuple[int, ...] = SIZES

    def measure(self, bench: Bench) -> Iterable[Observation]:
        served = serving(bench, None, 0)
        if not served.sizable:
            return
        total = 1 << 20 if bench.source.iterable else bench.source.samples
        least, widest = self.sizes[0], replace(served, current=served.current.but(batch_size=self.sizes[-1]))
        widest.fit(bench, 0.03 * bench.left())
        most = widest.current.batch_size
        if most < least:
            yield Unknown("batch_size", f"a batch of {least} takes too long to time several sizes: raise budget_s")
            return
        deadline = bench.until(self.share, 6.0)
        sizes = [b for b in self.sizes if b <= max(least, min(total // 4, most))]
        runners = {b: Runner(served.current.but(batch_size=min(b, total), workers=0), served) for b in sizes}
        for i in range(3):
            for runner in runners.values():
                if i and deadline is not None and time.monotonic() > deadline:
                    return
                runner.block(self.block_s, deadline)
        for size, runner in runners.items():
            mean, low, high = interval(runner.blocks)
            seen = evidence("timed", "loading", seen=len(runner.blocks), interval=(low, high))
            yield Fact(BATCH_SIZES, mean, seen, {"batch_size": size})


PROBES = (BatchSizes,)
