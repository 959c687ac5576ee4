"""Texts with labels, tokenised by the batch."""

from __future__ import annotations

from typing import Any

import torch

from dataloader_expert.loaders.collators.base import Batch, Samples, cast, labels_of, not_empty, values_of


class BatchTransform:
    """Tokenises the texts of a batch in one call; for ``collate_fn``.

    Args:
        tokenizer: called as transformers' tokenizers are.
        max_length: longer texts are cut, in tokens.
        text, label: names of the two fields; a sample without ``label`` is one for prediction.
        dtype: of floating fields.

    Returns:
        ``input_ids`` and ``attention_mask`` int64 [B, longest], what else the tokenizer gives, and ``labels``: int64
        [B] of classes.

    Raises:
        ValueError: for an empty batch, a sample without its text, a missing tokenizer, ``max_length`` below 1.
    """

    def __init__(
        self,
        tokenizer: Any,
        max_length: int = 512,
        *,
        text: str = "text",
        label: str = "label",
        dtype: torch.dtype | None = None,
    ) -> None:
        if tokenizer is None:
            raise ValueError("tokenizer required: it turns the texts of a batch into tokens")
        if max_length < 1:
            raise ValueError(f"max_length is {max_length}; it must be at least 1")
        self.tokenizer, self.max_length, self.text, self.label, self.dtype = tokenizer, max_length, text, label, dtype

    def __call__(self, samples: Samples) -> Batch:
        not_empty(samples, "the batch transform")
        encoded = self.tokenizer(
            values_of(samples, self.text),
            padding=True,
            truncation=True,
            max_length=self.max_length,
            return_tensors="pt",
        )
        batch: Batch = {name: encoded[name] for name in encoded}
        if self.label in samples[0]:
            batch["labels"] = labels_of(values_of(samples, self.label))
        return dict(cast(batch, self.dtype))
