"""Checks that conclude from what they saw: one that takes too long costs itself alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.facts import Evidence, Fact, Quantity
from dataloader_expert.probes.data.scan import LATE, stated
from dataloader_expert.sources.base import Block

MADE = Quantity("made", "", "a number")


class Waits(Check):
    """Its facts come once it is let go on."""

    def __init__(self, let: threading.Event) -> None:
        super().__init__(Context((), None, 0, "table", (), None, 0))
        self.let = let

    def see(self, block: Block) -> None: ...

    def merge(self, other: Check) -> None: ...

    def facts(self) -> Iterable[Fact]:
        self.let.wait()
        yield Fact(MADE, 1, Evidence("counted", "test"))


def test_a_check_that_takes_too_long_does_not_cost_what_the_others_measured() -> None:
    """Seen: every image had been read, one check compared look-alikes until the request's end, and nothing at all was told."""
    open_gate, closed = threading.Event(), threading.Event()
    open_gate.set()
    checks: list[Any] = [Waits(closed), Waits(open_gate), Waits(closed), Waits(open_gate)]
    done = [check for check, facts in stated(checks, 2, time.monotonic() + 0.2) if len(list(facts))]
    closed.set()
    assert done == [checks[1]]
    assert [check.error for check in checks] == [LATE, None, LATE, LATE]  # the last had no thread


def test_without_a_limit_every_check_concludes() -> None:
    """Our promise: only a budget gives a check up."""
    gate = threading.Event()
    gate.set()
    checks: list[Any] = [Waits(gate) for _ in range(5)]
    assert [check for check, _ in stated(checks, 2, None)] == checks
