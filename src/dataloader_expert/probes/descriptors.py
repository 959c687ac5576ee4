"""Descriptors that a dataset uses up, seen from what this process holds once none is left."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from dataloader_expert.facts import Evidence, Fact, Quantity

USED_UP = Quantity(
    "descriptors_used_up",
    "",
    "files open in this process when it ran out of descriptors, and the one opened most often",
)
OPEN_FILES = Quantity("open_files_per_1000", "descriptors", "growth of open descriptors per 1000 samples read")
MOST_ASKED = 1 << 16
LEAST_SHARE = 0.5
"""Of the descriptor limit: if files hold less, something else took the rest, such as batches in shared memory."""


def used_up(error: BaseException) -> bool:
    """Whether an error means that no descriptor was left; if it comes from a worker, only its text is available."""
    return getattr(error, "errno", None) == errno.EMFILE or f"[Errno {errno.EMFILE}]" in str(error)


def files_held(most: int) -> Counter[str]:
    """How often each file is open in this process, among its first ``most`` descriptors.

    They are looked up by number: listing them would need a descriptor, and there may be none.
    """
    found: Counter[str] = Counter()
    for number in range(most):
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{number}")
            if path.startswith("/") and not path.startswith(("/dev/shm/", "/memfd:")):
                found[path] += 1
    return found


def open_now() -> int | None:
    """Descriptors of this process, that of the listing included; None where they cannot be listed, for which one must be left."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return None


@dataclass(frozen=True)
class Growth:
    """Descriptors that were open in this process after reading ``samples`` and not before."""

    files: int
    samples: int


def left_open(growth: Growth | None) -> Iterator[Fact]:
    """The files that the user's code leaves open in this process, if they take most of its descriptors.

    ``growth``: while the process still had some, as nothing can be measured afterwards.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    asked = min(limit, MOST_ASKED)
    files = files_held(asked)
    if files and files.total() >= LEAST_SHARE * asked:
        path, times = files.most_common(1)[0]
        value = {"files": files.total(), "path": path, "times": times}
        yield Fact(USED_UP, value, Evidence("counted", "probe descriptors", seen=asked), {"limit": limit})
        if growth is not None and growth.samples:
            counted = Evidence("counted", "probe descriptors", seen=growth.samples)
            yield Fact(OPEN_FILES, round(growth.files / growth.samples * 1000, 3), counted, {"limit": limit})
