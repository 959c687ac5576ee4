"""The search on ordinary loaders that it could get wrong, each with what must come out of it within a request of 60 s."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from torch.utils.data import IterableDataset

from dataloader_expert.facts import Fact
from dataloader_expert.plan import SourceRef
from dataloader_expert.probes.base import Bench
from dataloader_expert.probes.search.loading import RECOMMENDED, SPEEDUP, Loading
from dataloader_expert.probes.sharding import StreamSharding
from dataloader_expert.sources.registry import open_source
from tests.making import users
from tests.making.shapes import SHAPES, Shape
from tests.making.shared import CHECKOUT

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:.*fork\\(\\)")
"""More workers than cores are what is asked for."""
REQUEST_S = 58.0


STARTED = ("spawned workers", "forkserver")
"""Shapes whose workers import torch as they start: beside another test four of them do not pay within the request."""
SHORT = ("1 microsecond",)
"""Ends in a second or two. The others are journeys."""
CASES = [
    pytest.param(
        shape, id=name, marks=[pytest.mark.alone] * (name in STARTED) + [pytest.mark.journey] * (name not in SHORT)
    )
    for name, shape in SHAPES.items()
]


@pytest.mark.parametrize("shape", CASES)
def test_the_search_ends_where_it_should(shape: Shape) -> None:
    """Our promise: whatever a sample costs and however workers start, the settings recommended are near the best."""
    loader = shape.make()
    ref = SourceRef(f"{Path(users.__file__)}:Fine", (str(CHECKOUT),), code=True)
    source = open_source(ref, [])
    source.loader, source.dataset = loader, loader.dataset  # type: ignore[attr-defined]  # a reference has both
    source.iterable = isinstance(loader.dataset, IterableDataset)
    bench = Bench(source, ref, 0, time.monotonic() + REQUEST_S, lambda index: None, lambda m, s: None, cpus=2)
    for probe in (StreamSharding(), Loading()):
        for said in probe.measure(bench):
            if isinstance(said, Fact):
                bench.facts.add(said)
    workers, speedup = bench.facts.value(RECOMMENDED)["workers"], bench.facts.find(SPEEDUP)
    assert shape.workers <= workers <= shape.most
    assert speedup is not None and speedup.value >= shape.gain
    assert speedup.value == 1.0 or (speedup.evidence.interval or (0.0,))[0] > 1.0
