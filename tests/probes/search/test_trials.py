"""What is said of a timed setting."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dataloader_expert.advice.consumer import stall_share
from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.search.trials import throughput_fact


@pytest.mark.parametrize(("batched", "size", "waits"), [(True, 1, False), (False, 512, True)])
def test_batches_that_the_dataset_makes_are_as_large_as_they_come(batched: bool, size: int, waits: bool) -> None:
    """Seen: "a later batch takes 0.0 ms" and a training step that never waits, of a stream of batches that was said to deliver single samples."""
    runner: Any = SimpleNamespace(
        blocks=[5000.0, 5100.0],
        plan=LoaderPlan(batch_size=1, workers=0),
        serving=SimpleNamespace(batched=batched),
        batch_samples=511.7,
    )
    fact = throughput_fact(runner)
    assert fact.at["batch_size"] == size
    assert (stall_share(20.0, 0, fact) > 0.5) is waits
