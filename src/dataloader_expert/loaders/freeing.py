"""What a process does with memory that it frees."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES, MOST_MAPPED = 1 << 30, 32 << 20
"""Free bytes from which on they are given back, and the size from which on a block is mapped by itself: glibc takes no more."""


def keep_freed_memory(worker: int = 0) -> bool:
    """Makes this process keep the memory that it frees for its next arrays; whether its C library can be told.

    glibc gives the top of its heap back to the kernel once some hundred kilobytes of it lie free, a bound that grows with
    what was freed before. A sample whose arrays take megabytes may then get every page anew, zeroed. Called once in a
    process, or in each worker as ``worker_init_fn``; it may hold up to a gibibyte more than it uses. Source: mallopt(3).

    Args:
        worker: the worker's number, which has no effect.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)) and bool(mallopt(M_MMAP_THRESHOLD, MOST_MAPPED))
