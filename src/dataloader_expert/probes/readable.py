"""Waiting for a descriptor, whatever its number: ``select`` refuses those beyond 1023, which a dataset that leaves files open reaches."""

from __future__ import annotations

import select
from typing import Any


def readable(file: Any, seconds: float) -> bool:
    """Whether a descriptor, or an object that has one, can be read, or has ended, within so many seconds."""
    poll = select.poll()
    poll.register(file, select.POLLIN)
    return bool(poll.poll(1e3 * max(0.0, seconds)))
