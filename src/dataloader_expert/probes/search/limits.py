"""The shared memory, memory and descriptors available to a loader, and how much of them a setting would take."""

from __future__ import annotations

import os

from dataloader_expert.plan import LoaderPlan, in_flight
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.descriptors import open_now
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.search.thresholds import MEMORY_SHARE

WORKER_FILES, TENSOR_FILES = 8, 1
"""Descriptors that the main process needs for a worker's queues and pipes, and for a tensor in shared memory."""


def batch_bytes(bench: Bench, batch_size: int) -> int:
    """Bytes of a batch, each tensor in whole pages; 0 if no batch was measured."""
    batch = bench.facts.value(BATCH)
    if batch is None:
        return 0
    page = 4096
    return sum(-(-int(f["bytes_per_sample"] * batch_size) // page) * page for f in batch["fields"])


def bound(bench: Bench, plan: LoaderPlan) -> str | None:
    """Why a setting must not be tried here, as it would exhaust the machine; None if it can be."""
    if not plan.workers:
        return None
    batches = in_flight(plan.workers, plan.prefetch)
    bytes_ = batch_bytes(bench, plan.batch_size) * batches
    free = shared_free()
    if free is not None and bytes_ > MEMORY_SHARE * free:
        return f"its batches would take {bytes_ / 1e6:.0f} MB of the {free / 1e6:.0f} MB left in /dev/shm"
    if bytes_ > MEMORY_SHARE * bench.memory_bytes:
        return f"its batches would take {bytes_ / 1e9:.1f} GB of the {bench.memory_bytes / 1e9:.1f} GB allowed"
    batch = bench.facts.value(BATCH)
    tensors = len(batch["fields"]) if batch is not None else 1
    files = WORKER_FILES * plan.workers + TENSOR_FILES * tensors * batches
    most = files_left()
    if files > MEMORY_SHARE * most:
        return f"it would need {files} more descriptors, and this process has {most} left (ulimit -n)"
    return None


def shared_free() -> int | None:
    """Bytes left in /dev/shm now; other processes may take some before the trial."""
    try:
        s = os.statvfs("/dev/shm")
    except OSError:
        return None
    return s.f_bavail * s.f_frsize


def files_left() -> int:
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return int(most) - (open_now() or 0)
