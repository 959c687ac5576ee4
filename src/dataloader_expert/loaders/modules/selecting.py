"""The collator of a task, or none of its own: as the original's training code chose it."""

from __future__ import annotations

from typing import Any

from dataloader_expert.loaders.collators import default, text, vision
from dataloader_expert.loaders.tasks import TaskSpec


def get_collator(
    task_spec: TaskSpec | None = None,
    tokenizer: Any = None,
    use_dynamic_collator: bool = False,
    padding_side: Any = "right",
) -> Any:
    """The text or vision collator of ``task_spec``; without one, or unless asked for, transformers' default.

    :class:`CollatorRegistry` knows more modalities, and collators of your own.

    Args:
        task_spec: its modality selects, its ``preprocessing_config`` holds the arguments of the vision collator.
        tokenizer: of texts.
        use_dynamic_collator: False: transformers' ``default_data_collator``, and without transformers ours.
        padding_side: of texts.

    Raises:
        ValueError: without a tokenizer for texts, and for other modalities.
    """
    if task_spec is None or not use_dynamic_collator:
        try:
            from transformers import default_data_collator
        except ImportError:
            return default.DefaultCollator()
        return default_data_collator
    if task_spec.modality == "vision":
        return vision.make(task_spec)
    if task_spec.modality != "text":
        raise ValueError(
            f"Unsupported modality: {task_spec.modality}. Supported modalities are: 'text', 'vision'; others are "
            "CollatorRegistry's"
        )
    if tokenizer is None:
        raise ValueError("tokenizer is required for text modality tasks")
    return text.make(task_spec, tokenizer, padding_side, ignore_padding=False)
