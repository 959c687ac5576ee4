"""A built data set in numbers, ready for JSON."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.checking import STEERING, Artifacts
from dataloader_expert.loaders.jasper.tiers import TIERS


def report(artifacts: Artifacts) -> dict[str, Any]:
    """Counts, widths, shares of splits, and how steering, negatives, keywords and clusters are spread."""
    tensors, n = artifacts.tensors, artifacts.n_pairs
    return {
        "n_pairs": n,
        "n_questions": artifacts.rows("question_embs"),
        "n_sources": artifacts.rows("source_embs"),
        "n_keywords": artifacts.rows("keyword_embs"),
        "n_clusters": artifacts.rows("centroid_embs"),
        "embedding_dim": artifacts.embedding_dim,
        "n_neg": artifacts.n_neg,
        "splits": {s: {"n_pairs": len(rows), "share": len(rows) / n} for s, rows in artifacts.splits.items()},
        "steering": {
            **{name.removeprefix("steering_"): _lengths(tensors[name]) for name in STEERING},
            "centroid_distance": _spread(tensors["centroid_distances"]),
        },
        "negatives": _negatives(tensors["hard_negatives"], tensors["negative_tiers"]),
        "keywords": _keywords(artifacts.keyword_ids),
        "pairs_per_cluster": _spread(
            torch.bincount(tensors["pair_cluster_id"].long(), minlength=artifacts.rows("centroid_embs"))
        ),
        "relevance": _spread(tensors["pair_relevance"]),
    }


def _lengths(vectors: Tensor) -> dict[str, Any]:
    lengths = vectors.float().norm(dim=1)
    return {**_spread(lengths), "zero_vectors": int((lengths == 0).sum())}


def _spread(values: Tensor) -> dict[str, float]:
    real = values.double()
    return {"min": real.min().item(), "mean": real.mean().item(), "max": real.max().item()}


def _negatives(negatives: Tensor, tiers: Tensor) -> dict[str, Any]:
    counts = torch.bincount(tiers.long().flatten(), minlength=TIERS + 1).tolist()
    ordered = negatives.sort(dim=1).values
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(dim=1)
    return {
        "per_tier": {str(tier): counts[tier] for tier in range(1, TIERS + 1)},
        "pairs_with_repeats": int(repeated.sum()),
    }


def _keywords(ids: list[list[int]]) -> dict[str, Any]:
    return {"mean_per_pair": sum(map(len, ids)) / len(ids), "pairs_without": sum(not keywords for keywords in ids)}
