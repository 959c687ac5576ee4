"""Loaders: the only place that makes a ``torch.utils.data.DataLoader``."""

from __future__ import annotations

from dataloader_expert.loaders.collate import pad_collate
from dataloader_expert.loaders.creating import create_loader, set_epoch
from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.loaders.jasper.dataset import JASPERSteeringDataset
from dataloader_expert.loaders.opening import load_reference, open_dataset
from dataloader_expert.loaders.samples import SourceDataset
from dataloader_expert.loaders.validating import validate_first_batch

__all__ = [
    "EpochLoader",
    "JASPERSteeringDataset",
    "SourceDataset",
    "create_loader",
    "load_reference",
    "open_dataset",
    "pad_collate",
    "set_epoch",
    "validate_first_batch",
]
