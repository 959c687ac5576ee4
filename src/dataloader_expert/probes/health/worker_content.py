"""Whether workers read what the main process reads: the same samples, in two workers at once, compared by digest.

A file handle that workers share, a cache that one of them changes or a global that a fork does not carry over gives wrong
samples without an error, and only there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.conclusions import MAX_PLACES, number
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs
from dataloader_expert.probes.health.generators import RESEEDED
from dataloader_expert.probes.health.shared_handles import shared, used
from dataloader_expert.probes.health.stored_values import REWRITTEN, changed
from dataloader_expert.probes.profile.rereads import word_of
from dataloader_expert.probes.serving import serving
from dataloader_expert.probes.sharding import WORKERS, batches_of, digests, in_workers

CONTENT = Quantity(
    "worker_content",
    "samples",
    "of the samples compared, those that two workers read differently from the main process",
)
LEAST, MOST = 4, 512
BATCH = 4
HERE_SHARE = 0.4
"""The share of this probe's time for reading in the main process."""
HERE, THERE = 2, 2
"""Times that each sample is read in the main process, and in workers; the second read tells random samples."""


@dataclass(frozen=True)
class WorkerContent(Probe):
    name: ClassVar[str] = "worker_content"
    doing: ClassVar[str] = "comparing what workers read"
    torch: ClassVar[bool] = False  # it looks at references alone, and their host has imported it
    share: float = 0.8
    most_s: float = 4.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        source = bench.source
        if source.format != "reference" or source.iterable or not hasattr(os, "fork") or hangs(bench):
            return
        if bench.facts.find(RESEEDED) is not None:
            yield Unknown("reading in worker processes", "samples seed their own random numbers")
            return
        import numpy as np

        served = serving(bench, None, None)
        bench.progress("reading in two workers", None)
        until = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        size = len(served.dataset)
        drawn = np.random.default_rng(bench.seed).choice(size, min(size, MOST), replace=False).tolist()
        here, random, failed = _here(
            bench, served.dataset, drawn, time.monotonic() + HERE_SHARE * (until - time.monotonic())
        )
        if random and bench.facts.find(REWRITTEN) is None:  # else it was told by the probe of caches
            found = changed(source.dataset, random, len(here) + len(random), self.name)  # type: ignore[attr-defined]
            yield from (
                fact for fact in found if fact.quantity == REWRITTEN
            )  # others may draw from an unknown generator
        if random or len(here) < min(LEAST, size):
            slow = "samples take too long to read any again: raise budget_s"
            raised = f"reading samples again raised errors in {number(failed, 'sample')}"
            why = "reading a sample twice gives different content" if random else raised if failed else slow
            yield Unknown("reading in worker processes", why)
            return
        order = sorted(here) * THERE
        batches = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        compared: set[int] = set()
        differ: set[int] = set()
        error = None
        before = used()
        try:
            for batch, words in zip(batches, batches_of(in_workers(served, batches, digests)), strict=False):
                compared.update(batch)
                differ |= {i for i, word in zip(batch, words, strict=True) if word != here[i]}
                if time.monotonic() > until:
                    break
        except Exception as e:  # the user's code, in workers, may raise anything
            error = (
                f"{type(e).__name__}: {str(e).strip().splitlines()[-1][-200:]}" if str(e).strip() else type(e).__name__
            )
        value = {
            "compared": len(compared),
            "differ": len(differ),
            "first": sorted(differ)[:MAX_PLACES],
            "random": len(random),
            "error": error,
        }
        yield from shared(before, self.name, served.dataset)
        if not compared and error is None:
            return
        yield Fact(
            CONTENT,
            value,
            evidence("counted", "worker_content", seen=len(compared), population=size),
            {"workers": WORKERS},
        )


def _here(bench: Bench, dataset: Any, indices: list[int], until: float) -> tuple[dict[int, str], list[int], int]:
    """Digests of the samples that read the same twice in this process, those that did not, and how many raised an error."""
    found: dict[int, str] = {}
    random: list[int] = []
    failed = 0
    for index in indices:
        if time.monotonic() > until:
            break
        bench.at(index)
        try:
            words = {word_of(dataset[index]) for _ in range(HERE)}
        except Exception:  # the scan has said which samples raise
            failed += 1
            continue
        if len(words) == 1:
            found[index] = words.pop()
        else:
            random.append(index)
    bench.at(-1)
    return found, random, failed


PROBES = (WorkerContent,)
