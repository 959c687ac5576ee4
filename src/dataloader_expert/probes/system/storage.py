"""How fast files are read: from the page cache and, where the system allows dropping it, from disk."""

from __future__ import annotations

import ctypes
import mmap
import os
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dataloader_expert.errors import Unreadable
from dataloader_expert.facts import Fact, Quantity, Unknown
from dataloader_expert.probes.base import Bench, Observation, Probe, evidence
from dataloader_expert.sources.opened import OpenFile

COLD = Quantity("cold_mb_s", "MB/s", "speed of reading files after the page cache dropped them")
WARM = Quantity("warm_mb_s", "MB/s", "speed of reading the same files again, from the page cache")
OPEN = Quantity("open_ms", "ms", "time to open one file")
BYTES = 64 << 20
FILES = 64


@dataclass(frozen=True)
class Storage(Probe):
    name: ClassVar[str] = "storage"
    doing: ClassVar[str] = "timing storage"
    most_s: float = 2.0

    def measure(self, bench: Bench) -> Iterable[Observation]:
        listing = getattr(bench.source, "listing", None)
        if listing is None:
            yield Unknown("storage", "the user's own code opens the files, so their paths are unknown")
            return
        names = list(dict.fromkeys(u.file for u in bench.source.units[:: max(1, len(bench.source.units) // FILES)]))[
            :FILES
        ]
        paths = [listing.base / name for name in names]
        deadline = time.monotonic() + min(self.most_s, max(0.2, 0.2 * bench.left()))
        cold = [r for p in paths if (r := _cold(p, listing.roots, deadline)) is not None]
        opens, warm = [], []
        for _ in range(3):
            got, spent = 0, 0.0
            for path in paths:
                begun = time.perf_counter()
                try:
                    with OpenFile(path, listing.roots) as file:
                        opens.append(time.perf_counter() - begun)
                        begun = time.perf_counter()
                        got += _read(file)
                        spent += time.perf_counter() - begun
                except Unreadable:
                    continue  # the scan names it
                if got > BYTES:
                    break
            if spent:
                warm.append(got / spent / 1e6)
        if warm:
            yield Fact(
                WARM,
                statistics.median(warm),
                evidence(
                    "timed",
                    "storage",
                    seen=len(warm),
                    spread=(min(warm), max(warm)),
                    interval=(min(warm), max(warm)) if len(warm) > 2 else None,
                ),
            )
        if opens:
            yield Fact(OPEN, 1e3 * statistics.median(opens), evidence("timed", "storage", seen=len(opens)))
        if cold:
            size, spent = sum(s for s, _ in cold), sum(t for _, t in cold)
            yield Fact(COLD, size / spent / 1e6, evidence("timed", "storage", seen=len(cold)))
        else:
            yield Unknown("storage.cold_mb_s", "the page cache kept the files (tmpfs, or another process reads them)")


def _read(file: OpenFile) -> int:
    got = 0
    while got < BYTES and (part := file.upto(got, 1 << 20)):
        got += len(part)
    return got


def _cold(path: Any, roots: tuple[str, ...], deadline: float) -> tuple[int, float] | None:
    """Bytes and seconds of one cold read; None if the cache kept the pages or time is up."""
    if time.monotonic() > deadline or not hasattr(os, "posix_fadvise"):
        return None
    try:
        with OpenFile(path, roots) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if _resident(file.fileno()) > 0.1:
                return None
            begun = time.perf_counter()
            got = _read(file)
            return got, time.perf_counter() - begun
    except (Unreadable, OSError):
        return None  # the scan names it


def _resident(fd: int) -> float:
    """The share of a file's pages that the page cache holds, by mincore."""
    size = os.fstat(fd).st_size
    if not size:
        return 1.0
    pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
        libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        at = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        if at is None or at == ctypes.c_void_p(-1).value:
            return 1.0
        held = ctypes.create_string_buffer(pages)
        failed = libc.mincore(at, size, held)
        libc.munmap(at, size)
    except (OSError, AttributeError):
        return 1.0
    return 1.0 if failed else sum(b & 1 for b in held.raw[:pages]) / pages


PROBES = (Storage,)
