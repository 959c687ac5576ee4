"""Memory of a group of processes, as the kernel counts it. Standard library only, as hosts use it too."""

from __future__ import annotations

import os


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


def total_pss(pid: int, shm: int = 0) -> int:
    """Proportional set size of a process and all below it, pages that several share counted once.

    ``shm``: growth of /dev/shm, counted where it is more than what is mapped: a batch that waits in a queue is mapped by
    nobody.
    """
    total = shared = 0
    for one in (pid, *_below(pid)):
        try:
            with open(f"/proc/{one}/smaps_rollup") as f:
                for line in f:
                    if line.startswith("Pss:"):
                        total += int(line.split()[1]) * 1024
                    elif line.startswith("Pss_Shmem:"):
                        shared += int(line.split()[1]) * 1024
        except OSError:  # it has just ended
            continue
    return total - shared + max(shared, shm)


def _below(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as f:
                found += [int(child) for child in f.read().split()]
    except OSError:
        return found
    return found + [inner for child in list(found) for inner in _below(child)]
