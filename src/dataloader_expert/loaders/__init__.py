"""Loaders: the only place that makes a ``torch.utils.data.DataLoader``."""

from __future__ import annotations

from dataloader_expert.loaders.collate import pad_collate
from dataloader_expert.loaders.creating import create_loader, set_epoch
from dataloader_expert.loaders.embeddings import ModelEmbeddingDataset, build_model_embedding_loader
from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.loaders.hub_images import (
    GenericBalancedDataLoader,
    GenericImageDataset,
    ImageNetBalancedDataLoader,
    ImageNetDataset,
)
from dataloader_expert.loaders.jasper.dataset import JASPERSteeringDataset
from dataloader_expert.loaders.opening import load_reference, open_dataset
from dataloader_expert.loaders.parameters import FeatureStatistics, ModelParameterDataset
from dataloader_expert.loaders.samples import SourceDataset
from dataloader_expert.loaders.tokens import DatasetTokenDataset, build_dataset_token_loader
from dataloader_expert.loaders.validating import validate_first_batch

__all__ = [
    "DatasetTokenDataset",
    "EpochLoader",
    "FeatureStatistics",
    "GenericBalancedDataLoader",
    "GenericImageDataset",
    "ImageNetBalancedDataLoader",
    "ImageNetDataset",
    "JASPERSteeringDataset",
    "ModelEmbeddingDataset",
    "ModelParameterDataset",
    "SourceDataset",
    "build_dataset_token_loader",
    "build_model_embedding_loader",
    "create_loader",
    "load_reference",
    "open_dataset",
    "pad_collate",
    "set_epoch",
    "validate_first_batch",
]
