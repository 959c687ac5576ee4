"""Time that a hypervisor took is told apart from time blocked."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.probes.clocks import StolenClock, apart, stolen_ticks
from dataloader_expert.probes.profile.sampling_profiler import Tick
from dataloader_expert.probes.profile.stages import stolen_apart, stolen_rate

STAT = """cpu  300 10 50 1000 20 3 7 90 0 0
cpu0 200 10 30 500 10 1 4 60 0 0
cpu1 100 0 20 500 10 2 3 30 0 0
intr 12345 0 0
ctxt 99
"""
SECONDS = st.floats(0, 10)
SPENT = st.lists(
    st.tuples(SECONDS, SECONDS, SECONDS).map(lambda parts: (sum(parts), parts[0], parts[1])), min_size=1, max_size=20
)


def test_ticks_are_those_of_the_cpus_allowed() -> None:
    """proc(5): user, nice, system, idle, iowait, irq, softirq, steal."""
    assert stolen_ticks(STAT, {0, 1}) == 90
    assert stolen_ticks(STAT, {1}) == 30
    assert stolen_ticks("cpu0 1 2 3 4\n\n", {0}) == 0  # before Linux 2.6.11


def test_the_clock_reads_this_machine() -> None:
    """Our promise: seconds since its creation, as the kernel counts them."""
    assert stolen_ticks(Path("/proc/stat").read_text(), os.sched_getaffinity(0)) >= 0
    assert 0 <= StolenClock().read() < 1


@given(SPENT, st.floats(0, 1))
def test_what_was_taken_is_waiting_for_a_core_and_nothing_else_changes(
    spent: list[tuple[float, float, float]], rate: float
) -> None:
    """Our promise: the stolen part of the CPU time leaves what seemed blocked, as far as it holds it."""
    found = apart(spent, rate)
    assert [v[:2] for v in found] == [v[:2] for v in spent]
    blocked = sum(max(0.0, w - c - q) for w, c, q in spent)
    moved = sum(q for *_, q in found) - sum(q for *_, q in spent)
    assert math.isclose(moved, min(blocked, rate * sum(c for _, c, _ in spent)), rel_tol=1e-9, abs_tol=1e-9)


def test_a_stage_that_waits_keeps_its_time_beside_one_that_computes() -> None:
    """Our promise: one second of twenty was taken of what computed; samples stay as they were."""
    line = {"n": 8, "timed": True, "each": [[3, 0.1, 0.1, 0.0]]}
    spent = {"read": [10.0, 0.0, 0.0], "decode": [11.0, 10.0, 0.0]}
    (found,) = stolen_apart([{**line, "spent": spent}], 0.1)
    assert found["spent"] == {"read": (10.0, 0.0, 0.0), "decode": (11.0, 10.0, 1.0)}
    assert found["each"] == line["each"]
    assert stolen_apart([{"timed": False, "slow": []}], 0.1) == [{"timed": False, "slow": [], "spent": {}}]


def test_stacks_say_how_much_of_what_the_machine_lost_these_processes_lost() -> None:
    """Our promise: never more seconds than the CPUs lost, nor than what clocks call blocked and stacks do not; and all of
    one pause, if no stack was seen blocked."""
    lines: list[dict[str, Any]] = [
        {"timed": True, "spent": {"read": [3.5, 0.1, 0.0], "decode": [8.5, 7.9, 0.0]}},
        {"timed": False},
    ]
    for blocked, most, rate in ((25, 8.0, 0.125), (25, 0.4, 0.05), (35, 8.0, 0.0), (0, 8.0, 0.5)):
        ticks = [Tick((), running=100 - blocked, blocked=0), Tick((), running=0, blocked=blocked)]
        assert math.isclose(stolen_rate(lines, ticks, most), rate)
    assert stolen_rate(lines, [], 1.0) == stolen_rate([], ticks, 1.0) == 0.0
