"""A budget that ends while a model is made or called is an unknown; where samples are read, silence is a hang."""

from __future__ import annotations

import pytest

from dataloader_expert.errors import RequestError
from dataloader_expert.facts import Evidence, Fact, Quantity
from dataloader_expert.lab.outcome import Outcome
from dataloader_expert.probes.model.check import ModelCheck
from dataloader_expert.probes.model.memory import ModelMemory
from dataloader_expert.probes.system.outside import FAILED
from dataloader_expert.tools.execution import _ended

SEEN = Fact(Quantity("q", "", "a fact"), 1, Evidence("counted", "a test"))
STOPPED = "no result within 9 s, so the process was stopped; raise budget_s, or mend what hangs or takes so long there"


def ended(doing: str, code: str = "timed-out") -> Outcome:
    outcome = Outcome(failure=RequestError(code, STOPPED), stalled=True, doing=doing)  # type: ignore[arg-type]  # a code by name
    outcome.facts.add(SEEN)
    return outcome


@pytest.mark.parametrize("doing", [ModelCheck.doing, ModelMemory.doing])
def test_a_slow_model_is_no_sample_that_hangs(doing: str) -> None:
    """Our promise: an import that takes long on a busy machine is no fault of the data."""
    outcome = ended(doing)
    [unknown] = _ended(outcome, {doing})
    assert "raise budget_s" in unknown.why and outcome.facts.find(FAILED) is None


@pytest.mark.parametrize(("doing", "code"), [("reading samples", "timed-out"), (ModelCheck.doing, "worker-crashed")])
def test_other_ends_are_told(doing: str, code: str) -> None:
    outcome = ended(doing, code)
    assert list(_ended(outcome, {ModelCheck.doing})) and outcome.facts.find(FAILED) is not None
