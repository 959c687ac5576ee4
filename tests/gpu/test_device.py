"""On a CUDA device: peaks and copies are measured, and the host never initialises the device."""

from __future__ import annotations

import pytest
import torch

from tests.making import users
from tests.making.asking import Asker
from tests.making.shared import CHECKOUT

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
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


def test_pinning_and_copying_are_stages(asker: Asker) -> None:
    """Our promise: with a device pin and to_device are timed by events."""
    report = asker.ask("diagnose_io", f"{users.__file__}:Fine", str(CHECKOUT), budget_s=60)
    names = {s.name for s in report.stages}  # type: ignore[attr-defined]  # of that tool
    assert {"pin", "to_device"} <= names
    assert report.storage.to_device_gb_s.value > 0  # type: ignore[attr-defined]  # of that tool
