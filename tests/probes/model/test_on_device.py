"""The trials of a step on a device, against one that takes somewhat more than traces say: no device is needed."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dataloader_expert.facts import Fact, Unknown
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.model.memory import (
    DEVICE_LIMIT,
    DEVICE_PEAK,
    MEMORY_FIT,
    MEMORY_PARTS,
    STEP_SPEED,
    ModelMemory,
    _Measuring,
)
from dataloader_expert.probes.model.spec import of_input, to_json
from dataloader_expert.sources.registry import open_source
from tests.making.standard_models import MODELS
from tests.probes.model.test_memory import trace, twice

TOTAL = 12 << 30


class Device:
    """Answers as the processes of trials do: on the device everything takes ``more`` than a trace says. It answers so
    often; more than ``long`` samples do not fit in twenty steps, nor more than its ``free`` bytes at all."""

    def __init__(self, more: float, answers: float = math.inf, long: float = math.inf, free: int = TOTAL) -> None:
        self.more, self.answers, self.long, self.free = more, answers, long, free
        self.sizes = list[int]()

    traced = True

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        if request["on"] != "cuda" and not self.traced:
            return {"error": "DataDependentOutputException: aten.unique"}
        setup, size = dict(request["setup"]), request["size"]
        if request["on"] == "twice":
            made, lines = twice("mlp", tuple(size))
            return {"trials": [t.to_json() for t in made], "lines": lines}
        if request["on"] == "trace":
            return trace("mlp", size, **setup).to_json()
        if len(self.sizes) >= self.answers:
            return {"error": "it took longer than 2 s", "late": True}
        self.sizes.append(size)
        cap = min(setup["cap"] or math.inf, self.free) / self.more
        made = trace("mlp", size, **{**setup, "cap": cap, "steps": 3})
        return replace(
            made,
            fits=made.fits and (setup["steps"] == 3 or size <= self.long),
            free=self.free,
            allocated=int(made.allocated * self.more),
            phases={p: int(n * self.more) for p, n in made.phases.items()},
            parts={},
            context=1 << 29,
            step_s=0.01 + size / 20_000,
        ).to_json()


def observed(device: Device, bench: Bench, **asked: Any) -> tuple[dict[Any, Any], list[str]]:
    spec = {"spec": to_json(of_input(MODELS["mlp"][1])), "call": ""}
    branches: Any = {"trace": device, "cuda": device}
    kind = {"name": "simulated", "total_bytes": TOTAL, "major": 9, "multiprocessors": 132}
    seen = list(_Measuring(ModelMemory("", **asked), bench, branches, spec, [kind], math.inf).all())
    facts = {f.quantity: f for f in seen if isinstance(f, Fact)}
    return facts, [u.what for u in seen if isinstance(u, Unknown)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    ref = SourceRef(str(tmp_path / "rows.csv"), (str(tmp_path),))
    return Bench(open_source(ref, []), ref, 0, None, lambda _: None, lambda *_: None, memory_bytes=1 << 50)


@pytest.mark.journey
@pytest.mark.parametrize("more", [0.9, 1.0, 1.08])
def test_the_limit_is_run_and_the_peak_expected_of_another_size(more: float, bench: Bench) -> None:
    """Our promise: in six trials, never over; what is checked is no part of what it is checked by."""
    device = Device(more)
    facts, unknowns = observed(device, bench, batch_size=1 << 20)
    limit = facts[DEVICE_LIMIT].value
    assert limit["trials"] <= 6
    room = limit["room"] / more
    assert trace("mlp", limit["value"], cap=room).fits
    assert not trace("mlp", math.ceil(limit["value"] / 0.95), cap=room).fits
    assert facts[MEMORY_FIT].value["check"]["error"] == pytest.approx(0, abs=0.05)
    assert facts[MEMORY_PARTS].value["parts"]["activations"] > 0
    assert facts[STEP_SPEED].value > 0
    assert not unknowns


@pytest.mark.journey
@pytest.mark.parametrize("free", [TOTAL, TOTAL // 3, 1 << 20])
def test_a_model_that_cannot_be_traced_is_measured_all_the_same(free: int, bench: Bench) -> None:
    """Our promise: the device needs no trace; in six trials, never over."""
    device = Device(1.0, free=free)
    device.traced = False
    facts, _ = observed(device, bench, batch_size=1 << 20)
    limit = facts[DEVICE_LIMIT].value
    assert limit["trials"] <= 6
    assert "cpu" not in str(facts[DEVICE_LIMIT].evidence)
    if free < TOTAL // 3:
        assert limit["value"] == 0
        return
    assert facts[DEVICE_PEAK].evidence.how == "probed"
    assert trace("mlp", limit["value"], cap=limit["room"]).fits
    assert limit["value"] >= 0.8 * trace_limit(limit["room"])


def trace_limit(room: int) -> int:
    """The largest size that fits, by bisection."""
    low, high = 1, 1 << 24
    while high - low > low // 200 + 1:
        middle = (low + high) // 2
        low, high = (middle, high) if trace("mlp", middle, cap=room).fits else (low, middle)
    return low


@pytest.mark.parametrize("answers", [0, 1, 2, 4])
def test_what_was_tried_of_a_model_without_a_trace_is_told(answers: int, bench: Bench) -> None:
    device = Device(1.0, answers)
    device.traced = False
    facts, unknowns = observed(device, bench)
    assert (DEVICE_PEAK in facts) == bool(answers)
    assert unknowns


@pytest.mark.parametrize("answers", [1, 2, 4])
def test_what_was_tried_before_time_was_up_is_told(answers: int, bench: Bench) -> None:
    """Our promise: nothing is lost; what is missing is said."""
    facts, unknowns = observed(Device(1.0, answers), bench)
    assert facts[DEVICE_PEAK].value > 0
    assert facts[DEVICE_PEAK].evidence.how == "probed"
    assert unknowns


def test_where_no_step_runs_the_prediction_is_told(bench: Bench) -> None:
    facts, unknowns = observed(Device(1.0, 0), bench)
    assert facts[DEVICE_PEAK].evidence.how == "derived"
    assert unknowns == ["memory.device_peak_bytes"]


def test_what_twenty_steps_do_not_bear_is_beyond_the_limit(bench: Bench) -> None:
    """Our promise: the size advised was run."""
    limit = observed(Device(1.0), bench, batch_size=1 << 20)[0][DEVICE_LIMIT].value["value"]
    facts, _ = observed(Device(1.0, long=0.97 * limit), bench, batch_size=1 << 20)
    told = facts[DEVICE_LIMIT].value
    assert told["value"] == facts[DEVICE_PEAK].at["batch_size"] <= 0.97 * limit < told["failed"]


@pytest.mark.journey
def test_what_other_processes_hold_is_not_free(bench: Bench) -> None:
    """Our promise: the limit is that of the bytes that are free, not a failure."""
    facts, _ = observed(Device(1.0, free=TOTAL // 3), bench, batch_size=1 << 20)
    limit = facts[DEVICE_LIMIT].value
    assert limit["value"] > 0
    assert trace("mlp", limit["value"], cap=limit["room"]).fits
    assert limit["room"] <= TOTAL // 3


def test_a_model_that_does_not_fit_has_a_limit_of_0(bench: Bench) -> None:
    """Our promise: no crash, and the prediction instead of a peak."""
    facts, _ = observed(Device(1.0, free=1 << 20), bench)
    assert facts[DEVICE_LIMIT].value["value"] == 0
    assert facts[DEVICE_PEAK].evidence.how == "derived"
