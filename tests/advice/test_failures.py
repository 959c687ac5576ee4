"""What is said of a loader that failed."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.failures import loader, overfull
from dataloader_expert.probes.base import LOADER_FAILED, OVERFULL
from dataloader_expert.probes.health.started_first import STARTED_FIRST
from dataloader_expert.probes.search.loading import CURRENT
from tests.advice.test_epochs import PLAN, codes_of, facts_of

DIED = {"error": "RuntimeError: …", "died": True, "locked": False, "client": False, "where": ""}


@pytest.mark.parametrize("stopped", [False, True])
def test_workers_that_were_stopped_for_their_memory_did_not_die_by_themselves(stopped: bool) -> None:
    """Our promise: one cause is told once."""
    taken = [(OVERFULL, "4 workers took 1.2 GB", {"workers": 4})] if stopped else []
    facts = facts_of((LOADER_FAILED, DIED, {"workers": 4, "hung": False}), *taken)
    assert codes_of(facts, loader, overfull) == (["memory-limit-reached"] if stopped else ["worker-died"])


@pytest.mark.parametrize("first", [False, True])
def test_a_deadlock_that_depends_on_what_was_done_before_is_a_warning(first: bool) -> None:
    """Our promise: a script that starts its workers first is not said to hang."""
    locked = {**DIED, "died": False, "locked": True}
    more: list[Any] = [(STARTED_FIRST, 2, {})] if first else []
    facts = facts_of((LOADER_FAILED, locked, {"workers": 2, "hung": True}), *more)
    assert [(f.code, f.severity) for f in loader(facts)] == [("deadlock", "warning" if first else "error")]


@pytest.mark.parametrize(("present", "severity"), [(0, "warning"), (2, "error")])
def test_what_fails_only_in_workers_is_a_warning_where_there_are_none(present: int, severity: str) -> None:
    """Our promise: a pipeline that runs is not said to fail because another setting was tried."""
    raised = {**DIED, "died": False}
    current = {**PLAN, "num_workers": present}
    [found] = loader(facts_of((LOADER_FAILED, raised, {"workers": 2, "hung": False}), (CURRENT, current, {})))
    assert (found.code, found.severity) == ("sample-raises", severity)
    assert found.message.startswith("with 2 workers, where there are none") is (present == 0)
