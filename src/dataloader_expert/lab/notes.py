"""What a child records in shared memory: the current sample, and after it stack dumps."""

from __future__ import annotations

import mmap
import os
import signal
import time

NOTES_AT = 4096
"""Where stack dumps begin in the notes file; the current sample stands before them."""


HUNG_S = 180.0
"""Seconds that the user's code may spend on one sample, without a time limit, before it is taken to hang."""
STACK_S = 0.05
"""Time that a process gets to write its stack."""


class Notes:
    """The current sample, in a shared page that outlives this process, so that a crash is known by its sample."""

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
    """The last sample that ``Notes.at`` recorded; None if there is none."""
    page = os.pread(fd, 8, 0)
    value = int.from_bytes(page, "little", signed=True)
    return None if value < 0 or len(page) < 8 else value
