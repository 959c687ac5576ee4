"""Samplers: vectorised, seeded, epoch-aware, sharded across ranks, resumable; each for a plain ``DataLoader``."""

from __future__ import annotations

from dataloader_expert.samplers.balanced import ClassBalancedBatchSampler
from dataloader_expert.samplers.blocks import BlockShuffleSampler
from dataloader_expert.samplers.bucketed import LengthBucketBatchSampler, TokenBudgetBatchSampler
from dataloader_expert.samplers.curriculum import CurriculumSampler
from dataloader_expert.samplers.grouped import GroupBatchSampler, split_by_group
from dataloader_expert.samplers.shuffled import (
    DistributedShuffleSampler,
    OrderedSampler,
    ShuffleSampler,
    TorchShuffleSampler,
)
from dataloader_expert.samplers.stratified import StratifiedBatchSampler
from dataloader_expert.samplers.weighted import WeightedSampler

__all__ = [
    "BlockShuffleSampler",
    "ClassBalancedBatchSampler",
    "CurriculumSampler",
    "DistributedShuffleSampler",
    "GroupBatchSampler",
    "LengthBucketBatchSampler",
    "OrderedSampler",
    "ShuffleSampler",
    "StratifiedBatchSampler",
    "TokenBudgetBatchSampler",
    "TorchShuffleSampler",
    "WeightedSampler",
    "split_by_group",
]
