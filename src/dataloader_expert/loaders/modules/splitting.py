"""Training and validation parts of one data set, by seed alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, Subset

from dataloader_expert.loaders.layouts.hub_rows import is_hub
from dataloader_expert.loaders.seeding import create_seeded_generator, mixed
from dataloader_expert.loaders.sharding import whole
from dataloader_expert.loaders.streaming import StreamingDataset
from dataloader_expert.loaders.tensor_rows import by_batch, gathers, stacked
from dataloader_expert.samplers import split_by_group
from dataloader_expert.samplers.ordering import class_codes

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


def split(
    data: Any, share: float, seed: int, in_order: bool = False, stratify: Any = None, groups: Any = None
) -> tuple[Any, Any]:
    """``data`` and its validation part.

    Of N samples ``round(share * N)`` are for validation, at least one, and never all; with ``groups`` as near to that
    as whole groups allow. The choice equals torch's ``random_split`` with a generator of that seed; for a
    ``datasets.Dataset``, its ``train_test_split``.

    Args:
        data: a list, a ``datasets.Dataset``, or a dataset of torch, map-style or iterable.
        share: of validation, in [0, 1).
        seed: of the choice.
        in_order: the last samples of a list are for validation, as earlier versions had it, rather than a seeded choice.
        stratify: each class has its share in both parts, within one sample: one value per sample, or the name of a field.
        groups: no group is in both parts: likewise.

    Returns:
        Both of the kind of ``data``; None in the place of a part that has no samples.

    Raises:
        ValueError: if ``share`` is not in [0, 1); for a stream that is to be stratified or split by groups, and if both
            are asked for; if there are not as many values as samples.
    """
    if not 0 <= share < 1:
        raise ValueError(f"val_split is {share}; it is the share of validation, in [0, 1)")
    if stratify is not None and groups is not None:
        raise ValueError("stratify and groups exclude each other: whole groups cannot keep each class's share")
    if not share:
        return data, None
    streams = isinstance(data, IterableDataset) or _streams(data)
    if streams and (stratify is not None or groups is not None):
        raise ValueError(f"{type(data).__name__} is a stream: its classes and groups are not known beforehand")
    if isinstance(data, StreamingDataset):  # it knows its elements by more than their place in a pass
        return data.part(share, False, seed), data.part(share, True, seed)
    if streams:
        return StreamPart(data, share, False, seed), StreamPart(data, share, True, seed)
    count = len(data)
    validation = min(max(1, round(share * count)), count - 1)
    if validation < 1:
        logger.warning("%d samples cannot be split: all are for training", count)
        return data, None
    if stratify is not None or groups is not None:
        values = _values(data, stratify if groups is None else groups)
        parts = {"train": 1 - share, "val": share}
        rows = split_by_group(values, parts, seed)["val"] if stratify is None else _stratified(values, validation, seed)
        if not 0 < len(rows) < count:
            logger.warning("%d samples cannot be split this way: all are for training", count)
            return data, None
        inside = np.zeros(count, bool)
        inside[rows] = True
        return _part(data, np.flatnonzero(~inside)), _part(data, np.flatnonzero(inside))
    if hasattr(data, "train_test_split"):
        parts = data.train_test_split(test_size=validation, seed=seed)
        return parts["train"], parts["test"]
    order = np.arange(count) if in_order else torch.randperm(count, generator=create_seeded_generator(seed)).numpy()
    return _part(data, order[: count - validation]), _part(data, order[count - validation :])


def _values(data: Any, given: Any) -> Any:
    """One value per sample, as given, or of the field of that name: of a column, an attribute, else of every sample.

    Raises:
        ValueError: if there are not as many as samples.
    """
    values = given
    if isinstance(given, str):
        columns = getattr(data, "column_names", None) or ()
        held = getattr(data, given, None)
        values = data[given] if given in columns else held
        if values is None or isinstance(values, str) or not hasattr(values, "__len__"):
            values = [data[row][given] for row in range(len(data))]
    values = [v.item() if hasattr(v, "item") else v for v in values]
    if len(values) != len(data):
        raise ValueError(f"{len(values)} values for {len(data)} samples: one each is needed")
    return values


def _stratified(labels: Any, count: int, seed: int) -> Any:
    """``count`` rows, of each class its share within one."""
    codes, _ = class_codes(labels)
    rng = np.random.Generator(np.random.SFC64([seed]))
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    marks = np.floor((np.arange(len(order) + 1) * count + int(rng.integers(len(order)))) / len(order))
    return order[np.diff(marks) > 0]


def _part(data: Any, rows: Any) -> Any:
    if is_hub(data):
        return data.select(rows)
    return [data[row] for row in rows.tolist()] if isinstance(data, list) else Part(by_batch(data), rows)


def _streams(data: Any) -> bool:
    return hasattr(data, "__iter__") and not hasattr(data, "__len__")


def as_dataset(data: Sequence[Any] | Any) -> Any:
    """A list of tensors of one shape as a dataset of them; anything else as it is."""
    return stacked(data) if isinstance(data, list) and data and all(isinstance(v, torch.Tensor) for v in data) else data
