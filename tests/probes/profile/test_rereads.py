"""Slow samples are told once, wherever they were met."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.advice.base import findings_of
from dataloader_expert.facts import Fact, Facts
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.profile.rereads import slow_samples
from dataloader_expert.probes.serving import serving
from dataloader_expert.sources.registry import open_source
from tests.making import users
from tests.making.shared import CHECKOUT

QUICK = [(1e-5, i) for i in range(32) if i != 7]
SLOW = (0.1, 7)


@pytest.mark.parametrize(
    ("took", "first", "doubtful"),
    [([*QUICK, SLOW, SLOW], [], []), (QUICK, [SLOW], []), (QUICK, [], [6, 7]), ([*QUICK, SLOW], [SLOW], [7])],
    ids=["in two epochs", "in a batch that warmed up", "in a batch not timed", "in all"],
)
def test_a_slow_sample_is_told_once(took: Any, first: Any, doubtful: Any) -> None:
    """Our promise: one of 32 samples is slow, however often and wherever it was met."""
    ref = SourceRef(f"{Path(users.__file__)}:OneSlow", (str(CHECKOUT),), code=True)
    until = time.monotonic() + 60
    bench = Bench(open_source(ref, []), ref, 0, until, lambda index: None, lambda message, share: None, cpus=2)
    [fact] = slow_samples(bench, serving(bench, 4, 0), took, first, doubtful)
    assert isinstance(fact, Fact)
    [found] = findings_of(Facts((fact,)))
    assert found.where == ({"sample": 7},)
    assert found.message.startswith("1 of 32 samples")
