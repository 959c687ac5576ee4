"""What a loader takes of the host's memory: measured at the settings advised, while the consumer holds each batch."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Facts, Quantity, Unknown
from dataloader_expert.plan import in_flight
from dataloader_expert.probes.base import Bench, Observation, Probe, clean, evidence
from dataloader_expert.probes.delivery import in_stock
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.model.memory import DEVICE_LIMIT
from dataloader_expert.probes.model.sizes import chosen_size, host_limit
from dataloader_expert.probes.serving import serving
from dataloader_expert.probes.system.branches import Branches
from dataloader_expert.probes.system.process_memory import own_pages, rss_bytes, total_pss

HOST_GROWTH = Quantity(
    "host_growth_bytes",
    "bytes",
    "growth of the process tree while a loader runs and its queue fills: proportional set size without mapped files, shared memory once",
)
TURNS = 3
"""Batches that the consumer holds until the queue is full."""
FILLED_S, POLL_S = 5.0, 0.01
ROOM = 0.4
"""The share of the memory allowed that the loader may be expected to take."""


@dataclass(frozen=True)
class HostMemory(Probe):
    """Runs the loader as advised; ``batch_size``: as asked."""

    name: ClassVar[str] = "host-memory"
    doing: ClassVar[str] = "measuring the loader's memory"
    batch_size: int | None = None
    margin: float = 0.1

    def ready(self, bench: Bench) -> None:
        # later this process holds what other loaders have freed, and would not grow
        bench.untouched[self.name] = Branches(lambda asked: _weigh(bench, asked))

    def measure(self, bench: Bench) -> Iterable[Observation]:
        branches = bench.untouched.pop(self.name)
        try:
            yield from self._weighed(bench, branches)
        finally:
            branches.close()

    def _weighed(self, bench: Bench, branches: Branches) -> Iterable[Observation]:
        most = host_limit(bench.facts, bench.memory_bytes, self.margin)["value"]
        device = bench.facts.find(DEVICE_LIMIT)
        if device is not None:
            most = min(most, device.value["value"])
        size, _ = chosen_size(bench.facts, self.batch_size, most)
        workers = next((f.value["workers"] for f in bench.facts if f.quantity.name == "recommended_settings"), None)
        per = sum(f["bytes_per_sample"] for f in bench.facts.value(BATCH, {"fields": []})["fields"])
        if workers is None or per * size * (in_flight(workers, 2) + 2) > ROOM * bench.limit_bytes:
            return
        seconds = 0.6 * bench.left()
        asked = {"facts": [clean(f.to_json()) for f in bench.facts], "classes": bench.classes, "seconds": seconds}
        said = branches.ask({**asked, "size": size, "workers": workers}, seconds)
        if "grown" in said:
            seen = evidence("probed", self.name, seen=TURNS)
            yield Fact(HOST_GROWTH, said["grown"], seen, {"batch_size": size, "workers": workers})
        else:
            yield Unknown("memory.host_parts", f"the loader's memory was not measured: {said['error']}")


def _weigh(bench: Bench, asked: dict[str, Any]) -> dict[str, Any]:
    """The growth by the loader at these settings of a process that owns its pages and collects garbage as a script does."""
    until = time.monotonic() + asked["seconds"]
    bench.facts = Facts(tuple(Fact.from_json(f) for f in asked["facts"]))
    bench.classes = None if asked["classes"] is None else tuple(asked["classes"])
    served = serving(bench, asked["size"], asked["workers"])
    if served.current.batch_size != asked["size"]:
        return {"error": "its batch size is set by a batch sampler"}
    gc.unfreeze()
    if 2 * rss_bytes(os.getpid()) > ROOM * bench.limit_bytes:
        return {"error": "the dataset in memory takes too much of it to hold its pages twice"}
    with contextlib.suppress(OSError):  # a system that shows no pages: they stay shared
        own_pages()
    return {"grown": growth(lambda: served.loader(served.current), 0.8 * (until - time.monotonic()), files=False)}


def growth(loader: Callable[[], Any], seconds: float, files: bool = True) -> int:
    """The most that this process and those below it grow while the loader's batches are taken one by one; ``files``:
    mapped ones count, as is right where no process outside maps the same."""
    from dataloader_expert.loaders.building import release

    until = time.monotonic() + seconds
    before = total_pss(os.getpid(), files)
    most, over = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(POLL_S):
            most = max(most, total_pss(os.getpid(), files) - before)

    thread = threading.Thread(target=watch, name="memory", daemon=True)
    thread.start()
    made = loader()
    stream = iter(made)
    held: Any = None
    try:
        for _ in range(TURNS):
            held = next(stream, None)
            if made.num_workers:
                _filled(stream, min(until, time.monotonic() + FILLED_S))
            if time.monotonic() > until:
                break
    finally:
        over.set()
        thread.join()
        release(made, stream)
    del held
    return max(0, most)


def _filled(stream: Any, until: float) -> None:
    """Waits until every batch that was asked of the workers is there, and has been looked at."""
    while time.monotonic() < until and in_stock(stream) < len(stream._task_info):
        time.sleep(POLL_S)
    time.sleep(2 * POLL_S)  # so that the thread which weighs, every POLL_S, has seen them


PROBES = (HostMemory,)
