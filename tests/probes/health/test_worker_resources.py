"""What the growth of workers' memory is told to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.advice.base import findings_of
from dataloader_expert.facts import Fact, Facts, Unknown
from dataloader_expert.probes.health.worker_resources import _repeated, memory

MB = 1 << 20
BATCH = 8 * MB


def nothing(_: float) -> float:
    return 0.0


def told(
    anon: Callable[[float], float],
    moved: Callable[[float], float] = nothing,
    free: Callable[[float], float] = nothing,
    pulses: int = 24,
) -> list[str]:
    """Codes for two workers of 2,000 samples each: anonymous memory, what of the shared became private, and what the
    allocator holds free, in MB by the share of the run that is over."""
    lines: list[dict[str, Any]] = []
    for worker in range(2):
        for i in range(pulses):
            at = i / (pulses - 1)
            private = 50 + anon(at) + moved(at)
            pulse = {
                "samples": int(2000 * at),
                "map": {"private": int(private * MB), "shared": int((200 - moved(at)) * MB)},
                "anon": int((50 + anon(at)) * MB),
                "free": int((20 + free(at)) * MB),
            }
            lines.append({"worker": worker, "batch": i + 1, "pulse": pulse})
    facts = Facts(tuple(said for said in memory(lines, BATCH) if isinstance(said, Fact)))
    return [said.code for said in findings_of(facts)]


@pytest.mark.parametrize("pulses", [4, 5, 24])
def test_a_leak_is_named(pulses: int) -> None:
    assert told(lambda at: 100 * at, pulses=pulses) == ["memory-leak"]


def test_pages_copied_are_no_leak() -> None:
    assert told(nothing, lambda at: 60 * at) == ["copy-on-write-growth"]


def test_what_the_allocator_keeps_is_told_from_a_leak() -> None:
    assert told(lambda at: 100 * at, free=lambda at: 90 * at) == ["freed-memory-kept"]
    assert told(lambda at: 100 * at, free=lambda at: 20 * at) == ["memory-leak"]


@pytest.mark.parametrize("leaps", [1, 2, 3])
def test_an_allocator_that_grows_by_leaps_is_no_leak(leaps: int) -> None:
    """What it once needed it keeps: a leap at a time, none in some part of the run."""
    assert told(lambda at: 40 * min(leaps, int(at * (leaps + 1) * 1.3)), lambda at: 4 * at) == []


@given(st.floats(40, 4000), st.lists(st.floats(-0.02, 0.02), min_size=24, max_size=24))
def test_a_leak_is_named_through_what_else_varies(size: float, noise: list[float]) -> None:
    assert told(lambda at: size * (at + noise[round(23 * at)])) == ["memory-leak"]


@pytest.mark.parametrize(
    ("what", "again"), [("health: memory and files of workers", True), ("health: memory of workers", False)]
)
def test_growth_that_was_not_seen_is_said_so(what: str, again: bool) -> None:
    """Seen: on a busy machine, a list of 700,000 dicts was copied into workers, and neither a finding nor an unknown said so."""
    assert told(nothing, lambda at: 60 * at, pulses=3) == []
    assert _repeated(Unknown(what, "too few batches were read: raise budget_s")) is again
