"""What fits every sample: torch's own collation."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import default_collate

from dataloader_expert.loaders.collators.base import cast


class DefaultCollator:
    """Stacks as torch's ``default_collate`` does, for samples of any nesting; a field ``label`` becomes ``labels``.

    Args:
        dtype: of floating fields.
    """

    def __init__(self, *, dtype: torch.dtype | None = None) -> None:
        self.dtype = dtype

    def __call__(self, samples: Any) -> Any:
        batch = default_collate(samples)
        if isinstance(batch, dict) and "label" in batch and "labels" not in batch:
            batch["labels"] = batch.pop("label")
        return cast(batch, self.dtype)
