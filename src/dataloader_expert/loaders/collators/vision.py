"""Normalised batches of images of one size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dataloader_expert.loaders.collators.base import Batch, Collator, Samples, as_tensors, labels_of
from dataloader_expert.loaders.plain import stacked

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CIFAR10 = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
NAMED = {"imagenet": IMAGENET, "cifar10": CIFAR10}
IMAGE_NAMES = ("pixel_values", "image", "img", "images")


class VisionDataCollator(Collator):
    """Stacks images and normalises each channel: ``(x - mean) / std``.

    A sample has ``pixel_values`` (or ``image``, ``img``, ``images``) [C, H, W], floating or uint8, which is scaled to
    [0, 1] first; and ``labels`` (or ``label``): a class, or a vector (multi-label). Other fields are stacked.

    Args:
        normalize: False leaves values and dtype unchanged.
        mean, std: one per channel (grey: the first), or ``mean="imagenet"`` or ``"cifar10"``; None: ImageNet's.
        dtype: of floating fields.

    Returns:
        ``pixel_values`` [B, C, H, W] and ``labels``, for classes int64 [B]. A ``ValueError`` for an empty batch, images of
        several shapes, another number of channels than means, a std of 0, or if only some samples have labels.
    """

    called = "vision collator"

    def __init__(
        self,
        normalize: bool = True,
        mean: Sequence[float] | str | None = None,
        std: Sequence[float] | None = None,
        *,
        dtype: torch.dtype | None = None,
    ) -> None:
        if isinstance(mean, str):
            if mean not in NAMED:
                raise ValueError(f"mean is {mean!r}; the names are {', '.join(NAMED)}")
            named = NAMED[mean]
            mean, std = named[0], named[1] if std is None else std
        super().__init__(dtype=dtype)
        self.normalize = normalize
        self.mean = tuple(IMAGENET[0] if mean is None else mean)
        self.std = tuple(IMAGENET[1] if std is None else std)
        if len(self.mean) != len(self.std):
            raise ValueError(f"mean and std must have same length, got {len(self.mean)} and {len(self.std)}")
        if normalize and not all(s > 0 for s in self.std):
            raise ValueError(f"std is {self.std}; each must be above 0, because it divides")
        self._ready: dict[tuple[int, torch.dtype, torch.device], tuple[torch.Tensor, torch.Tensor]] = {}

    def _batch(self, samples: Samples) -> Batch:
        name = self._first(IMAGE_NAMES, samples)
        try:
            images = as_tensors(self._values(samples, name))
        except (TypeError, RuntimeError) as e:
            raise ValueError(f"{name} is not a tensor or array ({e}): convert images in the dataset") from None
        if self.normalize and len({image.dtype for image in images}) > 1:  # each scaled alone: 200 of 255 is no 200.0
            images = [image.float().div_(255) if image.dtype == torch.uint8 else image for image in images]
        try:
            pixels = torch.stack(images)
        except RuntimeError:
            shapes = sorted({tuple(image.shape) for image in images})[:4]
            text = f"Inconsistent pixel_values shapes: {shapes}; resize or crop images to one size in the dataset"
            raise ValueError(text) from None
        batch: Batch = {"pixel_values": self._normalised(pixels) if self.normalize else pixels}
        # also where only some samples have a label: it is then reported missing in the others
        label = next((n for n in ("labels", "label") if any(n in sample for sample in samples)), None)
        if label is not None:
            batch["labels"] = labels_of(self._values(samples, label))
        return batch | {other: stacked(values) for other, values in self._others(samples, name, label or "").items()}

    def _normalised(self, images: torch.Tensor) -> torch.Tensor:
        if images.ndim != 4:
            raise ValueError(f"pixel_values has shape {list(images.shape[1:])}; images are [channels, height, width]")
        if images.dtype == torch.uint8:
            images = images.to(torch.float32).div_(255)
        elif not images.is_floating_point():
            raise ValueError(f"pixel_values has dtype {images.dtype}; it must be uint8 (0 to 255) or floating")
        mean, scale = self._terms(images.shape[1], images.dtype, images.device)
        return images.sub_(mean).mul_(scale)  # in place: the batch is our own copy

    def _terms(self, channels: int, dtype: torch.dtype, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and 1 / std (multiplying is twice as fast as dividing), [C, 1, 1] each; cached."""
        key = (channels, dtype, device)
        if key not in self._ready:
            if channels not in (1, len(self.mean)):
                raise ValueError(
                    f"Number of channels ({channels}) doesn't match mean and std ({len(self.mean)} each): pass one "
                    "mean and std per channel"
                )
            mean, std = (torch.tensor(v[:channels], dtype=torch.float64).view(-1, 1, 1) for v in (self.mean, self.std))
            self._ready[key] = (mean.to(device, dtype), (1 / std).to(device, dtype))
        return self._ready[key]


def of_task(task_spec: Any, *names: str) -> dict[str, Any]:
    """Those of these arguments that are in ``task_spec.preprocessing_config``."""
    config = getattr(task_spec, "preprocessing_config", None) or {}
    return {name: config[name] for name in names if name in config}


def make(
    task_spec: Any = None,
    normalize: bool = True,
    mean: Sequence[float] | str | None = None,
    std: Sequence[float] | None = None,
    dtype: torch.dtype | None = None,
) -> VisionDataCollator:
    """The vision collator of a task; its ``preprocessing_config`` takes precedence over the arguments."""
    given = {"normalize": normalize, "mean": mean, "std": std, "dtype": dtype}
    return VisionDataCollator(**given | of_task(task_spec, *given))
