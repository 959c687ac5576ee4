"""What a child leaves word of in shared memory: the sample at hand, and below it its stacks."""

from __future__ import annotations

import mmap
import os
import signal
import time

NOTES_AT = 4096
"""Where stacks begin in the request's notes file; before it stands the sample at hand."""


STACK_S = 0.05
"""Seconds in which a process writes its stack."""


class Notes:
    """The sample at hand, in a shared page that outlives this process: a crash is then known by its sample."""

    def __init__(self, fd: int) -> None:
        os.ftruncate(fd, NOTES_AT)
        self._fd = fd
        self._page = mmap.mmap(fd, 64)
        self.at(-1)

    def stacks(self, pids: list[int]) -> str:
        """The stacks of processes that inherited this file and write them there at SIGUSR1."""
        text = ""
        for pid in pids:
            before = os.fstat(self._fd).st_size
            try:
                os.kill(pid, signal.SIGUSR1)
            except OSError:
                continue
            time.sleep(STACK_S)
            text += os.pread(self._fd, 1 << 16, max(before, NOTES_AT)).decode("utf-8", "replace")
        return text

    def at(self, sample: int) -> None:
        self._page[:8] = sample.to_bytes(8, "little", signed=True)


def sample_at(fd: int) -> int | None:
    """What ``Notes.at`` said last."""
    page = os.pread(fd, 8, 0)
    value = int.from_bytes(page, "little", signed=True)
    return None if value < 0 or len(page) < 8 else value
