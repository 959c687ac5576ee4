"""Batches of texts with labels, tokenised together."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from dataloader_expert.loaders.collators.base import Batch, Collator, Samples, labels_of
from dataloader_expert.samplers.rules import at_least


@dataclass(eq=False, repr=False)
class BatchTransform(Collator):
    """Tokenises the texts of a batch in one call; for ``collate_fn``.

    Args:
        tokenizer: of transformers, or called like one.
        max_length: texts are truncated to so many tokens.
        text, label: names of the fields; without ``label``, samples are for prediction.
        dtype: of floating fields.

    Returns:
        ``input_ids`` and ``attention_mask`` int64 [B, longest], further fields of the tokenizer, and ``labels``, for
        classes int64 [B].

    Raises:
        ValueError: for an empty batch, a sample without text, no tokenizer, or ``max_length`` below 1.
    """

    called = "batch transform"
    tokenizer: Any
    max_length: int = 512
    _: KW_ONLY
    text: str = "text"
    label: str = "label"

    def __post_init__(self) -> None:
        if self.tokenizer is None:
            raise ValueError("tokenizer required: it tokenises the texts of a batch; pass tokenizer=")
        at_least(1, max_length=self.max_length)

    def _batch(self, samples: Samples) -> Batch:
        encoded = self.tokenizer(
            self._values(samples, self.text),
            padding=True,
            truncation=True,
            max_length=self.max_length,
            return_tensors="pt",
        )
        batch: Batch = {name: encoded[name] for name in encoded}
        if self.label in samples[0]:
            batch["labels"] = labels_of(self._values(samples, self.label))
        return batch
