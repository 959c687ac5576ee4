"""What it costs to move a batch, on real workers."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from dataloader_expert.facts import Unknown
from dataloader_expert.probes.profile.stage import stage_fact
from dataloader_expert.probes.profile.transfer import sent, transport, trip

TAKES_S = 0.003


def arrive() -> torch.Tensor:
    time.sleep(TAKES_S)  # the work of receiving, which the worker does not share: what is to be measured
    return torch.zeros(4)


class Slow:
    """A batch that takes its time to arrive."""

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return arrive, ()


def test_a_trip_is_what_a_worker_with_nothing_in_reserve_idles_for() -> None:
    """What receiving takes is hidden by the next fetch, unless that is ordered only afterwards."""
    assert trip(Slow()).value > TAKES_S / 2  # a sleep is never shorter; half leaves room for a busy machine


def test_transport_is_what_both_processes_compute_and_not_how_long_they_wait() -> None:
    """Seen: on a busy machine, a batch that was waited for made transport the bottleneck of loaders whose workers never ran."""
    took = transport(Slow(), 1)
    assert len(took) == 10
    assert all(wall == cpu and queue == 0 for wall, cpu, queue in took)
    assert sum(cpu for _, cpu, _ in took) < 9 * TAKES_S  # it sleeps as long while it arrives


def test_a_batch_that_cannot_be_sent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sending thread of the worker fails, and nothing tells the main process."""
    monkeypatch.setattr("dataloader_expert.probes.profile.transfer.PATIENCE_S", 0.2)
    found = sent("transfer", lambda: stage_fact("worker_transfer", transport({"lock": threading.Lock()}, 1)))
    assert isinstance(found, Unknown) and "timed out" in found.why
