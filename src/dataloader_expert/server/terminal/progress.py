"""Progress at a terminal: what is being measured, how fast, and how long it may still take."""

from __future__ import annotations

import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from dataloader_expert.server.terminal.colours import Colours

COUNTED = re.compile(r"^(?P<verb>\w+) (?P<n>[\d,]+)(?: of (?P<total>[\d,]+))? (?P<what>\w+)")
"""Messages with counts, such as ``read 120 of 1797 units``."""
WIDTH = 20
STARTING = "starting the measuring process"
EVERY_S = 0.2
SETTLED_S = 1.0
"""Seconds before which a rate means nothing."""


class Bar:
    """One line on standard error, redrawn as time passes and cleared at the end.

    The bar shows the share that is done if that is known, else the share of the budget that is spent.
    """

    def __init__(
        self,
        budget_s: float | None,
        stream: IO[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        ticking: bool = True,
    ) -> None:
        self.budget_s, self.stream, self.clock = budget_s, stream or sys.stderr, clock
        self.colours = Colours.of(self.stream)
        self.begun = clock()
        self.message, self.share = STARTING, None
        self.counted: tuple[str, float, int] | None = None
        """What is being counted, since when, and from which number."""
        self.done, self.total, self.drawn = 0, None, -1.0
        self.ended = threading.Event()
        self.lock = threading.Lock()
        if ticking:
            threading.Thread(target=self._tick, daemon=True).start()

    message: str
    share: float | None
    total: int | None

    def say(self, event: dict[str, Any]) -> None:
        """Handles an event of the measuring process."""
        if event["event"] == "progress":
            self.draw(event["message"], event.get("share"))
        elif event["event"] == "done":
            self.clear()

    def draw(self, message: str, share: float | None = None) -> None:
        """Handles a message, and draws the line unless it has just been drawn."""
        with self.lock:
            if self.ended.is_set():
                return
            self.message, self.share = message, share
            self._count(message)
            if self.clock() - self.drawn >= EVERY_S:
                self._write()

    def clear(self) -> None:
        """Clears the line; nothing is drawn after that."""
        with self.lock:
            self.ended.set()
            print("\r\x1b[2K", end="", file=self.stream, flush=True)

    def line(self) -> str:
        """The current line."""
        spent = self.clock() - self.begun
        share = self.share if self.share is not None else None if self.budget_s is None else spent / self.budget_s
        bar = ""
        if share is not None:
            full = min(WIDTH, round(WIDTH * share))
            bar = self.colours.paint("━" * full, "cyan") + self.colours.paint("━" * (WIDTH - full), "dim") + " "
        time_ = f"{spent:.0f} s" if self.budget_s is None else f"{spent:.0f} of {self.budget_s:.0f} s"
        told = "".join(f", {one}" for one in self._rate())
        room = shutil.get_terminal_size((80, 24)).columns - 1 - (WIDTH + 1 if bar else 0) - len(time_) - 2 - len(told)
        message = self.message if len(self.message) <= room else self.message[: max(0, room - 1)] + "…"
        return f"{bar}{time_}  {message}{told}"

    def _rate(self) -> list[str]:
        if self.counted is None:
            return []
        what, since, first = self.counted
        seconds = self.clock() - since
        if seconds < SETTLED_S or self.done <= first:
            return []
        rate = (self.done - first) / seconds
        told = [f"{rate:,.0f} {what}/s" if rate >= 10 else f"{rate:.1f} {what}/s"]
        if self.total is not None:
            left = max(0.0, (self.total - self.done) / rate)
            if self.budget_s is not None:
                left = min(left, max(0.0, self.budget_s - (self.clock() - self.begun)))
            told.append(f"{_duration(left)} left")
        return told

    def _count(self, message: str) -> None:
        found = COUNTED.match(message)
        if found is None:
            self.counted = None
            return
        n, what = int(found["n"].replace(",", "")), found["what"]
        self.done = n
        self.total = int(found["total"].replace(",", "")) if found["total"] else None
        if self.counted is None or self.counted[0] != what or n < self.counted[2]:
            self.counted = (what, self.clock(), n)

    def _write(self) -> None:
        self.drawn = self.clock()
        print(f"\r\x1b[2K{self.line()}", end="", file=self.stream, flush=True)

    def _tick(self) -> None:
        while not self.ended.wait(0.5):
            with self.lock:
                if not self.ended.is_set() and self.drawn >= 0:
                    self._write()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
