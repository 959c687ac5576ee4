"""The C library's allocator: how much it holds free, and its mmap threshold, the size from which an array is mmapped
and returned to the kernel when freed. Only glibc is supported (mallinfo2(3) of 2.33 and later; mallopt(3))."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any, ClassVar

LEAST_MAPPED, MOST_MAPPED = 128 << 10, 32 << 20
"""glibc adjusts its mmap threshold by itself between these: up to the size of each mapped array that is freed."""
PAGE = os.sysconf("SC_PAGE_SIZE")
MANY = 4096
"""Arrays that use up free memory, so that the next one shows where it is allocated."""


class _Mallinfo2(ctypes.Structure):
    """``arena``: bytes of the heap; ``hblks``: mmapped arrays; ``fordblks``: free bytes of the heap."""

    _fields_: ClassVar = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@functools.cache
def _libc() -> Any:
    """The C library; None if it has no statistics like glibc's."""
    try:
        libc = ctypes.CDLL(None)
        libc.mallinfo2.restype = _Mallinfo2
        libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    except (AttributeError, OSError):
        return None
    return libc


def counts() -> bool:
    """Whether the allocator reports what it holds."""
    return _libc() is not None


def free_bytes() -> int:
    """Unused bytes that this process's allocator holds; 0 if it does not report them."""
    libc = _libc()
    return 0 if libc is None else int(libc.mallinfo2().fordblks)


def give_back() -> None:
    """Returns free memory to the kernel. Otherwise a forked worker would take it page by page, which looks like the
    effect of reference counting on shared pages. Arrow keeps a pool of its own."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    libc = _libc()
    if libc is not None:
        libc.malloc_trim(0)


def mapped_from() -> int:
    """This process's mmap threshold in bytes, to within a page. It allocates arrays that it never frees, as freeing
    would move the threshold: call it only in a process that is about to end."""
    low, high = LEAST_MAPPED, MOST_MAPPED
    while high - low > PAGE:
        middle = (low + high) // 2
        low, high = (low, middle) if _maps(middle) else (middle, high)
    return high


def _maps(size: int) -> bool:
    libc = _libc()
    for _ in range(MANY):
        before = libc.mallinfo2()
        libc.malloc(size)
        after = libc.mallinfo2()
        if after.hblks > before.hblks or after.arena > before.arena:
            return bool(after.hblks > before.hblks)
    return False


def map_from(size: int) -> None:
    """Fixes this process's mmap threshold at ``size`` bytes and its trim threshold at twice that."""
    from dataloader_expert.loaders.freeing import M_MMAP_THRESHOLD, M_TRIM_THRESHOLD

    libc = _libc()
    if libc is not None:
        libc.mallopt(M_MMAP_THRESHOLD, size)
        libc.mallopt(M_TRIM_THRESHOLD, 2 * size)
