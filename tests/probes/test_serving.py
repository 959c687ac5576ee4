"""Batches are fitted to the budget on what a sample costs once it is warm."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.serving import Serving, serving
from dataloader_expert.sources.registry import open_source
from tests.making import users
from tests.making.shared import CHECKOUT

COLD = 2


class Warms(users.Fine):
    """The first two samples take 10 ms, the others next to nothing."""

    read = 0

    def __getitem__(self, index: int) -> dict[str, torch.Tensor | int]:
        self.read += 1
        if self.read <= COLD:
            time.sleep(0.01)  # what a cold sample costs: the test asserts on what is made of it, not on the clock
        return super().__getitem__(index)


@pytest.fixture
def bench() -> Bench:
    ref = SourceRef(f"{Path(users.__file__)}:Fine", (str(CHECKOUT),), code=True)
    return Bench(open_source(ref, []), ref, 0, time.monotonic() + 60, lambda index: None, lambda message, share: None)


def served(bench: Bench, dataset: Warms) -> Serving:
    found = serving(bench, 400)
    found.dataset = dataset
    return found


def test_what_sufficed_one_probe_is_timed_again_for_a_stricter_one(bench: Bench) -> None:
    """Our promise: a batch is made smaller only on a time that was taken to its end."""
    dataset = Warms()
    assert not served(bench, dataset).fit(bench, 3.9)  # 4 s by the first sample, 2 s by the next two: enough here
    assert bench.fitted_s is not None and bench.fitted_s > 0.004
    strict = served(bench, dataset)
    assert not strict.fit(bench, 1.0)
    assert strict.current.batch_size == 400


def test_a_batch_that_stays_dear_is_made_smaller(bench: Bench) -> None:
    """Our promise: what is dear and warm fits the budget in smaller batches."""
    dataset = Warms()
    dataset.read = -(10**6)  # never warm
    strict = served(bench, dataset)
    assert strict.fit(bench, 1.0)
    assert strict.current.batch_size <= 100
    assert (
        0.5 < strict.batch_s <= 1.0
    )  # on a busy machine samples take longer than they wait, and the batch is smaller still
