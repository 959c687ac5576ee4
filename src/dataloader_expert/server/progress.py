"""Progress at a terminal."""

from __future__ import annotations

import sys
import time
from typing import Any


class Bar:
    """A line on standard error: how much of the budget is spent, and what is being measured. Cleared at the end."""

    WIDTH = 24

    def __init__(self, budget_s: float | None) -> None:
        self.budget_s, self.begun = budget_s, time.monotonic()

    def say(self, event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            self.draw(event["message"])
        elif event["event"] == "done":
            self.clear()

    def draw(self, message: str) -> None:
        spent = time.monotonic() - self.begun
        if self.budget_s is None:
            head = f"{spent:4.0f} s"
        else:
            full = min(self.WIDTH, round(self.WIDTH * spent / self.budget_s))
            head = f"[{'#' * full}{'.' * (self.WIDTH - full)}] {spent:.0f} of {self.budget_s:.0f} s"
        print(f"\r\x1b[2K{head}  {message[:60]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
