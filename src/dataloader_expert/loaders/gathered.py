"""Batches that were read whole, which look like lists of samples to collate functions that stack samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch.utils.data import default_collate


class Gathered(Sequence[dict[str, Any]]):
    """What ``__getitems__`` of a dataset returns: a batch, and as a sequence its samples.

    Args:
        batch: key to tensor [B, …] or list of length B.
        size: B.
    """

    def __init__(self, batch: dict[str, Any], size: int) -> None:
        self.batch, self.size = batch, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        return self._samples[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._samples)

    @cached_property
    def _samples(self) -> list[dict[str, Any]]:
        """Made once: torch's own collate function goes through all samples for every key."""
        columns = [v.unbind() if isinstance(v, torch.Tensor) else v for v in self.batch.values()]
        return [dict(zip(self.batch, values, strict=True)) for values in zip(*columns, strict=True)]


class GatheredRows(Sequence[tuple[Any, ...]]):
    """A batch of tensors that was read whole, as a sequence its samples: tuples of rows.

    Args:
        batch: tensors [B, …], one for each part of a sample.
    """

    def __init__(self, batch: list[Any]) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return len(self.batch[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return tuple(part[index] for part in self.batch)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return (self[i] for i in range(len(self)))


def collate_gathered(samples: Any) -> Any:
    """Takes a gathered batch as it is, and stacks anything else as torch does."""
    return samples.batch if isinstance(samples, Gathered | GatheredRows) else default_collate(samples)
