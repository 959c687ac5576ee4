"""What is said of many small tensors, by what was run."""

from __future__ import annotations

from typing import Any

import pytest

from dataloader_expert.advice.packing import many_small_tensors
from dataloader_expert.advice.transport import transport
from dataloader_expert.facts import Evidence, Fact, Facts
from dataloader_expert.probes.experiments.packing import PACKED
from dataloader_expert.probes.model.batch import BATCH
from dataloader_expert.probes.profile.stage import STAGE
from dataloader_expert.probes.profile.stages import RECEIVING
from dataloader_expert.probes.search.loading import CURRENT

RECEIVED = {"main_s": 0.003, "bytes": 4096.0, "tensors": 40, "samples": 16.0, "workers": 2}


def facts(gain: float | None, pays: bool = False) -> Facts:
    timed, cheap = Evidence("timed", "a test"), {"ms": 0.01, "cpu_ms": 0.01, "wait_ms": 0.0}
    found = [Fact(RECEIVING, RECEIVED, timed), Fact(BATCH, {}, timed), Fact(STAGE, cheap, timed, {"stage": "read"})]
    if gain is not None:
        run = Evidence("timed", "a test", seen=4, interval=(0.9 * gain, 1.1 * gain))
        found.append(Fact(PACKED, gain, run, {"tensors": 40, "dtypes": 1, "workers": 2, "pays": pays}))
    return Facts(tuple(found))


@pytest.mark.parametrize(
    ("gain", "pays", "by"),
    [(2.4, True, "packed"), (1.1, False, None), (0.9, False, None), (None, False, "receiving")],
    ids=["it pays", "not proved", "it does not pay", "it was not run"],
)
def test_many_small_tensors_are_told_by_the_run_where_there_was_one(gain: Any, pays: bool, by: str | None) -> None:
    """Our promise: a timed gain is cited; a run that proves none silences the estimate; without a run it is estimated."""
    known = facts(gain, pays)
    told = [f for f in (*transport(known), *many_small_tensors(known)) if f.code == "many-small-tensors"]
    assert [f.evidence[0]["fact"] for f in told] == ([] if by is None else [by])
    assert all(("2.40 times" in f.message) == (by == "packed") for f in told)


@pytest.mark.parametrize(("workers", "codes"), [(0, []), (2, ["many-small-tensors"])])
def test_without_workers_nothing_is_sent(workers: int, codes: list[str]) -> None:
    """Seen: what tensors cost to send from a worker was a warning where there was none, at present and as recommended; and nothing was said
    of 1,920 tensors whose workers delivered too late to be observed."""
    timed = Evidence("timed", "a test")
    plan = {
        "num_workers": workers,
        "prefetch_factor": 2,
        "persistent_workers": True,
        "in_order": True,
        "batch_size": 16,
    }
    known = Facts(
        (
            Fact(RECEIVING, {**RECEIVED, "workers": 0}, timed),
            Fact(CURRENT, plan, timed),
            *(f for f in facts(None) if f.quantity is not RECEIVING),
        )
    )
    assert [f.code for f in transport(known)] == codes
