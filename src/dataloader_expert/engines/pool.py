"""Folds work over units in forked processes; a process that dies on a unit is restarted without it."""

from __future__ import annotations

import multiprocessing as mp
import multiprocessing.connection as mpc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Work = Callable[[list[int], Callable[[int], None], float | None], Any]
"""``work(units, at, deadline)`` goes through units in order, announces each through ``at``, and returns its partial result."""


@dataclass
class Folded:
    """Partial results in process order, and the units on which a process died (with its exit code)."""

    partials: list[Any] = field(default_factory=list)
    crashed: dict[int, int] = field(default_factory=dict)


def fold(
    work: Work,
    units: list[int],
    processes: int,
    deadline: float | None,
    at: Callable[[int], None],
    tick: Callable[[int], None] | None = None,
    adjacent: int = 1,
    begin: Callable[[int], None] | None = None,
) -> Folded:
    """Deals units to processes round-robin, so that the result depends only on the number of processes, not on their speed.

    Args:
        deadline: monotonic time at which the work stops taking units.
        at: called with the current unit.
        tick: told how many units are done, a few times a second.
        begin: called first in each process that is started, with the number of times that one died so far: it is then to
            look at each unit by itself.
        adjacent: units that follow one another and are dealt to one process.
    """
    result = Folded()
    if processes < 2:
        result.partials.append(work(units, at, deadline))
        return result
    context = mp.get_context("fork")
    hands = [[u for k, u in enumerate(units) if k // adjacent % processes == i] for i in range(processes)]
    last = context.Array("q", [-1] * processes, lock=False)
    counts = context.Array("q", [0] * processes, lock=False)
    partials: dict[int, Any] = {}
    again: set[int] = set()
    """Processes that were started once more with all their units: of several looked at together, which one it was is not
    known."""

    def run(i: int, hand: list[int], channel: Any) -> None:
        def here(unit: int) -> None:
            last[i] = unit
            counts[i] += 1
            at(unit)

        if begin is not None:
            begin(len(result.crashed) + len(again))
        channel.send(work(hand, here, deadline))
        channel.close()

    def start(i: int, hand: list[int]) -> tuple[Any, Any]:
        r, w = context.Pipe(duplex=False)
        process = context.Process(target=run, args=(i, hand, w), daemon=True)
        process.start()
        w.close()
        return process, r

    alive = {i: (*start(i, hand), hand) for i, hand in enumerate(hands)}
    while alive:
        mpc.wait([r for _, r, _ in alive.values()], 0.2)
        if tick is not None:
            tick(sum(counts))
        for i, (process, r, hand) in list(alive.items()):
            if not r.poll():
                continue
            try:
                partials[i] = r.recv()
            except EOFError:
                process.join()
                late = deadline is not None and time.monotonic() >= deadline
                if adjacent > 1 and i not in again and not late:
                    again.add(i)
                    counts[i] = 0
                    alive[i] = (*start(i, hand), hand)
                    continue
                unit = int(last[i])
                result.crashed[unit] = process.exitcode or 0
                rest = [u for u in hand if u != unit]
                if len(result.crashed) < 8 and rest and (deadline is None or time.monotonic() < deadline):
                    counts[i] = 0
                    alive[i] = (*start(i, rest), rest)
                    continue
            else:
                process.join()
            del alive[i]
    result.partials = [partials[i] for i in sorted(partials)]
    return result
