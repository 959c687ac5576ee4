"""Collate functions by what the fields need, importable so that workers of any start method find them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import default_collate

from dataloader_expert.loaders.gathered import Gathered


def pad_collate(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Stacks what stacks; pads tensors that vary in their first dimension with zeros; leaves the rest as lists.

    A padded field ``x`` has shape [batch, longest, …] and brings ``x_lengths``, shape [batch], int64.
    """
    if isinstance(samples, Gathered):
        return samples.batch
    batch: dict[str, Any] = {}
    for name in samples[0]:
        values = [s[name] for s in samples]
        first = values[0]
        if isinstance(first, torch.Tensor) and first.ndim and len({v.shape for v in values}) > 1:
            if len({v.shape[1:] for v in values}) > 1:
                shapes = sorted({tuple(v.shape) for v in values})
                raise ValueError(
                    f"{name} has the shapes {shapes[:4]}, which neither stack nor pad; images can be brought to one: "
                    "size=(height, width)"
                )
            lengths = torch.tensor([v.shape[0] for v in values])
            batch[name] = torch.nn.utils.rnn.pad_sequence(values, batch_first=True)
            batch[f"{name}_lengths"] = lengths
        elif isinstance(first, torch.Tensor | int | float | str | bool):
            batch[name] = default_collate(values)
        else:
            batch[name] = values
    return batch


COLLATES: dict[str, Any] = {"default": default_collate, "pad": pad_collate}
