"""What starting workers is expected to cost, until it is timed."""

from __future__ import annotations

from dataloader_expert.probes.base import FIRST, PICKLING, Bench
from dataloader_expert.probes.search.belief import FORK_S, Start
from dataloader_expert.probes.serving import Serving

FRESH_IMPORT_S = 2.0
"""CPU seconds that a worker which is not forked is assumed to take to import torch."""


def start_of(bench: Bench, served: Serving, sample_s: float) -> Start:
    """By what is known of the loader: workers that are not forked import torch, and unpickle what the main process pickles for each; all
    make anew what reading the first sample made in this process."""
    made = served.filled is not None and bool(served.filled().names())
    made_s = max(0.0, float(bench.facts.value(FIRST, 0.0)) - sample_s) if made else 0.0
    if served.start_method(served.user_loader) == "fork":
        return Start(cpu_s=made_s)
    pickled: float = bench.facts.value(PICKLING, {"seconds": 0.0})["seconds"]
    return Start(cpu_s=FRESH_IMPORT_S + pickled + made_s, each_s=FORK_S + pickled)
