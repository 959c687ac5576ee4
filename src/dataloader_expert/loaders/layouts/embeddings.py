"""Precomputed embeddings of models, one NPZ archive each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.loaders.layouts.archives import files_below, read_array, section
from dataloader_expert.samplers import OrderedSampler, ShuffleSampler
from dataloader_expert.samplers.rules import given, position

SECTION = "model_embedding_loader"


class ModelEmbeddingDataset(Dataset[dict[str, Any]]):
    """``{"model_token": float32 [D], "model_name": str, "model_index": int}`` of every archive below a folder.

    Args:
        root_dir: searched recursively; None: ``root_dir`` of section ``model_embedding_loader`` in ``config``, which
            also gives defaults of ``embedding_key`` and ``max_models``.
        max_models: read only the first ones in sorted order; None: all.
        embedding_key: name of the array.
        config: an INI file.

    A missing folder or file is a ``FileNotFoundError``, no archive a ``ValueError``, and no such array a ``KeyError``.
    """

    def __init__(
        self,
        root_dir: str | Path | None = None,
        *,
        max_models: int | None = None,
        embedding_key: str | None = None,
        config: str | Path = "config.ini",
    ) -> None:
        said = section(config, SECTION) if root_dir is None else {}
        self.root_dir = Path(root_dir if root_dir is not None else said["root_dir"])
        self.embedding_key = embedding_key or str(said.get("embedding_key", "embedding"))
        most = max_models if max_models is not None else said.get("max_models")
        self.files = files_below(self.root_dir, "**/*")[:most]
        self._kept: dict[int, torch.Tensor] = {}

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> dict[str, Any]:
        at = position(index, len(self))
        if at not in self._kept:  # a few KB each, and read in every epoch
            values = np.asarray(read_array(self.files[at], self.embedding_key), dtype=np.float32)
            self._kept[at] = torch.from_numpy(values.reshape(-1))
        return {"model_token": self._kept[at].clone(), "model_name": self.files[at].stem, "model_index": at}


def collate_models(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """``model_tokens`` float32 [B, D], ``model_names`` list of str, ``model_indices`` int64 [B]."""
    return {
        "model_tokens": torch.stack([s["model_token"] for s in samples]),
        "model_names": [s["model_name"] for s in samples],
        "model_indices": torch.tensor([s["model_index"] for s in samples]),
    }


def build_model_embedding_loader(
    root_dir: str | Path | None = None,
    *,
    max_models: int | None = None,
    shuffle: bool | None = None,
    batch_size: int | None = None,
    num_workers: int | None = None,
    pin_memory: bool | None = None,
    seed: int = 0,
    config: str | Path = "config.ini",
) -> EpochLoader:
    """A loader of :class:`ModelEmbeddingDataset`; by default as the section says, else shuffled, in batches of 32."""
    dataset = ModelEmbeddingDataset(root_dir, max_models=max_models, config=config)
    said = {"shuffle": True, "batch_size": 32} | (section(config, SECTION) if root_dir is None else {})
    said |= given(shuffle=shuffle, batch_size=batch_size, num_workers=num_workers, pin_memory=pin_memory)
    how = {name: int(said.get(name, 0)) for name in ("batch_size", "num_workers")}
    sampler = ShuffleSampler(dataset, seed) if said["shuffle"] else OrderedSampler(dataset)
    pinned = bool(said.get("pin_memory", False))
    return EpochLoader(dataset, sampler=sampler, pin_memory=pinned, collate_fn=collate_models, **how)
