"""Batches that were read whole, which look like lists of samples to collate functions that stack samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

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
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        at = range(self.size)[index]
        return {name: values[at] for name, values in self.batch.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(self.size))


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
