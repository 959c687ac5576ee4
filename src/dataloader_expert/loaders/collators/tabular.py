"""Batches of table rows and of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dataloader_expert.loaders.collators.base import Batch, Collator, Samples, labels_of

LABELS = ("labels", "label", "target", "y")


@dataclass(eq=False, repr=False)
class TabularCollator(Collator):
    """Collects the numbers of each row in one matrix; labels, texts and arrays are fields of their own.

    A batch has ``features`` float32 [B, columns], with NaN; ``labels``, of classes int64 [B]; others stacked, or lists.
    """

    called = "tabular collator"
    columns: Sequence[str] | None = None
    """Of the matrix, in this order; None: every field of numbers, except the label. Of others, a ``ValueError``."""
    label: str | None = None
    """Field of the label; None: the first of ``labels``, ``label``, ``target``, ``y``."""

    def __post_init__(self) -> None:
        if self.columns is not None:
            self.columns = tuple(self.columns)  # an array has no truth value, a view of keys cannot be pickled

    def _batch(self, samples: Samples) -> Batch:
        if self.label is not None and all(self.label not in sample for sample in samples):
            raise ValueError(f"label is {self.label!r}, and samples have {', '.join(map(str, samples[0]))}")
        label = self.label or next((n for n in LABELS if n in samples[0]), None)
        columns = self.columns or tuple(n for n in samples[0] if n != label and _is_column(self._values(samples, n)))
        batch: Batch = {}
        if columns:
            matrix = np.empty((len(columns), len(samples)), np.float32)
            for i, name in enumerate(columns):
                try:
                    matrix[i] = [np.nan if v is None else v for v in self._values(samples, name)]
                except (TypeError, ValueError) as e:
                    raise ValueError(f"column {name!r} has a value that is not a number: {e}") from None
            batch["features"] = torch.from_numpy(np.ascontiguousarray(matrix.T))
        for name, values in self._others(samples, *columns).items():
            batch["labels" if name == label else name] = labels_of(values)
        return batch


def _is_column(values: Sequence[object]) -> bool:
    """Whether the first value that is not None is a number."""
    first = next((v for v in values if v is not None), None)
    if isinstance(first, torch.Tensor):
        return not first.ndim
    return isinstance(first, bool | int | float | np.generic)


class ArrayCollator(Collator):
    """Stacks each field to [B, …], classes to int64; arguments and errors are those of :class:`Collator`."""

    called = "array collator"

    def _batch(self, samples: Samples) -> Batch:
        return {name: labels_of(values) for name, values in self._others(samples).items()}
