"""Loaders with one fault each, and their clean twins: what the experiments find by themselves, without the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.faults import CASES

from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.crowd import Crowd
from dataloader_expert.probes.environment import Environment
from dataloader_expert.probes.habits import Habits
from dataloader_expert.probes.layout import Layout
from dataloader_expert.probes.scan import Scan
from dataloader_expert.probes.standing import Standing
from dataloader_expert.probes.whole import Whole
from tests.making.asking import Asker

ROOT = Path(__file__).parents[2]
EXPERIMENTS: dict[str, type[Probe]] = {
    "rng-duplicated": Habits,
    "rng-constant-seed": Habits,
    "not-deterministic": Habits,
    "iterable-not-sharded": Habits,
    "idle-workers": Habits,
    "poor-mixing": Habits,
    "epoch-not-seen-by-workers": Habits,
    "handle-shared-across-fork": Crowd,
    "opened-per-sample": Crowd,
    "wrong-length": Standing,
    "batches-dropped": Standing,
    "same-order-each-epoch": Standing,
    "order-from-global-rng": Standing,
    "unpicklable": Standing,
    "result-unpicklable": Standing,
    "no-timeout": Standing,
    "not-pinned": Standing,
    "stale-shared-memory": Standing,
    "state-snapshots-slow": Standing,
    "batched-fetch-unused": Whole,
}


@pytest.fixture(scope="module")
def asker() -> Iterator[Asker]:
    asker = Asker()
    plain = asker.tools["diagnose_io"]
    for probe in {*EXPERIMENTS.values()}:

        def recipe(request: Any, probe: Any = probe) -> Any:
            # on a busy machine the scan's first sample, by which its time is judged, is a slow one
            patient = {"most_s": 4.0} if probe is Whole else {}
            return (Environment(), Layout(), Scan(near=False, most=16), probe(**patient))

        asker.tools[probe.name] = replace(plain, recipe=recipe)
    yield asker
    asker.close()


@pytest.mark.parametrize("code", EXPERIMENTS)
def test_a_fault_is_found_and_its_clean_twin_is_silent(code: str, asker: Asker) -> None:
    """Our promise: one rule that fires on a clean loader is wrong, one that stays silent on its fault too."""
    found = [
        {f.code for f in asker.ask(EXPERIMENTS[code].name, f"{ROOT}/benchmarks/faults.py:{name}", str(ROOT)).findings}
        for name in CASES[code]
    ]
    assert code in found[0]
    assert code not in found[1]
