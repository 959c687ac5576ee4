"""What a process does with memory that it frees."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES, MOST_MAPPED = 1 << 30, 32 << 20
"""Free bytes above which they are returned, and block size above which a block is mapped alone: the maximum of glibc."""


def keep_freed_memory(worker: int = 0) -> bool:
    """Makes this process reuse the memory that it frees; returns whether its C library supports that.

    glibc returns the top of its heap to the kernel when some hundred kilobytes of it are free, so that samples of
    megabytes may get new, zeroed pages each time. Call it once in a process, or pass it as ``worker_init_fn``, which gives it
    the worker's id. The process may hold up to 1 GiB more than it uses. Source: mallopt(3).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)) and bool(mallopt(M_MMAP_THRESHOLD, MOST_MAPPED))
