"""Training and validation parts of one data set, chosen by a seed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
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
    """Some samples of a map-style dataset, read by the batch where possible; ``indices`` is an int64 array [samples]."""

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[int(self.indices[index])]

    def __getitems__(self, indices: Any) -> Any:
        rows: Any = self.indices[indices]
        if gathers(self.dataset):
            return self.dataset.__getitems__(rows)  # type: ignore[attr-defined]  # TensorRows and its parts have it
        several = getattr(self.dataset, "__getitems__", None)
        return [self.dataset[row] for row in rows.tolist()] if several is None else several(rows.tolist())


class StreamPart(IterableDataset[Any]):
    """The training or validation part of an iterable dataset that has the same elements in the same order each time.

    ``share`` of the elements, in (0, 1), chosen by seed and position, are for validation.
    """

    def __init__(self, dataset: Any, share: float, validation: bool, seed: int) -> None:
        self.dataset, self.share, self.validation, self.seed = dataset, share, validation, seed

    def of(self, dataset: Any) -> StreamPart:
        """The same part of another stream whose elements correspond to these."""
        return StreamPart(dataset, self.share, self.validation, self.seed)

    def __iter__(self) -> Iterator[Any]:
        limit = int(self.share * 2**63)
        for place, element in enumerate(whole(self.dataset)):  # positions count in the whole stream
            if (mixed(self.seed, place) < limit) == self.validation:
                yield element


def split(
    data: Any, share: float, seed: int, in_order: bool = False, stratify: Any = None, groups: Any = None
) -> tuple[Any, Any]:
    """The training and validation part of ``data``.

    Of N samples ``round(share * N)`` are for validation: at least one, never all, and with ``groups`` as close as whole
    groups allow. The choice is that of torch's ``random_split`` with a generator of that seed, or of a
    ``datasets.Dataset``'s ``train_test_split``.

    Args:
        data: a list, a ``datasets.Dataset``, or a dataset of torch, map-style or iterable; so are both parts, or None.
        share: of validation, in [0, 1), else a ``ValueError``.
        in_order: the last samples are for validation, rather than a seeded choice.
        stratify: one class per sample, or the name of a field: classes keep their share in both parts, within a sample.
        groups: one group per sample, or the name of a field: no group is in both parts. Of a stream, with ``stratify``
            too, or of another number of values, it is a ``ValueError``.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise ValueError(f"val_split is {share}; it must be a share in [0, 1)")
    if stratify is not None and groups is not None:
        raise ValueError("stratify and groups exclude each other: pass one of them")
    if not share:
        return data, None
    streams = isinstance(data, IterableDataset) or (hasattr(data, "__iter__") and not hasattr(data, "__len__"))
    if streams and (stratify is not None or groups is not None):
        raise ValueError(f"{type(data).__name__} is a stream with unknown classes and groups: pass val_data instead")
    if isinstance(data, StreamingDataset):  # it identifies elements by URL and line
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
        return _part(data, np.delete(np.arange(count), rows)), _part(data, np.sort(rows).astype(np.int64))
    if hasattr(data, "train_test_split"):
        parts = data.train_test_split(test_size=validation, seed=seed)
        return parts["train"], parts["test"]
    order = np.arange(count) if in_order else torch.randperm(count, generator=create_seeded_generator(seed)).numpy()
    return _part(data, order[: count - validation]), _part(data, order[count - validation :])


def _values(data: Any, given: Any) -> Any:
    """One value per sample: as given, or of the column, attribute or field of that name."""
    values = given
    if isinstance(given, str):
        columns = getattr(data, "column_names", None) or ()
        values = data[given] if given in columns else getattr(data, given, None)
        if values is None or isinstance(values, str) or not hasattr(values, "__len__"):
            try:
                values = [data[row][given] for row in range(len(data))]
            except (KeyError, IndexError, TypeError) as e:
                names, kind = data[0], type(data[0]).__name__
                has = ", ".join(map(str, names)) if isinstance(names, Mapping) else f"no names: it is a {kind}"
                raise ValueError(
                    f"samples have no field {given!r} ({type(e).__name__}); the first has {has}. Pass a field's name, or one value per sample"
                ) from None
    if not hasattr(values, "__iter__"):
        raise ValueError(f"stratify or groups is {given!r}; it must be a field's name, or one value per sample")
    values = [v.item() if hasattr(v, "item") else v for v in values]
    if len(values) != len(data):
        raise ValueError(f"{len(values)} values for {len(data)} samples; one value per sample is needed")
    return values


def _stratified(labels: Any, count: int, seed: int) -> Any:
    """``count`` rows, with the share of each class within one."""
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


def as_dataset(data: Sequence[Any] | Any) -> Any:
    """A list of tensors of one shape as a dataset; anything else as it is."""
    return stacked(data) if isinstance(data, list) and data and all(isinstance(v, torch.Tensor) for v in data) else data
