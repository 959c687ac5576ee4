"""Training and validation parts of one data set, by seed alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, Subset

from dataloader_expert.loaders.seeding import create_seeded_generator, mixed
from dataloader_expert.loaders.sharing import whole
from dataloader_expert.loaders.streaming import StreamingDataset
from dataloader_expert.loaders.tensor_rows import by_batch, gathers, stacked

logger = logging.getLogger(__name__)


class Part(Subset[Any]):
    """Some samples of a dataset, read by the batch where it can.

    Args:
        dataset: map-style.
        indices: int64 array [samples].
    """

    def __init__(self, dataset: Any, indices: Any) -> None:
        super().__init__(dataset, indices)

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[int(self.indices[index])]

    def __getitems__(self, indices: Any) -> Any:
        rows: Any = self.indices[indices]
        if gathers(self.dataset):
            return self.dataset.__getitems__(rows)  # type: ignore[attr-defined]  # TensorRows and its parts have it
        several = getattr(self.dataset, "__getitems__", None)
        return [self.dataset[row] for row in rows.tolist()] if several is None else several(rows.tolist())


class StreamPart(IterableDataset[Any]):
    """The elements of a stream that a seeded choice by their place puts into one of its two parts.

    Args:
        dataset: iterable, with the same elements in the same order each time.
        share: of validation, in (0, 1).
        validation: which part this is.
        seed: of the choice.
    """

    def __init__(self, dataset: Any, share: float, validation: bool, seed: int) -> None:
        self.dataset, self.share, self.validation, self.seed = dataset, share, validation, seed

    def of(self, dataset: Any) -> StreamPart:
        """The same part of a stream that has an element for each of this one's."""
        return StreamPart(dataset, self.share, self.validation, self.seed)

    def __iter__(self) -> Iterator[Any]:
        limit = int(self.share * 2**63)
        for place, element in enumerate(whole(self.dataset)):  # a place counts in the whole stream
            if (mixed(self.seed, place) < limit) == self.validation:
                yield element


def split(data: Any, share: float, seed: int, in_order: bool = False) -> tuple[Any, Any]:
    """``data`` and its validation part.

    Of N samples ``round(share * N)`` are for validation, at least one, and never all. Which, is what torch's
    ``random_split`` with a generator of that seed says, of a ``datasets.Dataset`` its own ``train_test_split``.

    Args:
        data: a list, a ``datasets.Dataset``, or a dataset of torch, map-style or iterable.
        share: of validation, in [0, 1).
        seed: of the choice.
        in_order: the last samples of a list are for validation, as earlier versions had it, rather than a seeded choice.

    Returns:
        Both of the kind of ``data``; None in the place of a part that has no samples.

    Raises:
        ValueError: if ``share`` is not in [0, 1).
    """
    if not 0 <= share < 1:
        raise ValueError(f"val_split is {share}; it is the share of validation, in [0, 1)")
    if not share:
        return data, None
    if isinstance(data, StreamingDataset):  # it knows its elements by more than their place in a pass
        return data.part(share, False, seed), data.part(share, True, seed)
    if isinstance(data, IterableDataset) or _streams(data):
        return StreamPart(data, share, False, seed), StreamPart(data, share, True, seed)
    count = len(data)
    validation = min(max(1, round(share * count)), count - 1)
    if validation < 1:
        logger.warning("%d samples cannot be split: all are for training", count)
        return data, None
    if hasattr(data, "train_test_split"):
        parts = data.train_test_split(test_size=validation, seed=seed)
        return parts["train"], parts["test"]
    order = np.arange(count) if in_order else torch.randperm(count, generator=create_seeded_generator(seed)).numpy()
    return _part(data, order[: count - validation]), _part(data, order[count - validation :])


def _part(data: Any, rows: Any) -> Any:
    return [data[row] for row in rows.tolist()] if isinstance(data, list) else Part(by_batch(data), rows)


def _streams(data: Any) -> bool:
    return hasattr(data, "__iter__") and not hasattr(data, "__len__")


def as_dataset(data: Sequence[Any] | Any) -> Any:
    """A list of tensors of one shape as a dataset of them; anything else as it is."""
    return stacked(data) if isinstance(data, list) and data and all(isinstance(v, torch.Tensor) for v in data) else data
