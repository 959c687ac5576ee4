"""What the first sample costs a process beyond later ones: an import, a connection, a compilation.

This process has read samples before it starts workers, so that those it forks find all that made. In training each worker makes it
for itself. A process forked before anything was read tells the cost, and workers that are measured spend as much.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.probes.clocks import QueueClock
from dataloader_expert.probes.system.pristine_process import Untouched
from dataloader_expert.sources.reference import Reference

FIRST_USE = Quantity(
    "first_use", "s", "time that the first sample takes each process beyond what its dataset makes and later ones"
)
LEAST_S, LEAST = 0.2, 0.5
"""The least seconds that are told, and the least share of the first sample's."""
DEAR = 0.02
"""Samples that take a larger share of the time left are not read again for this."""


@dataclass(frozen=True)
class FirstUse(Probe):
    """Runs before anything that starts workers; only for user code."""

    name: ClassVar[str] = "first_use"
    doing: ClassVar[str] = "reading a first sample"
    share: float = 0.2
    most_s: float = 8.0

    def ready(self, bench: Bench) -> None:
        if isinstance(bench.source, Reference) and hasattr(os, "fork"):
            bench.untouched[self.name] = Untouched(partial(_first, bench.source, False))

    def measure(self, bench: Bench) -> Iterable[Observation]:
        fresh, source = bench.untouched.pop(self.name, None), bench.source
        if fresh is None or not isinstance(source, Reference):
            return
        patience = min(self.most_s, self.share * bench.left())
        told = fresh.ask(patience) if (bench.fitted_s or 0.0) < DEAR * bench.left() else None
        fresh.close()
        if told is None or told["cpu"] + told["waits"] < LEAST_S:
            return
        prepared = Untouched(partial(_first, source, True))
        usual = prepared.ask(patience)
        prepared.close()
        if usual is None:
            return
        cpu, waits = (max(0.0, told[name] - usual[name]) for name in ("cpu", "waits"))
        if cpu + waits >= max(LEAST_S, LEAST * (told["cpu"] + told["waits"])):
            at = {"cpu": cpu, "waits": waits, "imports": told["imports"]}
            yield Fact(FIRST_USE, cpu + waits, evidence("timed", "first_use", seen=1), at)


def _first(source: Reference, prepared: bool, seconds: float) -> dict[str, Any]:
    """CPU and waiting seconds of the first sample, and the first library that reading it imported; ``prepared``: in a process like
    the workers that are forked now."""
    if prepared:
        source.as_loaded()
        source.filled().taken_back()
    queue = QueueClock()
    begun, cpu, queued = time.perf_counter(), time.process_time(), queue.read()
    with _sought() as sought:
        if source.iterable:
            next(iter(source.dataset), None)
        else:
            source.dataset[0]
    # waiting for a core that others have is no part of it
    cpu, wall = time.process_time() - cpu, time.perf_counter() - begun - (queue.read() - queued)
    new = (name for name in sought if name in sys.modules and "." not in name)
    imports = next((name for name in new if name not in sys.stdlib_module_names and not name.startswith("_")), "")
    return {"cpu": min(cpu, wall), "waits": max(0.0, wall - cpu), "imports": imports}


@contextmanager
def _sought() -> Iterator[list[str]]:
    """The modules that are looked for meanwhile, those that import others first: ``sys.modules`` holds them in the order in which they
    are complete, and a library after all that it needs."""
    names: list[str] = []

    class Noting:
        @staticmethod
        def find_spec(name: str, *_: Any) -> None:
            names.append(name)

    sys.meta_path.insert(0, Noting)
    try:
        yield names
    finally:
        sys.meta_path.remove(Noting)


def first_use(bench: Bench) -> tuple[float, float]:
    """CPU and waiting seconds that it takes; nothing where it was not told."""
    fact = bench.facts.find(FIRST_USE)
    return (0.0, 0.0) if fact is None else (fact.at["cpu"], fact.at["waits"])


def spend(cpu: float, waits: float) -> None:
    """Takes as long as the first use did."""
    time.sleep(waits)  # as long as a connection or a disk was waited for: workers that are measured must take as long
    until = time.thread_time() + cpu
    while time.thread_time() < until:
        pass


PROBES = (FirstUse,)
