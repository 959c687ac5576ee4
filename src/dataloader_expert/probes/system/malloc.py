"""The C library's allocator: what it holds free, and from which size on it maps an array apart, which then goes back to
the kernel when it is freed. glibc alone is asked and told (mallinfo2(3), of 2.33 and later; mallopt(3))."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from typing import Any, ClassVar

LEAST_MAPPED, MOST_MAPPED = 128 << 10, 32 << 20
"""Between these glibc moves the bound by itself: up to each mapped array that is freed."""
PAGE = os.sysconf("SC_PAGE_SIZE")
MANY = 4096
"""Arrays by which what lies free is used up, so that the next tells where it comes from."""


class _Mallinfo2(ctypes.Structure):
    """``arena``: bytes of the heap; ``hblks``: arrays mapped apart; ``fordblks``: bytes of the heap that are free."""

    _fields_: ClassVar = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@functools.cache
def _libc() -> Any:
    """The C library; None where it does not count as glibc does."""
    try:
        libc = ctypes.CDLL(None)
        libc.mallinfo2.restype = _Mallinfo2
        libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    except (AttributeError, OSError):
        return None
    return libc


def counts() -> bool:
    """Whether the allocator says what it holds."""
    return _libc() is not None


def free_bytes() -> int:
    """Bytes that this process's allocator holds and nothing uses; 0 where it does not say."""
    libc = _libc()
    return 0 if libc is None else int(libc.mallinfo2().fordblks)


def give_back() -> None:
    """Free memory goes back to the kernel: a worker that is forked then cannot take it page by page, which would look as
    what counting references does to pages that are shared. Arrow keeps a pool of its own."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    libc = _libc()
    if libc is not None:
        libc.malloc_trim(0)


def mapped_from() -> int:
    """Bytes from which on arrays are mapped apart in this process, to a page. Takes addresses that it never gives back,
    for a freed one would move the bound: to be asked in a process that is about to end."""
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
    """This process maps arrays apart from ``size`` bytes on, and keeps twice that free, whatever it frees from now on."""
    from dataloader_expert.loaders.freeing import M_MMAP_THRESHOLD, M_TRIM_THRESHOLD

    libc = _libc()
    if libc is not None:
        libc.mallopt(M_MMAP_THRESHOLD, size)
        libc.mallopt(M_TRIM_THRESHOLD, 2 * size)
