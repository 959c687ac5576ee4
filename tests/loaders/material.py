"""What the tests of the loading engine share: data sets, tokenizers and tasks, at the top level, for workers of any kind."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from dataloader_expert.loaders import DataLoaderConfig, DataLoaderFactory, EpochLoader, TaskSpec

three_workers = pytest.mark.filterwarnings("ignore:This DataLoader will create 3 worker processes:UserWarning")
"""Torch warns of more workers than cores; how they share data is the same."""


def a_task(modality: str = "text", task_type: str = "lm", **more: Any) -> TaskSpec:
    """A task of a modality."""
    fields: dict[str, Any] = {
        "name": "a task",
        "task_type": task_type,
        "model_family": "encoder_only",
        "input_fields": ["input_ids"],
        "target_field": "labels",
        "loss_type": "cross_entropy",
        "metrics": ["loss"],
        "modality": modality,
    }
    return TaskSpec(**{**fields, **more})


def made(
    dataset: Any, task_spec: TaskSpec | None = None, tokenizer: Any = None, collator: Any = None, **config: Any
) -> EpochLoader:
    """A loader of the factory, without workers where they are not asked for."""
    settings = DataLoaderConfig(**{"num_workers": 0, **config})
    return DataLoaderFactory().create_dataloader(dataset, settings, task_spec, tokenizer, collator)


def flat(batches: Iterable[Any]) -> list[int]:
    """All numbers of batches (tensors, lists of one tensor, fields ``i``), in order."""
    found: list[int] = []
    for batch in batches:
        value = batch["i"] if isinstance(batch, dict) else batch
        value = value[0] if isinstance(value, list | tuple) and isinstance(value[0], torch.Tensor) else value
        found += [int(v) for v in torch.as_tensor(value).reshape(-1)]
    return found


class Numbers(Dataset[Any]):
    """0, 1, … n - 1."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.n:
            raise IndexError(index)
        return int(index)


class Noisy(Numbers):
    """The index, and a draw of each of the three global random states."""

    def __getitem__(self, index: int) -> Any:
        return torch.tensor([index, np.random.rand(), random.random(), float(torch.rand(1))], dtype=torch.float64)


class Stream(IterableDataset[Any]):
    """0, 1, … n - 1, knowing nothing of workers."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        yield from range(self.n)


class OwnShards(Stream):
    """0, 1, … n - 1, shared out to workers by itself, as torch's documentation has it."""

    def __iter__(self) -> Iterator[int]:
        info = get_worker_info()
        yield from range(self.n) if info is None else range(info.id, self.n, info.num_workers)


class Plain:
    """A tokenizer without ``pad``: 0 pads, 1 and 2 are special, 3 masks."""

    pad_token_id, mask_token_id = 0, 3
    all_special_ids = (0, 1, 2, 3)

    def __len__(self) -> int:
        return 1000


class PadOnly:
    """A tokenizer that keeps what pads to itself; of lists, or of tensors, it makes what it has."""

    def __init__(self, with_mask: bool = True, tensors: bool = False) -> None:
        self.padding_side, self.with_mask, self.tensors = "right", with_mask, tensors

    def pad(self, examples: Any, return_tensors: Any = None, padding: bool = True) -> dict[str, Any]:
        longest = max(len(e["input_ids"]) for e in examples)
        ids = [self._filled(list(e["input_ids"]), 9, longest) for e in examples]
        masks = [self._filled([1] * len(e["input_ids"]), 0, longest) for e in examples]
        made: dict[str, Any] = {"input_ids": ids} | ({"attention_mask": masks} if self.with_mask else {})
        return {k: [torch.tensor(row) for row in v] for k, v in made.items()} if self.tensors else made

    def _filled(self, row: list[int], value: int, longest: int) -> list[int]:
        filler = [value] * (longest - len(row))
        return row + filler if self.padding_side == "right" else filler + row


WORDS = ["[PAD]", "[UNK]", "[MASK]", "[EOS]", "the", "cat", "sat", "on", "mat", "dog"]


def library_tokenizer(pad_is_end: bool = False) -> Any:
    """transformers' own fast tokenizer over a few words, made in memory."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # nobody has typed it
        tokenizer_object=inner,
        unk_token="[UNK]",
        mask_token="[MASK]",
        eos_token="[EOS]",
        pad_token="[EOS]" if pad_is_end else "[PAD]",
    )
