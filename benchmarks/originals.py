"""The collators of the earlier system, reimplemented from its described behaviour, with its costs, as a baseline.

Per-example loops and copies, an attention mask made by comparing with the padding id, lists of lists converted to tensors;
for images a stack, then ``(x - mean) / std`` out of place, with mean and std created again for every batch.
"""

from __future__ import annotations

from typing import Any

import torch


class PaddingTokenizer:
    """A tokenizer as far as collators go: pads lists of ids and masks in Python."""

    pad_token_id = 0
    padding_side = "right"

    def pad(self, examples: list[dict[str, Any]], return_tensors: None = None, padding: bool = True) -> dict[str, Any]:
        longest = max(len(e["input_ids"]) for e in examples)
        ids, masks = [], []
        for example in examples:
            row = list(example["input_ids"])
            ids.append(row + [self.pad_token_id] * (longest - len(row)))
            masks.append([1] * len(row) + [0] * (longest - len(row)))
        return {"input_ids": ids, "attention_mask": masks}


class TextCollator:
    """Causal language modelling: labels are the padded ids."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        padded = self.tokenizer.pad(examples, return_tensors=None, padding=True)
        padded["labels"] = [row.copy() for row in padded["input_ids"]]
        converted = {}
        for name, rows in padded.items():
            if len({len(row) for row in rows}) > 1:
                raise ValueError(name)
            converted[name] = torch.tensor(rows)
        return converted


class VisionCollator:
    """Stacks and normalises by ImageNet's statistics."""

    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

    def __call__(self, samples: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        images = [sample["pixel_values"] for sample in samples]
        for image in images[1:]:
            if image.shape != images[0].shape:
                raise ValueError(image.shape)
        stacked = torch.stack(images)
        mean = torch.tensor(self.mean, dtype=stacked.dtype, device=stacked.device).view(1, -1, 1, 1)
        std = torch.tensor(self.std, dtype=stacked.dtype, device=stacked.device).view(1, -1, 1, 1)
        labels = torch.tensor([sample["labels"] for sample in samples], dtype=torch.long)
        return {"pixel_values": (stacked - mean) / std, "labels": labels}
