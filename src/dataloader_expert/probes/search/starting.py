"""What starting workers is expected to cost, until it is timed."""

from __future__ import annotations

import contextlib

from dataloader_expert.probes.base import FIRST, PICKLING, Bench
from dataloader_expert.probes.profile.instrumentation import task_times
from dataloader_expert.probes.search.belief import FORK_S, Start
from dataloader_expert.probes.serving import Serving

FRESH_IMPORT_S = 2.0
"""CPU seconds that a worker which is not forked is assumed to take to import torch."""
PIPE_BYTES = 1 << 16
"""What a pipe holds: the main process sends a worker more only as fast as that reads."""


def start_of(bench: Bench, served: Serving, sample_s: float) -> Start:
    """By what is known of the loader: workers that are not forked import torch, and unpickle what the main process pickles for each; all
    make anew what reading the first sample made in this process."""
    made = served.filled is not None and bool(served.filled().names())
    made_s = max(0.0, float(bench.facts.value(FIRST, 0.0)) - sample_s) if made else 0.0
    if served.start_method(served.user_loader) == "fork":
        return Start(cpu_s=made_s)
    pickling = bench.facts.value(PICKLING, {"seconds": 0.0, "bytes": 0})
    pickled, import_s = float(pickling["seconds"]), FRESH_IMPORT_S * slowed()
    if pickling["bytes"] > PIPE_BYTES:  # then the main process waits until the worker has imported and reads
        return Start(cpu_s=pickled + made_s, each_s=FORK_S + import_s + pickled)
    return Start(cpu_s=import_s + pickled + made_s, each_s=FORK_S + pickled)


def slowed() -> float:
    """How many times as long as it computes this thread took so far, as it also waited for a core."""
    ran = waited = 0.0
    with contextlib.suppress(OSError):  # not on every system
        ran, waited = task_times("/proc/thread-self/schedstat")
    return (ran + waited) / ran if ran else 1.0
