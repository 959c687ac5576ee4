"""What torch's iterator has requested, received and holds back, read from its own bookkeeping."""

from __future__ import annotations

import signal
import time
from typing import Any

LEAVE_S = 3.0
"""Seconds that dismissed workers have to finish their current sample."""


def in_stock(iterator: Any) -> int:
    """Batches loaded but not yet delivered: in the queue, or held back to keep the order."""
    tasks, queue = getattr(iterator, "_task_info", {}), getattr(iterator, "_data_queue", None)
    return sum(len(delivered) > 0 for _, *delivered in tasks.values()) + (queue.qsize() if queue is not None else 0)


def held_back(iterator: Any) -> int:
    """How many workers have finished all their batches, which torch holds back to keep the order."""
    ready: dict[int, bool] = {}
    for worker, *delivered in getattr(iterator, "_task_info", {}).values():
        ready[worker] = ready.get(worker, True) and bool(delivered)
    return sum(ready.values())


def worker_pids(iterator: Any) -> list[int]:
    return [w.pid for w in getattr(iterator, "_workers", ()) if w.pid is not None]


def killed_by(iterator: Any) -> str:
    """The name of the signal that ended a worker; empty if none did."""
    codes = [code for w in getattr(iterator, "_workers", ()) if (code := w.exitcode) is not None]
    return next((signal.Signals(-code).name for code in codes if code < 0), "")


def unwatched(iterator: Any) -> None:
    """Tells torch that the workers may end, which it would take for a failure, and those that wait for work that none will
    come."""
    from torch.utils.data._utils import signal_handling as handling

    if not getattr(iterator, "_worker_pids_set", False):
        return
    getattr(handling, "_remove_worker_pids")(id(iterator))  # noqa: B009  # torch's stubs do not have it
    iterator._worker_pids_set = False
    iterator._workers_done_event.set()
    for queue in iterator._index_queues:
        queue.put(None)
    if hasattr(iterator, "_pin_memory_thread"):  # torch would wait for it, and it for a message that never ends
        iterator._pin_memory_thread_done_event.set()
        del iterator._pin_memory_thread


def gone(iterator: Any, until: float) -> None:
    """Waits for the workers to end by themselves, and kills those that have not ended by ``until`` (monotonic)."""
    workers = getattr(iterator, "_workers", ())
    for worker in workers:
        worker.join(max(0.0, until - time.monotonic()))
        if worker.is_alive():
            worker.kill()


def ended_at_once(iterator: Any) -> None:
    """Ends workers of which nothing is awaited any more: for those that hang torch would wait five seconds each."""
    unwatched(iterator)
    gone(iterator, time.monotonic())
