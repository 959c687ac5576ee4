"""Labelled images in Hugging Face data sets, and loaders whose batches hold every class."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.samplers import ClassBalancedBatchSampler
from dataloader_expert.samplers.rules import position

logger = logging.getLogger(__name__)


class GenericImageDataset(Dataset[tuple[Any, int]]):
    """``(image, label)`` of a Hugging Face data set: RGB images, labels 0 … ``num_classes`` - 1, -1 if hidden.

    ``labels`` holds every label, ``label_names`` and ``class_names`` the name of each class. Integers that are not a
    ``ClassLabel`` are numbered: labels 5 and 9 become 0 and 1, named ``5`` and ``9``.

    Args:
        hf_dataset: a ``datasets.Dataset``.
        transform: from a PIL image in RGB; None: a float32 tensor [3, height, width] in [0, 1].
        image_column: None: the first column of images.
        label_column: None: the first ``ClassLabel``, else the first column of integers, else ``label``.

    A ``TypeError`` if it is no data set, a ``ValueError`` if it is empty, a ``KeyError`` if a column does not exist or,
    on access, if a label is new since opening.
    """

    def __init__(
        self,
        hf_dataset: Any,
        *,
        transform: Callable[[Any], Any] | None = None,
        image_column: str | None = None,
        label_column: str | None = None,
    ) -> None:
        import datasets

        if not isinstance(hf_dataset, datasets.Dataset):
            raise TypeError(f"hf_dataset is {type(hf_dataset).__name__}; a datasets.Dataset is needed: pass one split")
        if not len(hf_dataset):
            raise ValueError("hf_dataset is empty: pass a data set with samples")
        features = hf_dataset.features
        self.dataset, self.transform = hf_dataset, transform
        images = [n for n, f in features.items() if isinstance(f, datasets.Image)]
        classes = [n for n, f in features.items() if isinstance(f, datasets.ClassLabel)]
        whole = [n for n, f in features.items() if "int" in str(getattr(f, "dtype", ""))]
        self.image_column = _column(features, image_column, images, "image")
        self.label_column = _column(features, label_column, [*classes, *whole, "label"], "label")
        stored = hf_dataset[self.label_column]
        feature = features[self.label_column]
        if isinstance(feature, datasets.ClassLabel):
            self.class_names = list(feature.names)
            self._codes = {i: i for i in range(-1, len(self.class_names))} | {None: -1}  # test splits hide their labels
        else:
            distinct = sorted(set(stored))
            self.class_names = [str(v) for v in distinct]
            self._codes = {value: i for i, value in enumerate(distinct)}
        self.labels = [self._codes[value] for value in stored]

    @property
    def num_classes(self) -> int:
        """How many classes there are."""
        return len(self.class_names)

    @property
    def label_names(self) -> list[str]:
        """The names of the classes, in index order."""
        return self.class_names

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        row = self.dataset[position(index, len(self))]
        image = row[self.image_column].convert("RGB")
        label = self._codes[row[self.label_column]]
        if self.transform is not None:
            return self.transform(image), label
        pixels = np.array(image, dtype=np.uint8).transpose(2, 0, 1)
        return torch.from_numpy(pixels.astype(np.float32) / 255), label


class GenericBalancedDataLoader(EpochLoader):
    """A loader of a :class:`GenericImageDataset` whose batches hold one sample of every class.

    ``balanced_sampler`` is its :class:`~dataloader_expert.samplers.ClassBalancedBatchSampler`.

    Args:
        dataset: anything with ``labels``, ``num_classes`` and ``class_names``.
        drop_last, shuffle, seed: as of the sampler.
        num_workers, pin_memory, persistent_workers, prefetch_factor: as of ``DataLoader``; the last two only count with
            workers.
        keywords: further arguments of ``DataLoader``; ``batch_size`` and samplers are ignored with a warning.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        drop_last: bool = True,
        shuffle: bool = True,
        seed: int | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        persistent_workers: bool = False,
        prefetch_factor: int | None = None,
        **keywords: Any,
    ) -> None:
        refused = [n for n in ("batch_size", "sampler", "batch_sampler") if keywords.pop(n, None) is not None]
        if refused:
            logger.warning("the balanced sampler makes the batches: %s ignored", ", ".join(refused))
        self.balanced_sampler = ClassBalancedBatchSampler(
            dataset.labels, seed=seed, drop_last=drop_last, shuffle=shuffle
        )
        self.num_classes, self.class_names = dataset.num_classes, dataset.class_names
        super().__init__(
            dataset,
            batch_sampler=self.balanced_sampler,
            num_workers=num_workers,
            pin_memory=pin_memory,
            persistent_workers=persistent_workers and num_workers > 0,  # torch refuses both without workers
            prefetch_factor=prefetch_factor if num_workers else None,
            **keywords,
        )


ImageNetDataset = GenericImageDataset
ImageNetBalancedDataLoader = GenericBalancedDataLoader


def _column(features: Any, asked: str | None, candidates: list[str], what: str) -> str:
    found = [asked] if asked is not None else [c for c in candidates if c in features]
    if not found or found[0] not in features:
        named = f"column {asked!r}" if asked is not None else f"{what} column"
        raise KeyError(f"there is no {named}; the columns are {', '.join(features)}")
    return str(found[0])
