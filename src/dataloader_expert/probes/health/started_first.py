"""Whether workers that hang deliver if the process that starts them has done nothing before.

A search reads samples in this process first. What it used for that, such as the threads of OpenMP, is not there in workers that
are forked later, and those may wait for it forever. A script that only starts its DataLoader does not do so.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import LOADER_FAILED, Bench, Observation, Probe, evidence
from dataloader_expert.probes.system.pristine_process import Untouched
from dataloader_expert.sources.reference import Reference

STARTED_FIRST = Quantity(
    "started_first",
    "batches",
    "batches that the present DataLoader delivered in a process that had read nothing before",
)
BATCHES = 2


@dataclass(frozen=True)
class StartedFirst(Probe):
    """Runs only if workers of the user's DataLoader wait for a lock."""

    name: ClassVar[str] = "started_first"
    doing: ClassVar[str] = "starting the workers first"
    share: float = 0.3
    most_s: float = 10.0

    def ready(self, bench: Bench) -> None:
        source = bench.source
        if isinstance(source, Reference) and source.loader is not None and hasattr(os, "fork"):
            if getattr(source.loader, "num_workers", 0) > 0:
                bench.untouched[self.name] = Untouched(partial(_delivered, source.loader))

    def measure(self, bench: Bench) -> Iterable[Observation]:
        process = bench.untouched.pop(self.name, None)
        if process is None:
            return
        failed = bench.facts.find(LOADER_FAILED, hung=True)
        if failed is not None and failed.value["locked"]:
            told = process.ask(min(self.most_s, self.share * bench.left()))
            if told is not None and told["batches"]:
                yield Fact(STARTED_FIRST, told["batches"], evidence("counted", "started_first", seen=told["batches"]))
        process.close()


def _delivered(loader: Any, seconds: float) -> dict[str, Any]:
    return {"batches": sum(1 for _ in itertools.islice(iter(loader), BATCHES))}


PROBES = (StartedFirst,)
