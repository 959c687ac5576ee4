"""Memory of a group of processes, as the kernel counts it. Standard library only, as hosts use it too."""

from __future__ import annotations

import contextlib
import os
import struct


def shm_used() -> int:
    """Bytes used in /dev/shm by all processes."""
    try:
        s = os.statvfs("/dev/shm")
    except OSError:
        return 0
    return (s.f_blocks - s.f_bfree) * s.f_frsize


def rss_bytes(pid: int) -> int:
    """Anonymous and shared resident memory: cheap to read, but counts shared pages once per process."""
    total = 0
    try:
        with open(f"/proc/{pid}/status") as f:
            for line in f:
                if line.startswith(("RssAnon:", "RssShmem:")):
                    total += int(line.split()[1]) * 1024
    except OSError:
        return 0
    return total


def pss_bytes(group: list[int], shm: int) -> int:
    """Proportional anonymous memory plus the larger of mapped shared memory and the growth of /dev/shm."""
    anon = shared = 0
    for pid in group:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as f:
                for line in f:
                    if line.startswith("Pss_Anon:"):
                        anon += int(line.split()[1]) * 1024
                    elif line.startswith("Pss_Shmem:"):
                        shared += int(line.split()[1]) * 1024
        except OSError:
            continue
    return anon + max(shared, shm) if anon or shared else 0


def group_bytes(group: list[int], shm: int, worth: int) -> int:
    """Memory that a group holds; counted exactly, which takes milliseconds, only if it may exceed ``worth``."""
    cheap = sum(map(rss_bytes, group)) + shm
    return pss_bytes(group, shm) or cheap if cheap > worth else cheap


def own_pages() -> None:
    """Gives this process, a fork, copies of the private pages that it shares with the one it was forked from.

    A page that outsiders share counts for less than a page, and for more the more workers share it: without copies a
    forked process would seem to grow by memory that nobody has allocated. Call it with a single thread running.
    """
    import ctypes

    page = os.sysconf("SC_PAGE_SIZE")
    with open("/proc/self/maps") as f:
        areas = [line.split() for line in f]
    with open("/proc/self/pagemap", "rb", 0) as known:
        for where, rights, *_ in areas:
            if not rights.startswith("rw") or not rights.endswith("p"):
                continue
            start, end = (int(at, 16) for at in where.split("-"))
            for i, (word,) in enumerate(
                struct.iter_unpack("Q", os.pread(known.fileno(), (end - start) // page * 8, start // page * 8))
            ):
                if word >> 63:  # in memory: to touch any other would take a page for it
                    ctypes.memmove(start + i * page, start + i * page, 1)  # onto itself: the kernel copies its page


def total_pss(pid: int, files: bool = True) -> int:
    """Proportional set size of a process and all below it, pages that several share counted once.

    Shared memory is counted where it is open: a batch that waits in a queue is mapped by nobody. ``files`` False:
    without mapped files, which processes outside share: the page cache holds them once.
    """
    group = [pid, *_below(pid)]
    total = shared = 0
    for one in group:
        try:
            with open(f"/proc/{one}/smaps_rollup") as f:
                for line in f:
                    if line.startswith("Pss:"):
                        total += int(line.split()[1]) * 1024
                    elif line.startswith("Pss_Shmem:"):
                        shared += int(line.split()[1]) * 1024
                    elif line.startswith("Pss_File:") and not files:
                        total -= int(line.split()[1]) * 1024
        except OSError:  # it has just ended
            continue
    return total - shared + max(shared, shm_open(group))


def shm_open(group: list[int]) -> int:
    """Bytes of the files in /dev/shm that these processes have open, with or without a name, each once."""
    found: dict[int, int] = {}
    try:
        device = os.stat("/dev/shm").st_dev
    except OSError:
        return 0
    for pid in group:
        with contextlib.suppress(OSError):  # it has just ended
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):  # just closed
                    seen = os.stat(f"/proc/{pid}/fd/{fd}")
                    if seen.st_dev == device:
                        found[seen.st_ino] = seen.st_blocks * 512
    return sum(found.values())


def _below(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as f:
                found += [int(child) for child in f.read().split()]
    except OSError:
        return found
    return found + [inner for child in list(found) for inner in _below(child)]
