"""Tracing of the user's own functions in this thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from dataloader_expert.sources.users import is_users


@contextmanager
def users_traced(within: Callable[[FrameType, str, Any], Any]) -> Iterator[None]:
    """Calls ``within`` at the events of frames of the user's code, lines apart; a tracer that was there comes back at the end."""
    users: dict[str, bool] = {}

    def entered(frame: FrameType, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        if name not in users:
            users[name] = is_users(name)
        if not users[name]:
            return None
        frame.f_trace_lines = False
        return within

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield
    finally:
        sys.settrace(before)
