"""The tools with blocks of a few hundredths of a second: the same runs, shorter, and experiments where they are asked."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.experiments.batched_indexing import BatchedIndexing
from dataloader_expert.probes.experiments.malloc_retention import MallocRetention
from dataloader_expert.probes.experiments.packing import Packing
from dataloader_expert.probes.experiments.projection import Projection
from dataloader_expert.probes.experiments.sample_cache import SampleCache
from dataloader_expert.probes.experiments.sampler_simulation import Draws
from dataloader_expert.probes.health.start_up import StartUp
from dataloader_expert.probes.health.worker_resources import WorkerResources
from dataloader_expert.probes.health.worker_semantics import WorkerSemantics
from dataloader_expert.probes.profile.stages import Stages
from dataloader_expert.probes.search.batch_sizes import BatchSizes
from dataloader_expert.probes.search.loading import Loading
from dataloader_expert.probes.system.malloc_as_started import MallocAsStarted
from dataloader_expert.probes.system.storage import Storage
from dataloader_expert.tools.base import Tool

EXPERIMENTS = (
    MallocAsStarted
    | SampleCache
    | WorkerResources
    | MallocRetention
    | WorkerSemantics
    | BatchedIndexing
    | Packing
    | Projection
)
"""What forks, or runs a user's loader otherwise than it is, beside the search."""


def quick(tool: Tool, experiments: bool = False, stacks_s: float = 0.25) -> Tool:
    """The tool with blocks of a few hundredths of a second: the same runs, shorter; of user code stacks for that long."""

    def recipe(request: Any) -> tuple[Probe, ...]:
        users = ".py:" in request.source
        kept = (p for p in tool.recipe(request) if experiments or not isinstance(p, EXPERIMENTS))
        return tuple(shorter(p, stacks_s if users else None) for p in kept)

    return replace(tool, recipe=recipe)


def shorter(probe: Probe, stacks_s: float | None) -> Probe:
    """``stacks_s``: seconds in which stacks are gathered of code that is not ours, and settings searched that are planted to
    differ; None of a source of ours."""
    users = stacks_s is not None
    if isinstance(probe, Loading):
        most = probe.max_workers if probe.max_workers is not None else 4 if users else 1
        block_s, pairs, most_s = (0.03, probe.pairs, 2.0) if users else (0.01, 3, 0.6)
        return replace(probe, block_s=block_s, pairs=pairs, most_s=most_s, max_workers=most)
    if isinstance(probe, BatchSizes):
        return replace(probe, block_s=0.005, sizes=(8, 16))
    if isinstance(probe, Draws):
        return replace(probe, block_s=0.01)
    if isinstance(probe, Stages):
        return replace(probe, most_s=0.05 if stacks_s is None else stacks_s, half=0.1)
    if isinstance(probe, SampleCache):
        return replace(probe, block_s=0.01, most_s=0.5 if users else 0.0)
    if isinstance(probe, StartUp):
        return replace(probe, least_s=math.inf)
    return (
        replace(probe, most_s=0.2)
        if isinstance(probe, Storage | WorkerResources | WorkerSemantics | BatchedIndexing)
        else probe
    )
