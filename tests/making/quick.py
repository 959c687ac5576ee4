"""The tools with blocks of a few hundredths of a second: the same runs, shorter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dataloader_expert.probes.base import Probe
from dataloader_expert.probes.crowd import Crowd
from dataloader_expert.probes.draws import Draws
from dataloader_expert.probes.habits import Habits
from dataloader_expert.probes.loading import BatchSizes, Loading
from dataloader_expert.probes.stages import Stages
from dataloader_expert.probes.storage import Storage
from dataloader_expert.tools.base import Tool


def quick(tool: Tool) -> Tool:
    """The tool with blocks of a few hundredths of a second: the same runs, shorter."""

    def recipe(request: Any) -> tuple[Probe, ...]:
        return tuple(shorter(p) for p in tool.recipe(request))

    return replace(tool, recipe=recipe)


def shorter(probe: Probe) -> Probe:
    if isinstance(probe, Loading):
        return replace(probe, block_s=0.01, pairs=3, most_s=1.0)
    if isinstance(probe, BatchSizes):
        return replace(probe, block_s=0.005, sizes=(16, 64))
    if isinstance(probe, Draws):
        return replace(probe, block_s=0.02)
    if isinstance(probe, Stages):
        return replace(probe, most_s=0.3, half=0.1)
    return replace(probe, most_s=0.3) if isinstance(probe, Storage | Crowd | Habits) else probe
