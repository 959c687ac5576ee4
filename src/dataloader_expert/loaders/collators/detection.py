"""Images with any number of boxes each."""

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
    """Stacks images of one size, and keeps each image's boxes and their labels apart.

    A sample brings ``pixel_values`` [C, H, W] (``image``, ``img``), ``boxes`` [n, 4] and ``labels`` [n]; n may be 0.

    Args:
        normalize, mean, std: as of :class:`VisionDataCollator`; False leaves images as they are.
        dtype: of floating fields.

    Returns:
        ``pixel_values`` [B, C, H, W], or a list of B images where sizes differ; ``boxes`` a list of B tensors [n_i, 4]
        float32, ``labels`` a list of B tensors [n_i] int64; ``box_counts`` int64 [B]; other fields stacked.

    Raises:
        ValueError: for an empty batch, boxes that are not [n, 4], and labels that are more or fewer than the boxes.
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
            raise ValueError(f"{name} of shape {list(tensor.shape)}; boxes are [n, 4]")
        return tensor.to(torch.float32)
    return tensor.to(torch.int64) if name == "labels" else tensor
