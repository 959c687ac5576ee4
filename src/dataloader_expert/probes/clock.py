"""Clocks: wall and this thread's CPU, and the time for which this thread waited for a core."""

from __future__ import annotations

import os
import time


class QueueClock:
    """Seconds that this thread has waited for a core: Linux's schedstat; elsewhere always 0."""

    def __init__(self) -> None:
        try:
            self._fd: int | None = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        except OSError:
            self._fd = None

    def read(self) -> float:
        if self._fd is None:
            return 0.0
        parts = os.pread(self._fd, 64, 0).split()
        return int(parts[1]) / 1e9 if len(parts) > 1 else 0.0

    def __del__(self) -> None:
        if self._fd is not None:
            os.close(self._fd)


def now() -> tuple[float, float]:
    return time.perf_counter(), time.thread_time()


def since(begun: tuple[float, float]) -> tuple[float, float]:
    return time.perf_counter() - begun[0], time.thread_time() - begun[1]
