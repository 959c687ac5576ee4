"""Samples that are kept in memory after their first read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch.utils.data import Dataset

from dataloader_expert.samplers.rules import position


class CachedDataset(Dataset[Any]):
    """A map-style dataset whose samples are kept after their first read.

    For deterministic datasets: the result of a random transform would repeat in every epoch. The sample returned is the
    one that is kept, so change a copy. Each worker keeps its own samples, but forked workers share what :meth:`fill`
    read before; with another start method a filled dataset is copied to each. ``dataset`` has a length and is indexed from
    0; its ``__getitems__`` is not called, as samples are kept one by one.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.kept: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        at = position(index, len(self))
        if at not in self.kept:
            self.kept[at] = self.dataset[at]
        return self.kept[at]

    def fill(self, indices: Iterable[int] | None = None) -> CachedDataset:
        """Reads these samples, by default all, and returns the dataset."""
        for index in range(len(self)) if indices is None else indices:
            self[index]
        return self
