"""What a child leaves word of in shared memory: the sample at hand, and below it its stacks."""

from __future__ import annotations

import mmap
import os

NOTES_AT = 4096
"""Where stacks begin in the request's notes file; before it stands the sample at hand."""


class Notes:
    """The sample at hand, in a shared page that outlives this process: a crash is then known by its sample."""

    def __init__(self, fd: int) -> None:
        os.ftruncate(fd, NOTES_AT)
        self._page = mmap.mmap(fd, 64)
        self.at(-1)

    def at(self, sample: int) -> None:
        self._page[:8] = sample.to_bytes(8, "little", signed=True)


def sample_at(fd: int) -> int | None:
    """What ``Notes.at`` said last."""
    page = os.pread(fd, 8, 0)
    value = int.from_bytes(page, "little", signed=True)
    return None if value < 0 or len(page) < 8 else value
