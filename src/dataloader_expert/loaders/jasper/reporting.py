"""A built data set in numbers, ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.stored import STEERING
from dataloader_expert.loaders.jasper.tables import KeywordLists, Tables
from dataloader_expert.loaders.jasper.tiers import TIERS


def report(tables: Tables, splits: Mapping[str, Tensor]) -> dict[str, Any]:
    """Counts, widths, shares of splits, and how steering, negatives, keywords and clusters are spread."""
    n, clusters = len(tables.pair_index), len(tables.centroid_embs)
    return {
        "n_pairs": n,
        "n_questions": len(tables.question_embs),
        "n_sources": len(tables.source_embs),
        "n_keywords": len(tables.keyword_embs),
        "n_clusters": clusters,
        "embedding_dim": tables.question_embs.shape[1],
        "n_neg": tables.hard_negatives.shape[1],
        "splits": {s: {"n_pairs": len(rows), "share": len(rows) / n} for s, rows in splits.items()},
        "steering": {
            **{name.removeprefix("steering_"): _lengths(getattr(tables, name)) for name in STEERING},
            "centroid_distance": _spread(tables.centroid_distances),
        },
        "negatives": _negatives(tables.hard_negatives, tables.negative_tiers),
        "keywords": _keywords(tables.pair_keyword_ids),
        "pairs_per_cluster": _spread(torch.bincount(tables.pair_cluster_id, minlength=clusters)),
        "relevance": _spread(tables.pair_relevance),
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


def _keywords(lists: KeywordLists) -> dict[str, Any]:
    counts = lists.ends.diff(prepend=torch.zeros(1, dtype=torch.int64))
    return {"mean_per_pair": counts.double().mean().item(), "pairs_without": int((counts == 0).sum())}
