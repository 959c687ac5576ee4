"""Small parts of JASPER data sets: random embeddings and pairs, a valid directory, CSV files and a clustering."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor


def pairs_of(questions: int, sources: int, clusters: int, pairs: int, width: int = 8, seed: int = 0) -> dict[str, Any]:
    """Arguments of the miner, by name; every source has a cluster, every pair one of its own."""
    g = torch.Generator().manual_seed(seed)
    index = torch.stack(
        [torch.randint(questions, (pairs,), generator=g), torch.randint(sources, (pairs,), generator=g)], 1
    )
    return {
        "source_embeddings": torch.randn(sources, width, generator=g),
        "question_embeddings": torch.randn(questions, width, generator=g),
        "centroid_embeddings": torch.randn(clusters, width, generator=g),
        "pair_indices": index,
        "pair_cluster_ids": torch.randint(clusters, (pairs,), generator=g),
        "source_cluster_ids": torch.arange(sources) % clusters,
    }


def directory(path: Path, **changes: Any) -> Path:
    """A valid data set of 6 pairs, 3 questions, 5 sources, 4 keywords, 2 clusters, width 8, 3 negatives.

    Args:
        path: where to.
        changes: other content of files, by name without ``.pt``; None leaves a file out.
    """
    g = torch.Generator().manual_seed(1)

    def floats(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=g)

    content = {
        "question_embs": floats(3, 8),
        "source_embs": floats(5, 8),
        "keyword_embs": floats(4, 8),
        "centroid_embs": floats(2, 8),
        "pair_index": torch.tensor([[0, 0], [0, 1], [1, 2], [1, 3], [2, 4], [2, 0]]),
        "pair_cluster_id": torch.tensor([0, 0, 1, 1, 0, 1]),
        "pair_relevance": torch.tensor([0.0, 1.0, 0.5, 0.2, 0.3, 0.4]),
        "pair_keyword_ids": [[0, 3], [], [1], [2], [0], [1, 2]],
        "steering_centroid": floats(6, 8),
        "steering_keyword_weighted": floats(6, 8),
        "steering_residual": torch.zeros(6, 8),
        "centroid_distances": torch.tensor([0.0, 2.0, 1.0, 0.5, 0.1, 2.0000005]),
        "hard_negatives": torch.tensor([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2], [1, 2, 2]]),
        "negative_tiers": torch.tensor([[1, 2, 3]] * 5 + [[4, 4, 4]]),
        "train_idx": torch.tensor([0, 1, 5, 4]),
        "val_idx": torch.tensor([2]),
        "test_idx": torch.tensor([3]),
    }
    path.mkdir(parents=True, exist_ok=True)
    for name, value in {**content, **changes}.items():
        if value is not None:
            torch.save(value, path / f"{name}.pt")
    return path


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A CSV file of ``rows``, which all have the keys of the first."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def clustering(path: Path, **changes: Any) -> Path:
    """A clustering of six keywords into three clusters of width 4, with embeddings of its keywords."""
    words = {"cat": 0, "dog": 0, "oak": 1, "elm": 1, "sea": 2, "tide": 2}
    content = {
        "metadata": {"n_clusters": 3},
        "cluster_assignments": words,
        "clusters": {str(c): [w for w, own in words.items() if own == c] for c in range(3)},
        "cluster_stats": {"0": {"size": 2, "topic_descriptors": ["animals"]}},
        "centroids": np.eye(3, 4).tolist(),
        "embeddings": {w: (np.eye(3, 4)[c] + 0.1).tolist() for w, c in words.items()},
    }
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")
    return path


class Embedder:
    """A model as in sentence-transformers: the same vector for the same text, and a note of what it was asked for."""

    def __init__(self, width: int = 4) -> None:
        self.width = width
        self.asked: list[str] = []

    def encode(self, texts: list[str], **_: object) -> np.ndarray[Any, Any]:
        self.asked += texts
        return np.array([np.random.RandomState(sum(map(ord, text))).randn(self.width) for text in texts])
