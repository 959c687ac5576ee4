"""Free memory in the hands of the C library's allocator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dataloader_expert.probes.profile.instrumentation import anonymous_bytes
from dataloader_expert.probes.system.malloc import PAGE, counts, free_bytes, give_back

MB = 1 << 20


def test_what_is_freed_is_counted_and_given_back() -> None:
    arrays = [np.ones(8_000) for _ in range(600)]  # 64 KB each: less than what is mapped apart
    before = free_bytes()
    top = arrays.pop()
    arrays.clear()
    freed = free_bytes()
    held = anonymous_bytes(Path("/proc/self/statm").read_bytes())
    give_back()
    if counts():
        assert 30 * MB < freed - before < 50 * MB
        assert held - anonymous_bytes(Path(f"/proc/{os.getpid()}/statm").read_bytes()) > 20 * MB
    else:
        assert before == freed == 0
    assert top.sum() == 8_000


def bound_after(what: str) -> int:
    code = f"import numpy as np\nfrom dataloader_expert.probes.system.malloc import map_from, mapped_from\n{what}\nprint(mapped_from())"
    return int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


@pytest.mark.journey
def test_the_bound_from_which_arrays_are_mapped_is_found() -> None:
    """mallopt(3): it grows with each mapped array that is freed, and stays where it is set."""
    if counts():
        assert 5_000_000 <= bound_after("np.ones(625_000)") < 5_100_000
        assert bound_after("map_from(1 << 20)\nnp.ones(625_000)") - (1 << 20) in range(-PAGE, PAGE + 1)


ARROW = """
from pathlib import Path
import numpy as np
import pyarrow as pa
from dataloader_expert.probes.system.malloc import give_back
from dataloader_expert.probes.profile.instrumentation import anonymous_bytes

def held():
    return anonymous_bytes(Path("/proc/self/statm").read_bytes())

buffers = [pa.allocate_buffer(64 << 10, resizable=True) for _ in range(640)]
for i in range(640):
    np.frombuffer(buffers[i], np.uint8)[:] = 1
before = held()
buffers.clear()
give_back()
print(before - held())
"""


def test_what_arrow_keeps_is_given_back_too() -> None:
    """Its pool is apart from the C library's allocator: 40 MB in small buffers."""
    told = subprocess.run([sys.executable, "-c", ARROW], capture_output=True, text=True, check=True)
    assert int(told.stdout) > 20 * MB
