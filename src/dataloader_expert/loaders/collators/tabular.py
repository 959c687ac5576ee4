"""Rows of a table to one matrix, and arrays of one shape to one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dataloader_expert.loaders.collators.base import Batch, Collator, Samples, labels_of

LABELS = ("labels", "label", "target", "y")


@dataclass(eq=False, repr=False)
class TabularCollator(Collator):
    """Numbers of each row side by side in one matrix; the label, texts and arrays as fields of their own.

    Args:
        columns: those of the matrix, in its order; None: every field of numbers, except the label.
        label: field of the label; None: the first of ``labels``, ``label``, ``target``, ``y`` that there is.
        dtype: of floating fields.

    Returns:
        ``features`` float32 [B, columns], NaN where a row has no value; ``labels`` [B], int64 of classes; other fields
        stacked, or lists.

    Raises:
        ValueError: for an empty batch, and for a column that holds anything other than numbers.
    """

    called = "tabular collator"
    columns: Sequence[str] | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        if self.columns is not None:
            self.columns = tuple(self.columns)  # an array has no truth value, a view of keys cannot be sent to a worker

    def _batch(self, samples: Samples) -> Batch:
        label = self.label or next((n for n in LABELS if n in samples[0]), None)
        columns = self.columns or tuple(n for n in samples[0] if n != label and _is_column(self._values(samples, n)))
        batch: Batch = {}
        if columns:
            matrix = np.empty((len(columns), len(samples)), np.float32)
            for i, name in enumerate(columns):
                try:
                    matrix[i] = [np.nan if v is None else v for v in self._values(samples, name)]
                except (TypeError, ValueError) as e:
                    raise ValueError(f"column {name!r} holds what is no number: {e}") from None
            batch["features"] = torch.from_numpy(np.ascontiguousarray(matrix.T))
        for name, values in self._others(samples, *columns).items():
            batch["labels" if name == label else name] = labels_of(values)
        return batch


def _is_column(values: Sequence[object]) -> bool:
    """Whether the first value that there is is a number."""
    first = next((v for v in values if v is not None), None)
    if isinstance(first, torch.Tensor):
        return not first.ndim
    return isinstance(first, bool | int | float | np.generic)


class ArrayCollator(Collator):
    """Arrays of one shape stacked, field by field; arguments and errors are those of :class:`Collator`.

    Returns:
        Each field [B, …]; ``labels`` as int64 of classes.
    """

    called = "array collator"

    def _batch(self, samples: Samples) -> Batch:
        return {name: labels_of(values) for name, values in self._others(samples).items()}
