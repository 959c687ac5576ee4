"""What is said of a loader that failed."""

from __future__ import annotations

import pytest

from dataloader_expert.advice.failures import loader, overfull
from dataloader_expert.probes.base import LOADER_FAILED, OVERFULL
from tests.advice.test_epochs import codes_of, facts_of

DIED = {"error": "RuntimeError: …", "died": True, "locked": False, "client": False, "where": ""}


@pytest.mark.parametrize("stopped", [False, True])
def test_workers_that_were_stopped_for_their_memory_did_not_die_by_themselves(stopped: bool) -> None:
    """Our promise: one cause is told once."""
    taken = [(OVERFULL, "4 workers took 1.2 GB", {"workers": 4})] if stopped else []
    facts = facts_of((LOADER_FAILED, DIED, {"workers": 4, "hung": False}), *taken)
    assert codes_of(facts, loader, overfull) == (["memory-limit-reached"] if stopped else ["worker-died"])
