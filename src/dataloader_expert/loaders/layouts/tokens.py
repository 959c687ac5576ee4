"""Token features of data sets in NPZ shards: ``root/<data set>/<split>/*.npz``."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.loaders.layouts.archives import read_array, read_strings, section
from dataloader_expert.samplers import OrderedSampler, ShuffleSampler
from dataloader_expert.samplers.rules import position

logger = logging.getLogger(__name__)

SECTION = "dataset_token_loader"


class DatasetTokenDataset(Dataset[dict[str, Any]]):
    """One shard per item, without the zeros that pad its end.

    An item has ``dataset_name``, ``split``, ``dataset_tokens`` float32 [batches, classes, D], ``class_ids`` int64
    [batches, classes] and ``class_names`` list of str, the last two None if the shard has none. ``actual_batches`` of
    a shard is its number of batches without padding.

    Args:
        root_dir: None: ``root_dir`` of section ``dataset_token_loader`` in ``config``, which also gives defaults of
            ``dataset_names``, ``splits``, ``shard_glob`` and ``max_shards``.
        splits: in this order; None: all, sorted.
        dataset_names: folders below ``root_dir``; None: all, sorted. A warning names missing ones.
        max_shards, max_batches: maximum of shards per split of a data set, and of batches per shard; None: all.
        shard_glob: pattern of the shards' names.
        config: an INI file.

    A missing folder or file is a ``FileNotFoundError``; no shard, or on access features not 3-D, a ``ValueError``.
    """

    def __init__(
        self,
        root_dir: str | Path | None = None,
        *,
        splits: Sequence[str] | None = None,
        dataset_names: Sequence[str] | None = None,
        max_shards: int | None = None,
        max_batches: int | None = None,
        shard_glob: str | None = None,
        config: str | Path = "config.ini",
    ) -> None:
        said = section(config, SECTION) if root_dir is None else {}
        self.root_dir = Path(root_dir if root_dir is not None else said["root_dir"])
        if not self.root_dir.is_dir():
            raise FileNotFoundError(f"directory not found: {self.root_dir}")
        self.max_batches = max_batches
        names = dataset_names or said.get("dataset_names") or _folders(self.root_dir)
        wanted = splits or said.get("splits")
        pattern = shard_glob or str(said.get("shard_glob", "*.npz"))
        most = max_shards if max_shards is not None else said.get("max_shards")
        self.shards: list[tuple[str, str, Path]] = []
        unknown = set(names) - set(_folders(self.root_dir))
        if unknown:
            logger.warning("the data sets %s are not in %s: left out", ", ".join(sorted(unknown)), self.root_dir)
        for name in sorted(names):
            for split in wanted or _folders(self.root_dir / name):
                found = sorted((self.root_dir / name / split).glob(pattern))[:most]
                self.shards += [(name, split, path) for path in found]
        if not self.shards:
            there = ", ".join(_folders(self.root_dir)) or "no folders"
            raise ValueError(
                f"no shards {pattern} in {self.root_dir} for data sets {sorted(names)}, splits {wanted}; there are {there}"
            )

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, index: int) -> dict[str, Any]:
        name, split, path = self.shards[position(index, len(self))]
        features = np.asarray(read_array(path, "features"), dtype=np.float32)
        if features.ndim != 3:
            raise ValueError(f"{path}: features have {features.ndim} dimensions, expected batches, classes, D")
        real = _optional(path, "actual_batches")
        count = len(features) if real is None else min(len(features), int(np.ravel(real)[0]))
        if self.max_batches is not None:
            count = min(count, self.max_batches)
        ids = _optional(path, "class_ids")
        return {
            "dataset_name": name,
            "split": split,
            "dataset_tokens": torch.from_numpy(features[:count]),
            "class_ids": None if ids is None else torch.from_numpy(np.asarray(ids[:count], dtype=np.int64)),
            "class_names": read_strings(path, "class_names"),
        }


def only_item(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """The only shard of a batch; importable, so that workers of every start method find it."""
    return samples[0]


def build_dataset_token_loader(
    root_dir: str | Path | None = None,
    *,
    splits: Sequence[str] | None = None,
    shuffle: bool | None = None,
    max_shards: int | None = None,
    dataset_names: Sequence[str] | None = None,
    num_workers: int = 0,
    seed: int = 0,
    config: str | Path = "config.ini",
) -> EpochLoader:
    """A loader of one shard per batch, by default shuffled; arguments and errors as of :class:`DatasetTokenDataset`."""
    dataset = DatasetTokenDataset(
        root_dir, splits=splits, dataset_names=dataset_names, max_shards=max_shards, config=config
    )
    said = section(config, SECTION) if root_dir is None else {}
    shuffled = shuffle if shuffle is not None else bool(said.get("shuffle", True))
    sampler = ShuffleSampler(dataset, seed) if shuffled else OrderedSampler(dataset)
    return EpochLoader(dataset, batch_size=1, sampler=sampler, num_workers=num_workers, collate_fn=only_item)


def _folders(root: Path) -> list[str]:
    return sorted(p.name for p in root.iterdir() if p.is_dir()) if root.is_dir() else []


def _optional(path: Path, key: str) -> Any:
    try:
        return read_array(path, key)
    except KeyError:
        return None
