"""Samplers: vectorised, seeded, epoch-aware; each usable with a plain ``torch.utils.data.DataLoader``."""

from __future__ import annotations

from dataloader_expert.samplers.balanced import ClassBalancedBatchSampler
from dataloader_expert.samplers.bucketed import LengthBucketBatchSampler
from dataloader_expert.samplers.curriculum import CurriculumSampler
from dataloader_expert.samplers.grouped import GroupBatchSampler

__all__ = ["ClassBalancedBatchSampler", "CurriculumSampler", "GroupBatchSampler", "LengthBucketBatchSampler"]
