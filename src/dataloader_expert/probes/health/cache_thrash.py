"""Caches of the user's functions that evict what is asked for again: the same samples are read with theirs and with room for all.

Read in a process of its own, in the order of the loader: once with each ``functools.lru_cache`` as it is, once with one that evicts
nothing. Calls that miss beyond those that must are what the cache evicted.
"""

from __future__ import annotations

import functools
import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.profile.stage_classifier import is_users
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.system.pristine_process import apart

THRASH = Quantity(
    "cache_thrash", "", "calls of a cached function as samples are read in order: misses, and those that must be"
)
MOST, LEAST = 2000, 8
"""Samples read, and the fewest that tell."""
EVICTED = 0.2
"""The least share of calls that miss although they were made before if it is told, and at least ``LEAST`` calls."""


@dataclass(frozen=True)
class CacheThrash(Probe):
    name: ClassVar[str] = "cache_thrash"
    doing: ClassVar[str] = "looking at caches of functions"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    batch_size: int | None = None
    share: float = 0.2
    most_s: float = 4.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or bench.source.iterable or hangs(bench) or not list(cached()):
            return
        served = serving(bench, self.batch_size, None)
        served.before_workers(1)
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        found = apart(partial(compared, served), max(0.0, until - time.monotonic()))
        if found:
            yield Fact(THRASH, found, evidence("counted", self.name, seen=found["samples"]))


def cached() -> Iterator[tuple[Any, str, Any]]:
    """The user's functions with a cache that evicts: the module or class that has it, its name, and the function."""
    for module in list(sys.modules.values()):
        if not is_users(getattr(module, "__file__", None) or "<"):
            continue
        classes = [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]
        for owner in (module, *classes):
            for name, value in list(vars(owner).items()):
                if type(value) is functools._lru_cache_wrapper and value.cache_parameters()["maxsize"]:
                    yield owner, name, value


def compared(served: Serving, seconds: float) -> dict[str, Any]:
    """The function that misses most beyond what it must, over the samples that could be read in half of the time; empty if none."""
    functions = list(cached())
    for _, _, function in functions:
        function.cache_clear()
    order = list(itertools.islice(_order(served), MOST))
    until, begun, read = time.monotonic() + 0.5 * seconds, time.perf_counter(), 0
    for index in order:
        if time.monotonic() > until:
            break
        served.dataset[index]
        read += 1
    took = time.perf_counter() - begun
    before = [function.cache_info() for _, _, function in functions]
    roomy = []
    for owner, name, function in functions:
        roomy.append(functools.lru_cache(maxsize=None)(function.__wrapped__))
        for module in (owner, *list(sys.modules.values())):  # it may have been imported elsewhere by name
            if vars(module).get(name) is function:
                setattr(module, name, roomy[-1])
    begun = time.perf_counter()
    for index in order[:read]:
        served.dataset[index]
    again = time.perf_counter() - begun
    worst: dict[str, Any] = {}
    for (_, name, function), was, made in zip(functions, before, roomy, strict=True):
        must = made.cache_info().misses
        if made.cache_info().misses + made.cache_info().hits != was.misses + was.hits:
            continue  # random, or called through another name
        if (
            read >= LEAST
            and was.currsize == was.maxsize
            and was.misses - must > worst.get("misses", 0) - worst.get("must", 0)
        ):
            code = getattr(function.__wrapped__, "__code__", None)
            place = None if code is None else {"file": code.co_filename, "line": code.co_firstlineno}
            worst = {
                "function": name,
                "calls": was.hits + was.misses,
                "misses": was.misses,
                "must": must,
                "place": place,
            }
            worst |= {
                "maxsize": was.maxsize,
                "samples": read,
                "seconds": round(took, 4),
                "seconds_with_room": round(again, 4),
            }
    evicted = worst["misses"] - worst["must"] if worst else 0
    return worst if evicted >= max(LEAST, EVICTED * worst["calls"]) else {}


def _order(served: Serving) -> Iterator[Any]:
    """Indices as one worker is asked for them."""
    import torch

    from dataloader_expert.loaders.building import orders

    if served.user_loader is not None:
        return iter(orders(served.user_loader))
    return iter(torch.randperm(len(served.dataset)).tolist())


PROBES = (CacheThrash,)
