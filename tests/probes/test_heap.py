"""Free memory in the hands of the C library's allocator."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import numpy as np

from dataloader_expert.probes.heap import free_bytes, give_back
from dataloader_expert.probes.watching import anonymous_bytes

MB = 1 << 20


def test_what_is_freed_is_counted_and_given_back() -> None:
    counted = hasattr(ctypes.CDLL(None), "mallinfo2")
    arrays = [np.ones(8_000) for _ in range(600)]  # 64 KB each: less than what is mapped apart
    before = free_bytes()
    top = arrays.pop()
    arrays.clear()
    freed = free_bytes()
    held = anonymous_bytes(Path("/proc/self/statm").read_bytes())
    give_back()
    if counted:
        assert 30 * MB < freed - before < 50 * MB
        assert held - anonymous_bytes(Path(f"/proc/{os.getpid()}/statm").read_bytes()) > 20 * MB
    else:
        assert before == freed == 0
    assert top.sum() == 8_000
