"""Page-locked memory: advised where the copy holds the loop up, told as useless where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.pinning import RULES, pinning_advice, pinning_pays
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.model.step_time import STEP
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.transfer import UNPINNED
from dataloader_expert.probes.search.loading import CURRENT
from dataloader_expert.probes.search.trials import THROUGHPUT

TIMED = Evidence("timed", "test", 10)


def facts(pinned: bool, unpinned_ms: float, step_ms: float | None = None) -> Facts:
    """A loader of 3,200 samples/s in batches of 64, so 20 ms each, whose page-locked copy takes 1 ms."""
    current: dict[str, Any] = {"batch_size": 64, "num_workers": 2, "prefetch_factor": 2, "pin_memory": pinned}
    spent = {"ms": 1 / 64, "cpu_ms": 0.0, "wait_ms": 1 / 64, "queue_ms": 0.0}
    at = {"workers": 2, "prefetch": 2, "in_order": True, "batch_size": 64}
    made = [
        Fact(CURRENT, current, TIMED),
        Fact(THROUGHPUT, 3200.0, TIMED, at),
        Fact(STAGE, spent, TIMED, {"stage": "to_device"}),
        Fact(UNPINNED, unpinned_ms, TIMED, {"batch_size": 64}),
    ]
    return Facts((*made, Fact(STEP, step_ms, TIMED)) if step_ms is not None else tuple(made))


@pytest.mark.parametrize(("unpinned", "step", "pays"), [(4.0, None, True), (1.2, None, False), (4.0, 400.0, False)])
def test_it_pays_if_the_copy_holds_the_loop_up(unpinned: float, step: float | None, pays: bool) -> None:
    """Our promise: at least 2 % of the time of a batch, which the slower of loader and step sets."""
    absent, present = (facts(pinned, unpinned, step) for pinned in (False, True))
    assert pinning_pays(absent) == pays
    advice = pinning_advice(absent)
    assert [a.value for a in advice] == [True] * pays
    assert not pinning_advice(present)
    assert [f.code for rule in RULES for f in rule(present)] == [] if pays else ["pinning-does-not-pay"]
    assert not [f for rule in RULES for f in rule(absent)]
    if advice:
        assert advice[0].gain is not None
        assert advice[0].gain["value"] == pytest.approx(20 / 17)


def test_without_a_device_nothing_is_said() -> None:
    assert not pinning_advice(Facts())
    assert not [f for rule in RULES for f in rule(Facts())]
