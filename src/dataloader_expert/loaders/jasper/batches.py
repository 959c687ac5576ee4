"""What a batch of a JASPER data set must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from dataloader_expert.loaders.jasper.dataset import KEYS
from dataloader_expert.loaders.jasper.integrity import ROUNDING


def check_shapes(batch: Any) -> None:
    """The nine keys are there, in the shapes that the others imply; else an ``AssertionError`` names key and shapes."""
    if not isinstance(batch, Mapping) or set(batch) != set(KEYS):
        found = sorted(batch) if isinstance(batch, Mapping) else type(batch).__name__
        raise AssertionError(f"the batch has {found}, expected the keys {sorted(KEYS)}")
    size, width = (*batch["question_emb"].shape, -1, -1)[:2]
    negatives = batch["negative_embs"].shape[1] if batch["negative_embs"].ndim > 1 else -1
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(KEYS, (size,))
    shapes |= dict.fromkeys(("question_emb", "target_source_emb", "steering"), (size, width))
    shapes |= {"negative_embs": (size, negatives, width), "negative_tiers": (size, negatives)}
    for name, shape in shapes.items():
        if tuple(batch[name].shape) != shape:
            raise AssertionError(f"{name} has shape {list(batch[name].shape)}, expected {list(shape)}")


def check_ranges(batch: Mapping[str, torch.Tensor], clusters: int) -> None:
    """Clusters and tiers exist, relevance and distances are in range; else an ``AssertionError`` names the key."""
    ranges = {
        "cluster_id": (0, clusters - 1),
        "relevance": (0.0, 1.0),
        "centroid_distance": (0.0, 2.0),
        "steering_variant": (0, 3),
        "negative_tiers": (1, 4),
    }
    for name, (low, high) in ranges.items():
        slack = ROUNDING if batch[name].is_floating_point() else 0
        least, most = (v.item() for v in torch.aminmax(batch[name]))
        if least < low - slack or most > high + slack:
            raise AssertionError(f"{name} is from {least} to {most}, expected [{low}, {high}]")
