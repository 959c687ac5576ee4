"""On a CUDA device: peaks and copies are measured, and the host never initialises the device."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from dataloader_expert.probes.profile.transfer import UNPINNED
from dataloader_expert.probes.system.environment import may_have_devices
from tests.making import users
from tests.making.asking import Asker
from tests.making.shared import CHECKOUT

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not may_have_devices(), reason="no CUDA device"),
]


@pytest.fixture(scope="module")
def asker():  # type: ignore[no-untyped-def]  # a fixture
    asker = Asker()
    yield asker
    asker.close()


def test_a_training_steps_peak_is_probed_twice_in_a_row(asker: Asker) -> None:
    """A child allocates on the device after another request did: the host has not touched it."""
    for _ in range(2):
        report = asker.ask(
            "recommend_batch_spec", f"{users.__file__}:Fine", str(CHECKOUT), model=f"{users.__file__}:Net", budget_s=60
        )
        peak = report.memory.device_peak_bytes  # type: ignore[attr-defined]  # of that tool
        assert peak.how == "probed"
        assert peak.value > 0


@pytest.mark.parametrize("name", ["mlp", "cnn", "resnet", "encoder", "decoder", "unet", "lstm", "embedding"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_predicted_peak_is_near_the_devices(name: str, precision: str) -> None:
    """Our promise: within a tenth of what the device's own allocator counts."""
    from benchmarks.memory import in_a_process, tried

    traced, real = (
        in_a_process(functools.partial(tried, name, 32, cuda, precision=precision))["allocated"]
        for cuda in (False, True)
    )
    assert traced == pytest.approx(real, rel=0.1)


@pytest.mark.parametrize("gib", [2, 8])
def test_the_limit_under_a_cap_runs_and_little_more_does_not(asker: Asker, gib: int) -> None:
    """Our promise: never over, at least 95 % of what fits, in at most six trials."""
    from benchmarks.memory import in_a_process, tried

    report: Any = asker.ask(
        "recommend_batch_spec",
        "",
        str(CHECKOUT),
        input={"x": {"shape": ["B", 3, 64, 64]}},
        model=f"{CHECKOUT}/tests/making/standard_models.py:Cnn",
        memory_limit_gb=gib,
        budget_s=120,
    )
    assert report.memory.device_peak_bytes.how == "probed"
    size, room = report.batch_size_limit.value, 0.9 * gib * 1e9
    run = functools.partial(tried, "cnn", cuda=True, cap=room)
    assert in_a_process(functools.partial(run, size=size))["fits"]
    assert not in_a_process(functools.partial(run, size=int(size / 0.95) + 8))["fits"]


def test_pinning_and_copying_are_stages(asker: Asker) -> None:
    """Our promise: with a device pin and to_device are timed by events."""
    report = asker.ask("diagnose_io", f"{users.__file__}:Fine", str(CHECKOUT), budget_s=60)
    names = {s.name for s in report.stages}  # type: ignore[attr-defined]  # of that tool
    assert {"pin", "to_device"} <= names
    assert report.storage.to_device_gb_s.value > 0  # type: ignore[attr-defined]  # of that tool


def test_an_unpinned_copy_is_timed_beside_a_pinned_one(asker: Asker) -> None:
    """Our promise: whether pin_memory pays rests on both."""
    facts = asker.facts("diagnose_io", f"{users.__file__}:Fine", str(CHECKOUT), budget_s=60)
    assert facts.value(UNPINNED) > 0
