"""Batches of images with different numbers of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dataloader_expert.loaders.collators.base import Batch, Collator, Samples, as_tensors, labels_of
from dataloader_expert.loaders.collators.vision import IMAGE_NAMES, VisionDataCollator

RAGGED = ("boxes", "bboxes", "labels", "masks", "area", "iscrowd", "keypoints", "category")


@dataclass(eq=False, repr=False)
class DetectionCollator(Collator):
    """Stacks images, and lists the boxes and labels of each image.

    A sample has ``pixel_values`` (or ``image``, ``img``, ``images``) [C, H, W], ``boxes`` [n, 4] and ``labels`` [n].

    A batch has ``pixel_values`` [B, C, H, W], or a list of B images of different sizes; ``boxes``, B tensors float32
    [n_i, 4]; ``labels``, B tensors int64 [n_i]; ``box_counts`` int64 [B]; other fields stacked. Boxes that are not [n, 4],
    or a different number of labels, are a ``ValueError``. Arguments are those of :class:`VisionDataCollator`.
    """

    called = "detection collator"
    normalize: bool = False
    mean: Sequence[float] | str | None = None
    std: Sequence[float] | None = None

    def __post_init__(self) -> None:
        self.vision = VisionDataCollator(self.normalize, self.mean, self.std)

    def _batch(self, samples: Samples) -> Batch:
        name = self._first(IMAGE_NAMES, samples)
        images = as_tensors(self._values(samples, name))
        alone = [self.vision([{"pixel_values": image}])["pixel_values"][0] for image in images]
        batch: Batch = {"pixel_values": torch.stack(alone) if len({i.shape for i in alone}) == 1 else alone}
        for other, values in self._others(samples, name).items():
            batch[other] = [_own(v, other) for v in values] if other in RAGGED else labels_of(values)
        boxes = next((n for n in ("boxes", "bboxes") if n in batch), None)
        if boxes is not None:
            batch[self._free_name("box_counts", boxes, samples)] = torch.tensor([len(b) for b in batch[boxes]])
            for i, labels in enumerate(batch.get("labels", [])):
                if len(labels) != len(batch[boxes][i]):
                    raise ValueError(f"sample {i} has {len(batch[boxes][i])} boxes and {len(labels)} labels")
        return batch


def _own(value: Any, name: str) -> torch.Tensor:
    [tensor] = as_tensors([value])
    if name in ("boxes", "bboxes"):
        if not tensor.numel():
            return torch.zeros((0, 4))
        if tensor.ndim != 2 or tensor.shape[1] != 4:
            raise ValueError(f"{name} have shape {list(tensor.shape)}; boxes must be [n, 4]")
        return tensor.to(torch.float32)
    return tensor.to(torch.int64) if name == "labels" else tensor
