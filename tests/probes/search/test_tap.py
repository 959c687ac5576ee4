"""Samples are counted and workers held, however they are started."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.search.living import Living, TooSlow
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.tap import KEPT, Counted, Tap, tapped
from dataloader_expert.probes.serving import serving
from dataloader_expert.sources.registry import open_source
from tests.making import users
from tests.making.shared import CHECKOUT


def living(method: str, **more: object) -> Runner:
    from torch.utils.data import DataLoader

    ref = SourceRef(f"{Path(users.__file__)}:Fine", (str(CHECKOUT),), code=True)
    bench = Bench(open_source(ref, []), ref, 0, None, lambda index: None, lambda message, share: None, cpus=2)
    loader = DataLoader(bench.source.dataset, batch_size=8, num_workers=1, multiprocessing_context=method)  # type: ignore[attr-defined]
    bench.source.loader = loader  # type: ignore[attr-defined]  # opened by a reference: such a source has one
    served = serving(bench)
    return Runner(served.current, served, fine=True, patience=60.0, **more)  # type: ignore[arg-type]


@pytest.mark.journey
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_samples_are_counted_in_workers_of_every_start_method(method: str) -> None:
    """Our promise: a batch need not be waited for, however the worker that loads it was started."""
    with tapped():
        runner = living(method)
        try:
            assert runner.block(0.05, None) > 0
            assert runner.counts()[0].samples > 0 and runner.startup is not None
            assert all(took.seconds > 0 for took in runner.tap.slowest(0)) and runner.tap.slowest(0)
            own = runner.loader.worker_init_fn
        finally:
            runner.close()
    assert runner.serving.user_loader.worker_init_fn is None
    assert (own is None) is (method == "fork")


def test_the_slowest_samples_are_kept() -> None:
    """Our promise: a sample that is slow whenever it is read is met in any trial, by any of its fetchers."""

    class Uneven:
        def __getitem__(self, index: int) -> int:
            time.sleep(0.02 if index in (3, 70) else 0.0)  # two samples are slow: what is measured
            return index

    tap = Tap(True)
    tap.open()
    for some in (range(40), range(40, 80)):  # an epoch each
        samples = Counted(Uneven(), tap, 5, True)
        assert [samples[i] for i in some] == [*some]
    slowest = tap.slowest(5)
    assert len(slowest) == KEPT and slowest == sorted(slowest)
    assert {3, 70} <= {took.sample for took in slowest}  # others may have been held up by the machine
    assert not tap.slowest(4)


def test_workers_that_have_not_started_when_the_time_is_up_end_the_trial() -> None:
    """Our promise: a trial that takes longer than it may is an outcome."""
    with tapped():
        runner: Living = living("spawn")
        try:
            with pytest.raises(TooSlow, match="raise budget_s"):
                runner.block(0.05, 0.0)  # type: ignore[attr-defined]  # a time long gone
        finally:
            runner.close()
