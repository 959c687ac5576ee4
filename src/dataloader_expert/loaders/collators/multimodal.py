"""Batches of images with text."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from dataloader_expert.loaders.collators.base import Batch, Collator, Samples
from dataloader_expert.loaders.collators.text import LanguageModelingDataCollator
from dataloader_expert.loaders.collators.vision import IMAGE_NAMES, VisionDataCollator, of_task


class MultimodalCollator(Collator):
    """Collates images with the vision collator, and all other fields with the text collator.

    A batch has ``pixel_values`` [B, C, H, W] beside ``input_ids``, ``attention_mask`` and ``labels`` [B, longest]. The
    arguments and errors are those of :class:`VisionDataCollator` and :class:`LanguageModelingDataCollator`.
    """

    called = "multimodal collator"

    def __init__(
        self,
        tokenizer: Any,
        normalize: bool = True,
        mean: Sequence[float] | str | None = None,
        std: Sequence[float] | None = None,
        *,
        dtype: torch.dtype | None = None,
        **text: Any,
    ) -> None:
        super().__init__(dtype=dtype)
        self.vision = VisionDataCollator(normalize, mean, std, dtype=dtype)
        self.text = LanguageModelingDataCollator(tokenizer, dtype=dtype, **text)

    def apart(self) -> MultimodalCollator:
        """A copy with an epoch of its own."""
        made = copy.copy(self)
        made.text = self.text.apart()
        return made

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that masks depend on."""
        self.text.set_epoch(epoch)

    def _batch(self, samples: Samples) -> Batch:
        name = self._first(IMAGE_NAMES, samples)
        images = self.vision([{"pixel_values": s[name]} if name in s else {} for s in samples])
        words = self.text([{k: v for k, v in s.items() if k != name} for s in samples])
        return {**images, **words}


def make(task_spec: Any = None, tokenizer: Any = None, **keywords: Any) -> MultimodalCollator:
    """The multimodal collator of a task; its ``preprocessing_config`` takes precedence over the arguments."""
    keywords = {"ignore_padding": True, **keywords, **of_task(task_spec, "normalize", "mean", "std")}
    return MultimodalCollator(tokenizer, task_spec=task_spec, **keywords)
