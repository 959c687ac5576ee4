"""A built directory, read whole, and all that must hold in it before it is declared finished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.artifacts import load_tensor_artifact
from dataloader_expert.loaders.jasper.integrity import within
from dataloader_expert.loaders.jasper.tables import SHAPES, SPLITS
from dataloader_expert.loaders.jasper.validation import (
    validate_cluster_ids_bounds,
    validate_embedding_dimensions,
    validate_keyword_ids_list,
    validate_length_consistency,
    validate_no_nan_inf,
    validate_pair_indices_bounds,
    validate_values_in_range,
)

EMBEDDINGS = ("question_embs", "source_embs", "centroid_embs")
STEERING = ("steering_centroid", "steering_keyword_weighted", "steering_residual")


@dataclass(frozen=True)
class Artifacts:
    """What a directory holds: tensors of :data:`SHAPES` by name, keyword rows a pair, pair rows a split."""

    tensors: Mapping[str, Tensor]
    keyword_ids: list[list[int]]
    splits: Mapping[str, Tensor]

    def rows(self, name: str) -> int:
        """The length of tensor ``name``."""
        return len(self.tensors[name])

    @property
    def n_pairs(self) -> int:
        """Pairs of a question and a source."""
        return self.rows("pair_index")

    @property
    def embedding_dim(self) -> int:
        """Width of an embedding."""
        return self.tensors["question_embs"].shape[1]

    @property
    def n_neg(self) -> int:
        """Hard negatives of a pair."""
        return self.tensors["hard_negatives"].shape[1]


def read_artifacts(directory: Path, required: tuple[str, ...], needs_test: bool) -> Artifacts:
    """Reads the PT files of ``directory``.

    Args:
        directory: where they are.
        required: names of all files, of which ``test_idx.pt`` may be missing if not ``needs_test``.
        needs_test: whether there must be a test split.

    Raises:
        FileNotFoundError: naming all files that are missing.
        ValueError: if a file is damaged or its tensor has other dimensions.
    """
    missing = [name for name in required if not (directory / name).exists()]
    if not needs_test:
        missing = [name for name in missing if name != "test_idx.pt"]
    if missing:
        raise FileNotFoundError(f"Missing required dataset files in {directory}: {', '.join(missing)}. Build it again")
    tensors = {n: load_tensor_artifact(directory, f"{n}.pt", expected_shape=shape) for n, shape in SHAPES.items()}
    splits: dict[str, Tensor] = {}
    for split in SPLITS:
        rows = load_tensor_artifact(directory, f"{split}_idx.pt", expected_shape=(None,), required=False)
        splits[split] = torch.empty(0, dtype=torch.long) if rows is None else rows
    return Artifacts(tensors, load_tensor_artifact(directory, "pair_keyword_ids.pt"), splits)


def check_artifacts(artifacts: Artifacts, needs_test: bool) -> None:
    """Every rule that needs no configuration but whether the test split must have pairs.

    Raises:
        TypeError: if indices are no integers, or keywords no lists.
        ValueError: naming the first rule that is broken.
    """
    _check_embeddings(artifacts)
    _check_pairs(artifacts)
    _check_steering(artifacts)
    _check_negatives(artifacts)
    _check_splits(artifacts, needs_test)


def _check_embeddings(artifacts: Artifacts) -> None:
    names = [*EMBEDDINGS, "keyword_embs"] if artifacts.rows("keyword_embs") else [*EMBEDDINGS]
    validate_embedding_dimensions(*((artifacts.tensors[name], name) for name in names))
    for name in names:
        validate_no_nan_inf(artifacts.tensors[name], name)


def _check_pairs(artifacts: Artifacts) -> None:
    tensors, n = artifacts.tensors, artifacts.n_pairs
    questions, sources, clusters = (artifacts.rows(name) for name in EMBEDDINGS)
    validate_pair_indices_bounds(tensors["pair_index"], questions, sources, "pair_index", allow_negative=False)
    per_pair = ("pair_cluster_id", "pair_relevance", "centroid_distances", "hard_negatives", *STEERING)
    validate_length_consistency(*((tensors[name], name, n) for name in per_pair))
    validate_cluster_ids_bounds(tensors["pair_cluster_id"], clusters, "pair_cluster_id", allow_negative=False)
    validate_no_nan_inf(tensors["pair_relevance"], "pair_relevance")
    validate_values_in_range(tensors["pair_relevance"], "pair_relevance", 0.0, 1.0)
    validate_keyword_ids_list(artifacts.keyword_ids, n, artifacts.rows("keyword_embs"))


def _check_steering(artifacts: Artifacts) -> None:
    for name in STEERING:
        width = artifacts.tensors[name].shape[1]
        if width != artifacts.embedding_dim:
            raise ValueError(f"{name} is {width} wide, the embeddings {artifacts.embedding_dim}: build steering again")
        validate_no_nan_inf(artifacts.tensors[name], name)
    within(artifacts.tensors["centroid_distances"], 0.0, 2.0, "centroid_distances")


def _check_negatives(artifacts: Artifacts) -> None:
    negatives, tiers = artifacts.tensors["hard_negatives"], artifacts.tensors["negative_tiers"]
    if negatives.shape != tiers.shape or not negatives.shape[1]:
        raise ValueError(
            f"hard_negatives is {list(negatives.shape)}, negative_tiers {list(tiers.shape)}: they must have one shape, "
            "of at least one column"
        )
    for tensor, name in ((negatives, "hard_negatives"), (tiers, "negative_tiers")):
        _require_integers(tensor, name)
    validate_values_in_range(negatives, "hard_negatives", 0, artifacts.rows("source_embs") - 1)
    validate_values_in_range(tiers, "negative_tiers", 1, 4)
    own = (negatives == artifacts.tensors["pair_index"][:, 1:]).any(dim=1).nonzero()
    if len(own):
        raise ValueError(
            f"hard_negatives contains true source of {len(own)} pairs, the first is {int(own[0])}: mine again"
        )


def _check_splits(artifacts: Artifacts, needs_test: bool) -> None:
    n = artifacts.n_pairs
    for split, rows in artifacts.splits.items():
        _require_integers(rows, f"{split}_idx")
        if not len(rows):
            if split != "test" or needs_test:
                raise ValueError(f"{split}_idx is empty: split again, with more pairs or another ratio")
            continue
        validate_values_in_range(rows, f"{split}_idx", 0, n - 1)
        if len(torch.unique(rows)) != len(rows):
            raise ValueError(f"{split}_idx names a pair twice: split again")
    for (one, rows), (other, others) in combinations(artifacts.splits.items(), 2):
        shared = torch.isin(rows, others)
        if shared.any():
            first = int(rows[shared][0])
            raise ValueError(
                f"{one}_idx and {other}_idx overlap in {int(shared.sum())} pairs, the first is {first}: split again"
            )
    covered = sum(len(rows) for rows in artifacts.splits.values())
    if covered != n:
        raise ValueError(f"the splits have {covered} of {n} pairs: all must be in one")


def _require_integers(tensor: Tensor, name: str) -> None:
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.bool:
        raise TypeError(f"{name} must hold integers, and holds {tensor.dtype}")
