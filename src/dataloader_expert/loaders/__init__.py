"""Loaders: the only place that makes a ``torch.utils.data.DataLoader``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from dataloader_expert.loaders.caching import CachedDataset
from dataloader_expert.loaders.collate import pad_collate
from dataloader_expert.loaders.collators.base import Batch, CollatorInfo
from dataloader_expert.loaders.collators.registry import CollatorRegistry, get_collator
from dataloader_expert.loaders.collators.registry import get_collator as _get_collator  # noqa: F401  # kept importable by its older name
from dataloader_expert.loaders.collators.text import BatchTransform, LanguageModelingDataCollator
from dataloader_expert.loaders.collators.vision import VisionDataCollator
from dataloader_expert.loaders.creating import create_loader, load_reference, open_dataset, set_epoch
from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.loaders.factory import DataLoaderConfig, DataLoaderFactory
from dataloader_expert.loaders.freeing import keep_freed_memory
from dataloader_expert.loaders.jasper.dataset import JASPERSteeringDataset
from dataloader_expert.loaders.layouts.embeddings import ModelEmbeddingDataset, build_model_embedding_loader
from dataloader_expert.loaders.layouts.images import (
    GenericBalancedDataLoader,
    GenericImageDataset,
    ImageNetBalancedDataLoader,
    ImageNetDataset,
)
from dataloader_expert.loaders.layouts.parameters import FeatureStatistics, ModelParameterDataset
from dataloader_expert.loaders.layouts.tokens import DatasetTokenDataset, build_dataset_token_loader
from dataloader_expert.loaders.modules.module import DataModuleProtocol, UniversalDataModule
from dataloader_expert.loaders.samples import SourceDataset
from dataloader_expert.loaders.seeding import create_seeded_generator, seed_worker, set_random_seed
from dataloader_expert.loaders.streaming import StreamingDataset
from dataloader_expert.loaders.tasks import TaskSpec, get_default_task_specs
from dataloader_expert.loaders.trainers.profiling import LoaderProfile, profile_dataloader
from dataloader_expert.loaders.trainers.steps import (
    DataLoaderSetupMixin,
    get_dataloader_length,
    get_epoch_length,
    get_train_dataloader_steps,
    get_val_dataloader_steps,
)
from dataloader_expert.loaders.validating import validate_first_batch
from dataloader_expert.sources.fetching import StreamError

__all__ = [
    "Batch",
    "BatchTransform",
    "CachedDataset",
    "CollatorInfo",
    "CollatorRegistry",
    "DataLoaderConfig",
    "DataLoaderFactory",
    "DataLoaderSetupMixin",
    "DataModuleProtocol",
    "DatasetTokenDataset",
    "EpochLoader",
    "FeatureStatistics",
    "GenericBalancedDataLoader",
    "GenericImageDataset",
    "ImageNetBalancedDataLoader",
    "ImageNetDataset",
    "JASPERSteeringDataset",
    "LanguageModelingDataCollator",
    "LoaderProfile",
    "ModelEmbeddingDataset",
    "ModelParameterDataset",
    "SourceDataset",
    "StreamError",
    "StreamingDataset",
    "TaskSpec",
    "UniversalDataModule",
    "VisionDataCollator",
    "build_dataset_token_loader",
    "build_model_embedding_loader",
    "create_loader",
    "create_seeded_generator",
    "get_collator",
    "get_dataloader_length",
    "get_default_task_specs",
    "get_epoch_length",
    "get_train_dataloader_steps",
    "get_val_dataloader_steps",
    "keep_freed_memory",
    "load_reference",
    "open_dataset",
    "pad_collate",
    "profile_dataloader",
    "seed_worker",
    "set_epoch",
    "set_random_seed",
    "validate_first_batch",
]
if find_spec("torchdata") is not None:  # a name in ``__all__`` that cannot be imported breaks ``import *``
    __all__ += ["StatefulDataLoader"]


def __getattr__(name: str) -> Any:
    """What builds on an extra is imported when it is asked for."""
    if name == "StatefulDataLoader":
        from dataloader_expert.loaders.trainers.stateful import StatefulDataLoader

        return StatefulDataLoader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
