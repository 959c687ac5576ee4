"""JASPER data sets: built from tables of questions and sources, checked, and read for training."""

from __future__ import annotations

from dataloader_expert.loaders.jasper.artifacts import load_multiple_tensors, load_tensor_artifact, save_tensor_artifact
from dataloader_expert.loaders.jasper.building import _csv_origin_split, build_dataset
from dataloader_expert.loaders.jasper.clusters import Clusters, link_sources, parse_clusters
from dataloader_expert.loaders.jasper.config import BuildConfig
from dataloader_expert.loaders.jasper.curriculum import Curriculum
from dataloader_expert.loaders.jasper.dataset import JASPERSteeringDataset
from dataloader_expert.loaders.jasper.embedding import generate_embeddings
from dataloader_expert.loaders.jasper.finalizing import DatasetFinalizer, finalize_dataset
from dataloader_expert.loaders.jasper.merging import CSVMerger, merge_csv_files
from dataloader_expert.loaders.jasper.negatives import NegativeMiner, mine_negatives
from dataloader_expert.loaders.jasper.splitting import DatasetSplitter, create_train_val_split, split_dataset
from dataloader_expert.loaders.jasper.steering import SteeringBuilder, build_steering
from dataloader_expert.loaders.jasper.validation import (
    validate_cluster_ids_bounds,
    validate_embedding_dimensions,
    validate_keyword_ids_list,
    validate_length_consistency,
    validate_no_nan_inf,
    validate_pair_indices_bounds,
    validate_split_ratios,
    validate_tensor_1d,
    validate_tensor_2d,
    validate_values_in_range,
)

__all__ = [
    "Curriculum",
    "JASPERSteeringDataset",
    "BuildConfig",
    "CSVMerger",
    "Clusters",
    "DatasetFinalizer",
    "DatasetSplitter",
    "NegativeMiner",
    "SteeringBuilder",
    "_csv_origin_split",
    "build_dataset",
    "build_steering",
    "create_train_val_split",
    "finalize_dataset",
    "generate_embeddings",
    "link_sources",
    "load_multiple_tensors",
    "load_tensor_artifact",
    "merge_csv_files",
    "mine_negatives",
    "parse_clusters",
    "save_tensor_artifact",
    "split_dataset",
    "validate_cluster_ids_bounds",
    "validate_embedding_dimensions",
    "validate_keyword_ids_list",
    "validate_length_consistency",
    "validate_no_nan_inf",
    "validate_pair_indices_bounds",
    "validate_split_ratios",
    "validate_tensor_1d",
    "validate_tensor_2d",
    "validate_values_in_range",
]
