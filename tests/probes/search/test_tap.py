"""Samples are counted and workers held, however they are started."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.search.living import Living, TooSlow
from dataloader_expert.probes.search.runner import Runner
from dataloader_expert.probes.search.tap import tapped
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
            own = runner.loader.worker_init_fn
        finally:
            runner.close()
    assert runner.serving.user_loader.worker_init_fn is None
    assert (own is None) is (method == "fork")


def test_workers_that_have_not_started_when_the_time_is_up_end_the_trial() -> None:
    """Our promise: a trial that takes longer than it may is an outcome."""
    with tapped():
        runner: Living = living("spawn")
        try:
            with pytest.raises(TooSlow, match="raise budget_s"):
                runner.block(0.05, 0.0)  # type: ignore[attr-defined]  # a time long gone
        finally:
            runner.close()
