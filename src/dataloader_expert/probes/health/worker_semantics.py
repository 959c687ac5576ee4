"""How the user's code behaves in workers: random numbers, sharding of a stream, whether workers see new epochs.

Each is an experiment with the user's own dataset in two real workers, started the way the user's loader starts them.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence, hangs, in_words
from dataloader_expert.probes.health.attribute_lines import uses_of
from dataloader_expert.probes.health.generators import drawn_from
from dataloader_expert.probes.profile.stage_classifier import is_users
from dataloader_expert.probes.search.stuck import at_work, own_init
from dataloader_expert.probes.search.trials import sample_s
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.probes.sharding import WORKERS, batches_of, digests, in_workers

TWINS = Quantity(
    "twins", "", "first reads of two samples: in two workers, in the next epoch, and again with the same seed"
)
EPOCHS = Quantity(
    "epochs_seen",
    "",
    "whether set_epoch changed the content that persistent workers read, as it did in the main process",
)
MIXING = Quantity("mixing", "", "rank correlation of a stream's order in two epochs")
LEAST_READS, MOST_READS = 8, 24
"""Reads of samples in each worker, as many as time allows."""
LATER = "raise budget_s"
"""How the reason ends if there was too little time."""
PATIENT_S = 2.0
"""The fewest seconds after which workers count as hung."""
FIRST = 512
"""Samples of each epoch whose positions are compared."""


@dataclass(frozen=True)
class WorkerSemantics(Probe):
    name: ClassVar[str] = "worker_semantics"
    doing: ClassVar[str] = "comparing workers: seeds, shards, epochs"
    batch_size: int | None = None
    share: float = 0.6
    most_s: float = 3.0
    first: bool = False
    """Runs again later, with what time is left then, if it is too little now."""

    def measure(self, bench: Bench) -> Iterable[Observation]:
        if self.first:
            yield from (
                said for said in self._compared(bench) if isinstance(said, Fact) or not said.why.endswith(LATER)
            )
        elif bench.facts.find(TWINS) is None and bench.facts.find(MIXING) is None:
            yield from self._compared(bench)

    def _compared(self, bench: Bench) -> Iterable[Observation]:
        if bench.source.format != "reference" or not hasattr(os, "fork") or hangs(bench):
            return
        served = serving(bench, self.batch_size, None)
        deadline = bench.until(self.share, self.most_s) or time.monotonic() + self.most_s
        if 40 * sample_s(bench) > deadline - time.monotonic():
            yield Unknown(
                "health: random numbers in workers",
                "batches take too long to observe two workers within the budget: raise budget_s",
            )
            return
        if bench.source.iterable:
            yield from mixing(served, deadline)
        else:
            yield from twins(bench, served, deadline)
            yield from epochs(served)


def twins(bench: Bench, served: Serving, deadline: float) -> Iterator[Observation]:
    """Two workers each read two samples many times, as many random augmentations have two outcomes; then in the next epoch; then
    again with the first seed."""
    indices, pair_s = _quickest(served)
    if not indices:
        return
    reads = int((deadline - time.monotonic()) / 4 / max(pair_s / len(indices), 1e-6))
    if reads < LEAST_READS:
        yield Unknown("health: random numbers in workers", "the samples that were tried take too long: raise budget_s")
        return
    reads, patience_s = min(MOST_READS, reads), max(PATIENT_S, deadline - time.monotonic())
    batches = [indices * (reads // len(indices))] * WORKERS
    alone_s = len(batches[0]) * pair_s / len(indices)

    def silent(pids: list[int]) -> None:
        bench.silent = at_work(bench, pids, patience_s, alone_s, own_init(served.user_loader))

    def run(seed: int | None) -> list[list[str]]:
        loader = in_workers(served, batches, digests, patience_s=patience_s)
        if seed is not None:
            _seeded(seed, loader)
        return [list(words) for words in batches_of(loader, silent)]

    try:
        first, following, again = run(bench.seed), run(None), run(bench.seed)
    except Exception as e:  # the user's code, in workers: an outcome
        why = f"in two workers: {in_words(e)}"
        if "timed out after" in str(e):  # by our patience, which is none of the user's
            why = f"two workers delivered nothing within {patience_s:.1f} s: raise budget_s"
        yield Unknown("health: random numbers in workers", why)
        return
    if min(len(first), len(following), len(again)) < WORKERS:
        return
    value = {
        "random": not _alike(first[0], len(indices)),
        "by_worker": all(_alike(words, len(indices)) for words in first) and first[0] != first[1],
        "same_in_both": first[0] == first[1],
        "same_next_epoch": first[0] == following[0],
        "same_again": first == again,
        "held": _generator(served.dataset, indices[0]) if first[0] == first[1] else None,
        "own_init": getattr(served.user_loader, "worker_init_fn", None) is not None,
        "init": _defined(getattr(served.user_loader, "worker_init_fn", None)),
    }
    yield Fact(TWINS, value, evidence("counted", "worker_semantics", seen=3 * WORKERS * len(batches[0])))


def _generator(dataset: Any, index: int) -> dict[str, Any] | None:
    """The attribute with the generator that samples are drawn from, and the line that makes it."""
    with contextlib.suppress(Exception):  # the scan has said which samples raise
        name = drawn_from(dataset, index)
        uses = None if name is None else uses_of(dataset, name)
        return None if name is None else {"attribute": name, "place": None if uses is None else uses.place(uses.made)}
    return None


def _defined(function: Any) -> dict[str, Any] | None:
    """Where a function of the user's is defined; None of others, and of objects without code."""
    while isinstance(function, partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None or not is_users(code.co_filename):
        return None
    return {"file": code.co_filename, "line": code.co_firstlineno, "function": function.__name__}


def _alike(words: list[str], samples: int) -> bool:
    """Whether each of these samples, which were read in turn, was the same each time."""
    return all(word == words[i % samples] for i, word in enumerate(words))


def _quickest(served: Serving) -> tuple[list[int], float]:
    """Of some samples that can be read two that take least time, and their seconds together: a slow one would be read many times."""
    n = len(served.dataset)
    took: dict[int, float] = {}
    for index in dict.fromkeys((0, n // 2, n // 3, n // 5)):
        begun = time.monotonic()
        with contextlib.suppress(Exception):  # the scan has said which samples raise
            served.dataset[index]
            took[index] = time.monotonic() - begun
    indices = sorted(took, key=lambda i: took[i])[:2]
    return sorted(indices), sum(took[i] for i in indices)


def _seeded(seed: int, loader: Any) -> None:
    import random

    import numpy as np
    import torch

    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)
    if loader.generator is not None:
        loader.generator.manual_seed(seed)


def epochs(served: Serving) -> Iterator[Observation]:
    """Whether ``dataset.set_epoch`` reaches persistent workers, if the dataset has it and the loader keeps its
    workers."""
    loader = served.user_loader
    tell = getattr(served.dataset, "set_epoch", None)
    if tell is None or loader is None or not loader.persistent_workers or not loader.num_workers:
        return

    def word() -> str:
        return digests([served.dataset[0]])[0]

    try:
        tell(0)
        here = word()
        kept = in_workers(served, [[0], [0]], digests, persistent=True)
        before = next(iter(kept))[0]
        tell(1)
        there = word()
        after = next(iter(kept))[0]
    except Exception as e:  # the user's code: an outcome
        yield Unknown("health: epochs in workers", in_words(e))
        return
    finally:
        with contextlib.suppress(Exception):
            tell(0)
    value = {"main_changed": here != there, "workers_changed": before != after}
    yield Fact(EPOCHS, value, evidence("counted", "worker_semantics", seen=4))


def mixing(served: Serving, deadline: float) -> Iterator[Observation]:
    """How well a stream is shuffled between epochs: rank correlation of the order of the first samples."""
    until = min(deadline + 1.0, time.monotonic() + 1.0)

    def epoch() -> list[str]:
        words: list[str] = []
        for sample in served.dataset:
            words += digests([sample])
            if len(words) >= FIRST or time.monotonic() > until:
                break
        return words

    try:
        one, two = epoch(), epoch()
    except Exception:  # the scan reports what the stream raises
        return
    places = {word: i for i, word in enumerate(two)}
    both = [(i, places[word]) for i, word in enumerate(one) if word in places]
    if len(both) < 64 or len(places) < 0.9 * len(two):
        return
    value = {"correlation": round(correlation(both), 4), "same": one == two, "samples": len(both), "of": len(one)}
    yield Fact(MIXING, value, evidence("counted", "worker_semantics", seen=len(both)))


def correlation(pairs: list[tuple[int, int]]) -> float:
    """Spearman's rank correlation of two orders of the same items."""
    n = len(pairs)
    rank = {j: r for r, j in enumerate(sorted(j for _, j in pairs))}
    moved = sum((r - rank[j]) ** 2 for r, (_, j) in enumerate(pairs))
    return 1 - 6 * moved / (n * (n * n - 1))


PROBES = (WorkerSemantics,)
