"""Stops workers before they exceed the allowed memory: the trial fails, but the request goes on and keeps its
results."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

from dataloader_expert.probes.search.thresholds import MEMORY_SHARE
from dataloader_expert.probes.system.process_memory import group_bytes, rss_bytes, shm_used

POLL_S, LEAST_S = 0.05, 0.004
NEAR = 0.5
"""From this share of the allowed memory on, usage is counted exactly."""
STILL_S = 1.0
"""Seconds for stopped workers to end, and for torch to notice, before others are stopped."""


class Guard:
    """``workers`` returns the active and the paused workers; ``tripped`` says what memory they took, once some were
    stopped; ``alone``: whether no paused workers took part in it."""

    def __init__(self, limit: int, workers: Callable[[], tuple[list[int], list[int]]]) -> None:
        self.limit, self.workers = limit, workers
        self.tripped, self.alone = "", True
        self._shm = shm_used()
        self._over = threading.Event()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watches the workers' memory from a thread, as the main thread waits for their batches."""
        thread = threading.Thread(target=self._watch, name="memory guard", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._over.wait(POLL_S):
            pids, others = self.workers()
            if pids:
                used = group_bytes(
                    [os.getpid(), *pids, *others], max(0, shm_used() - self._shm), int(NEAR * self.limit)
                )
                if used > MEMORY_SHARE * self.limit:
                    self._end(pids, len(others), used)

    def _end(self, pids: list[int], others: int, used: int) -> None:
        held = {pid: rss_bytes(pid) for pid in pids}
        beside = f" and {others} paused ones" if others else ""
        self.alone = not others
        self.tripped = f"{len(pids)} workers{beside} took {used / 1e9:.2f} GB of the {self.limit / 1e9:.2f} GB allowed"
        for pid in sorted(held, key=lambda p: -held[p]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(STILL_S)  # only in this thread; meanwhile the main thread notices that they have ended
