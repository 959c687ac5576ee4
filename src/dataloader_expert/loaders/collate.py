"""Collate functions by what the fields need, importable so that workers of any start method find them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import default_collate

from dataloader_expert.loaders.gathered import Gathered
from dataloader_expert.loaders.plain import pad


def pad_collate(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Stacks what stacks; pads tensors that vary in their first dimension with zeros; leaves the rest as lists.

    A padded field ``x`` has shape [batch, longest, …] and brings ``x_lengths``, shape [batch], int64.
    """
    if isinstance(samples, Gathered):
        batch: dict[str, Any] = samples.batch
        return batch
    for name, first in samples[0].items():
        shapes = {tuple(s[name].shape) for s in samples} if isinstance(first, torch.Tensor) and first.ndim else set()
        if len({shape[1:] for shape in shapes}) > 1:
            raise ValueError(
                f"{name} has the shapes {sorted(shapes)[:4]}, which neither stack nor pad; images can be brought to one: "
                "size=(height, width)"
            )
    return pad(samples)


COLLATES: dict[str, Any] = {"default": default_collate, "pad": pad_collate}
