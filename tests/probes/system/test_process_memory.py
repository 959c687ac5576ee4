"""Memory of a group of processes: what a fork shares with others, and shared memory that nobody maps."""

from __future__ import annotations

import os
from multiprocessing import shared_memory

import pytest

from dataloader_expert.probes.system.branches import Branches
from dataloader_expert.probes.system.process_memory import own_pages, shm_open, total_pss

HELD = 32 << 20


@pytest.mark.journey
def test_a_fork_that_owns_its_pages_counts_them_whole() -> None:
    """Our promise: pages shared with the process it was forked from count for a part only until they are copied."""
    held = bytearray(os.urandom(1 << 20) * (HELD >> 20))

    def weighed(_: dict[str, object]) -> dict[str, object]:
        before = total_pss(os.getpid(), files=False)
        own_pages()
        return {"grown": total_pss(os.getpid(), files=False) - before, "same": len(held) == HELD}

    branches = Branches(weighed)
    try:
        said = branches.ask({}, 60)
    finally:
        branches.close()
    assert said["same"]
    assert said["grown"] > HELD // 2


def test_shared_memory_counts_while_it_is_open_without_a_name() -> None:
    """Our promise: a batch in a queue is mapped by nobody; its file has no name, and counts once."""
    others = shm_open([os.getpid()])
    made = shared_memory.SharedMemory(create=True, size=1 << 20)
    before = shm_open([os.getpid()])
    assert made.buf is not None
    made.buf[:] = b"x" * len(made.buf)
    made.unlink()
    assert shm_open([os.getpid(), os.getpid()]) - before == 1 << 20
    made.close()
    assert shm_open([os.getpid()]) == others
