"""Samples that are kept in memory once read."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

from torch.utils.data import Dataset


class CachedDataset(Dataset[Any]):
    """A map-style dataset whose samples are kept after their first read.

    For samples that are the same each time: what a random transform gave once would come in every epoch. A sample is
    handed out as it is kept, so change a copy. Each worker keeps its own samples, but shares what :meth:`fill` read
    before it was forked; with another start method a filled dataset is sent whole to each.

    Args:
        dataset: map-style, with ``__len__``; it is read by index from 0 to its length.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.kept: dict[int, Any] = {}

    def __len__(self) -> int:
        source: Sized = self.dataset
        return len(source)

    def __getitem__(self, index: int) -> Any:
        at = range(len(self))[index]
        if at not in self.kept:
            self.kept[at] = self.dataset[at]
        return self.kept[at]

    def fill(self, indices: Iterable[int] | None = None) -> CachedDataset:
        """Reads these samples, by default all, and gives the dataset back."""
        for index in range(len(self)) if indices is None else indices:
            self[index]
        return self
