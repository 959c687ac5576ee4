"""The cost of starting one worker with each start method, once: seconds before the first batch, not throughput."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import PICKLING, Bench, Observation, Probe, evidence, hangs, in_words
from dataloader_expert.probes.fetchers import wrapped
from dataloader_expert.probes.search.starting import FRESH_IMPORT_S, slowed
from dataloader_expert.probes.search.trials import sample_s
from dataloader_expert.probes.serving import Serving, serving

START = Quantity(
    "worker_start", "s", "time from creating an iterator with one worker to its first batch, by start method"
)
METHODS = ("fork", "forkserver", "spawn")


@dataclass(frozen=True)
class StartUp(Probe):
    """Runs if the budget leaves ``least_s``: a worker that is not forked imports torch and the user's modules anew."""

    name: ClassVar[str] = "start_up"
    doing: ClassVar[str] = "timing the start of a worker"
    least_s: float = 6.0
    share: float = 0.4

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or hangs(bench):
            return
        served = serving(bench, None, None)
        for method in METHODS:
            why = self._unfit(bench, method)
            if why:
                yield Unknown(f"start_methods: {method}", why)
                continue
            began = time.perf_counter()
            try:
                spent = _first_batch(served, method, self.share * bench.left())
            except Exception as e:  # the loader may not pickle, not import or take too long
                took = time.perf_counter() - began
                yield Unknown(f"start_methods: {method}", f"after {took:.1f} s: {in_words(e)}")
                continue
            yield Fact(START, round(spent, 3), evidence("timed", "start_up", seen=1), {"method": method})
        bench.at(-1)

    def _unfit(self, bench: Bench, method: str) -> str:
        if method not in multiprocessing.get_all_start_methods():
            return "this system does not have this start method"
        if bench.left() < self.least_s + 4 * sample_s(bench):
            return "the budget leaves no time to start another worker: raise budget_s"
        pickled = bench.facts.value(PICKLING)
        if method != "fork" and pickled is not None and pickled["why"] is not None:
            return f"the loader cannot be pickled: {pickled['why']}"
        starts_s = FRESH_IMPORT_S * slowed() + (0.0 if pickled is None else 2 * float(pickled["seconds"]))
        if method != "fork" and starts_s > self.share * bench.left():  # nothing ends a start
            return f"starting a worker takes about {starts_s:.1f} s: raise budget_s"
        return ""


def _first_batch(served: Serving, method: str, patience: float) -> float:
    from dataloader_expert.loaders.building import plain, release

    workers = {"num_workers": 1, "multiprocessing_context": method, "timeout": max(1.0, patience)}
    served.before_workers(1)
    made = plain(served.dataset, served.collate, served.user_loader, batch_size=2, generator=None, **workers)
    begun = time.perf_counter()
    with wrapped(lambda fetch: fetch):  # so that forked workers make what this process has made already
        iterator = iter(made)
    try:
        next(iterator, None)
        return time.perf_counter() - begun
    finally:
        # such a worker shuts down its interpreter, and torch's threads abort one in twenty then: after the batch
        with contextlib.suppress(RuntimeError):
            release(made, iterator)


PROBES = (StartUp,)
