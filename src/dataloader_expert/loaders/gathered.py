"""Batches that were read whole, which look like lists of samples to collate functions that stack samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch.utils.data import default_collate


class Gathered(Sequence[Any]):
    """What ``__getitems__`` of a dataset returns: a batch, and as a sequence its samples.

    Args:
        batch: key to tensor [B, …] or list of length B, with dictionaries as samples; or tensors [B, …], with tuples.
        size: B.
    """

    def __init__(self, batch: Any, size: int) -> None:
        self.batch, self.size = batch, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        return self._samples[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._samples)

    @cached_property
    def _samples(self) -> list[Any]:
        """Made once: torch's own collate function goes through all samples for every key."""
        columns = self.batch.values() if isinstance(self.batch, dict) else self.batch
        rows = zip(*(v.unbind() if isinstance(v, torch.Tensor) else v for v in columns), strict=True)
        return [dict(zip(self.batch, row, strict=True)) for row in rows] if isinstance(self.batch, dict) else list(rows)


def collate_gathered(samples: Any) -> Any:
    """Takes a gathered batch as it is, and stacks anything else as torch does."""
    return samples.batch if isinstance(samples, Gathered) else default_collate(samples)
