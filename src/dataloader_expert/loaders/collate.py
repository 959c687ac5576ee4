"""Batches that were read as a whole, and collate functions that take these and lists of samples.

The functions are importable, so that workers of every start method find them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch.utils.data import default_collate

from dataloader_expert.loaders.plain import pad


class Gathered(Sequence[Any]):
    """A batch of ``size`` B that ``__getitems__`` of a dataset read as a whole; as a sequence, its samples.

    ``batch`` is key to tensor [B, …] or list of length B, of samples that are dictionaries; or tensors [B, …], of tuples.
    """

    def __init__(self, batch: Any, size: int) -> None:
        self.batch, self.size = batch, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        return self._samples[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._samples)

    @cached_property
    def _samples(self) -> list[Any]:
        """Made once: torch's collate function iterates over all samples for every key."""
        columns = self.batch.values() if isinstance(self.batch, dict) else self.batch
        rows = zip(*(v.unbind() if isinstance(v, torch.Tensor) else v for v in columns), strict=True)
        return [dict(zip(self.batch, row, strict=True)) for row in rows] if isinstance(self.batch, dict) else list(rows)


def collate_gathered(samples: Any) -> Any:
    """A gathered batch as it is; anything else stacked as torch does."""
    return samples.batch if isinstance(samples, Gathered) else default_collate(samples)


def pad_collate(samples: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Stacks what stacks, pads tensors of varying first dimension with zeros, and leaves the rest as lists.

    A padded field ``x`` has shape [batch, longest, …]; ``x_lengths``, int64 [batch], is added.

    Raises:
        ValueError: if the samples of a field differ in more than their first dimension.
    """
    if isinstance(samples, Gathered):
        batch: dict[str, Any] = samples.batch
        return batch
    for name, first in samples[0].items():
        shapes = {tuple(s[name].shape) for s in samples} if isinstance(first, torch.Tensor) and first.ndim else set()
        if len({shape[1:] for shape in shapes}) > 1:
            raise ValueError(
                f"{name} has the shapes {sorted(shapes)[:4]}, which neither stack nor pad: resize images with "
                "size=(height, width)"
            )
    return pad(samples)


COLLATES: dict[str, Any] = {"default": default_collate, "pad": pad_collate}
