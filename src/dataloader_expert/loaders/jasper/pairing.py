"""The rows of a linked table as tensors: which question, source, cluster and keywords each pair has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dataloader_expert.loaders.jasper.allotting import majorities
from dataloader_expert.loaders.jasper.artifacts import save_payload, save_tensor_artifact
from dataloader_expert.loaders.jasper.keywords import normalized

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Pairs:
    """Of all pairs, and the cluster of every source."""

    index: Tensor
    """Rows of question and source, int64 [pairs, 2]."""
    clusters: Tensor
    relevance: Tensor
    """In [0, 1], float32."""
    keyword_ids: list[list[int]]
    """Rows of keywords, ascending."""
    source_clusters: Tensor
    """The cluster of most of a source's pairs, on a tie the smallest id, int64 [sources]."""

    def save(self, output_dir: Path) -> None:
        """Writes ``pair_index.pt``, ``pair_cluster_id.pt``, ``pair_relevance.pt`` and ``pair_keyword_ids.pt``."""
        save_tensor_artifact(self.index, output_dir, "pair_index.pt")
        save_tensor_artifact(self.clusters, output_dir, "pair_cluster_id.pt")
        save_tensor_artifact(self.relevance, output_dir, "pair_relevance.pt")
        save_payload(self.keyword_ids, output_dir / "pair_keyword_ids.pt")


def paired(
    linked: pd.DataFrame, questions: Mapping[str, int], sources: Mapping[str, int], keywords: Mapping[str, int]
) -> Pairs:
    """Pairs of a table with ``question``, ``source``, ``keywords``, ``relevance_score`` and ``cluster_id``, a row each.

    The others are the row of each text, and of each keyword in lower case; unknown keywords are left out.
    """
    rows = [(questions[q], sources[s]) for q, s in zip(linked["question"], linked["source"], strict=True)]
    index = torch.tensor(rows, dtype=torch.long)
    clusters = torch.tensor(linked["cluster_id"].tolist(), dtype=torch.long)
    return Pairs(
        index,
        clusters,
        torch.tensor(linked["relevance_score"].tolist(), dtype=torch.float32),
        [sorted({keywords[w] for w in map(normalized, words) if w in keywords}) for words in linked["keywords"]],
        torch.from_numpy(majorities(index[:, 1].numpy(), clusters.numpy(), len(sources))),
    )
